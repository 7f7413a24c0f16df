package compare

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
)

// Change says how something differs.
type Change string

const (
	Same    Change = "same"
	Better  Change = "better"
	Worse   Change = "worse"
	Added   Change = "added"
	Removed Change = "removed"
)

// Report is a comparison. Its JSON form is stable: fields are only added.
type Report struct {
	Kubernetes []string   `json:"kubernetes"`       // versions, oldest first
	Delays     string     `json:"delays"`           // name of the latencies of the nodes
	Before     string     `json:"before,omitempty"` // names of the manifests for people, if known
	After      string     `json:"after,omitempty"`
	Workloads  []Workload `json:"workloads"`
	Scenarios  []Scenario `json:"scenarios,omitempty"`
	Excluded   []string   `json:"excluded,omitempty"` // files that the configuration excludes, after the change
}

// Workload is the comparison of an object that creates pods.
type Workload struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Change    Change `json:"change"` // added, removed or same; the containers say whether it got better or worse
	// RenamedFrom is the name before the change, with the namespace if that was another one. It is
	// empty for the same name.
	RenamedFrom string `json:"renamedFrom,omitempty"`
	// KindBefore is the kind before the change if that was another one.
	KindBefore string `json:"kindBefore,omitempty"`
	// Paired says why two workloads are compared although their names or kinds differ.
	Paired *Pairing `json:"paired,omitempty"`
	// unsettled says that the workload is removed and that others are added: one of them may take
	// its place.
	unsettled  bool
	file       string // and the line, after the change if it is there
	line       int
	Containers []Container `json:"containers"`
	// Requirements are the results after the change.
	Requirements []check.Verification `json:"requirements,omitempty"`
	Problems     []string             `json:"problems,omitempty"` // why it could not be checked, before or after
}

// Container is the comparison of a container with probes.
type Container struct {
	Name        string   `json:"name"`
	Change      Change   `json:"change"` // added, removed or same
	RenamedFrom string   `json:"renamedFrom,omitempty"`
	Paired      *Pairing `json:"paired,omitempty"` // why two containers are compared although their names differ
	// Lost are the types of the probes that the container had before. It still exists, without
	// them, or the whole workload is gone.
	Lost []string `json:"lost,omitempty"`
	// Replaced says that the pod no longer has the container, and has another new one, which may do
	// its work.
	Replaced    bool            `json:"replaced,omitempty"`
	Before      []check.Probe   `json:"before,omitempty"`
	After       []check.Probe   `json:"after,omitempty"`
	Rows        []Row           `json:"rows"`
	Appeared    []check.Finding `json:"appeared,omitempty"`
	Disappeared []check.Finding `json:"disappeared,omitempty"`
}

// Row is the comparison of a limit or a time.
type Row struct {
	Row    check.RowID     `json:"row"`
	Text   string          `json:"text"`
	Limit  bool            `json:"limit"`            // greater is better; of a time, smaller is better
	Before *value.Interval `json:"before,omitempty"` // nil if there is none
	After  *value.Interval `json:"after,omitempty"`
	// Change judges the guaranteed value: what always goes well, or the worst time.
	Change Change `json:"change"`
}

// Guaranteed is the value of a row that holds on every node and in every phase. It is nil if there
// is none.
func (r *Row) Guaranteed() (before, after *value.Seconds) {
	of := func(x *value.Interval) *value.Seconds {
		switch {
		case x == nil:
			return nil
		case r.Limit:
			return new(value.Seconds(x.Min))
		}
		return new(value.Seconds(x.Max))
	}
	return of(r.Before), of(r.After)
}

// Compare compares the checks of two manifests, for the same nodes and versions of Kubernetes. It
// matches workloads by kind, namespace and name, and containers by name. See match and renames for
// the others.
func Compare(before, after *check.Report) *Report {
	r := &Report{Kubernetes: after.Kubernetes, Delays: after.Delays, Workloads: []Workload{}, Excluded: after.Excluded}
	list := withProbes(after.Workloads)
	pairs := match(withProbes(before.Workloads), list)
	for i, now := range list {
		r.Workloads = append(r.Workloads, workload(pairs.was[now], now))
		r.Workloads[i].Paired = pairs.why[now]
	}
	for _, w := range pairs.before {
		removed := workload(w, nil)
		removed.unsettled = len(pairs.after) > 0
		for i := range w.Containers {
			removed.Containers[i].Lost = lost(&w.Containers[i], &check.Container{})
		}
		r.Workloads = append(r.Workloads, removed)
	}
	return r
}

// withProbes returns workloads with those of their containers that have probes.
func withProbes(list []check.Workload) (probed []*check.Workload) {
	for _, w := range list {
		w.Containers = slices.DeleteFunc(slices.Clone(w.Containers),
			func(c check.Container) bool { return !c.HasProbes() })
		probed = append(probed, &w)
	}
	return probed
}

func sameWorkload(a, b *check.Workload) bool {
	return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name
}

// find returns a container of a workload, or nil. One without probes has only a name.
func find(w *check.Workload, name string) *check.Container {
	if i := slices.IndexFunc(w.Containers, func(c check.Container) bool { return c.Name == name }); i >= 0 {
		return &w.Containers[i]
	}
	if _, exists := w.Images[name]; exists {
		return &check.Container{Name: name}
	}
	return nil
}

// presence says whether something is added or removed.
func presence[T any](before, after *T) Change {
	switch {
	case before == nil:
		return Added
	case after == nil:
		return Removed
	}
	return Same
}

// either returns the later of two things that is there.
func either[T any](before, after *T) *T {
	if after != nil {
		return after
	}
	return before
}

func workload(before, after *check.Workload) Workload {
	w := either(before, after)
	out := Workload{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Change: presence(before, after),
		Containers: []Container{}, file: w.File, line: w.Line}
	if before == nil {
		before = &check.Workload{}
	} else {
		out.problem("before", before)
	}
	if after == nil {
		after = &check.Workload{}
	} else {
		out.Requirements = after.Requirements
		out.problem("after", after)
	}
	if out.Change == Same {
		out.RenamedFrom = renamedFrom(before, after)
		if before.Kind != after.Kind {
			out.KindBefore = before.Kind
		}
	}
	pairs := matchContainers(before, after)
	var done []*check.Container
	for i := range after.Containers {
		now := &after.Containers[i]
		key := named{after, now.Name}
		old := find(before, cmp.Or(pairs.was[key].name, now.Name))
		c := container(old, now)
		c.Paired = pairs.why[key]
		out.Containers = append(out.Containers, c)
		done = append(done, old)
	}
	for i := range before.Containers {
		old := &before.Containers[i]
		if slices.Contains(done, old) {
			continue
		}
		key := named{after, cmp.Or(pairs.is[named{before, old.Name}].name, old.Name)}
		now := find(after, key.name)
		c := container(old, now)
		c.Paired = pairs.why[key]
		c.Replaced = out.Change == Same && now == nil && len(pairs.after) > 0
		out.Containers = append(out.Containers, c)
	}
	return out
}

func (w *Workload) problem(when string, of *check.Workload) {
	if of.Problem != "" {
		w.Problems = append(w.Problems, when+": "+of.Problem)
	}
}

func container(before, after *check.Container) Container {
	out := Container{Name: either(before, after).Name, Change: presence(before, after), Rows: []Row{}}
	none := &check.Container{}
	old, now := either(none, before), either(none, after)
	out.Before, out.After = old.Probes, now.Probes
	if out.Change == Same {
		out.Lost = lost(old, now)
		if old.Name != now.Name {
			out.RenamedFrom = old.Name
		}
	}
	out.addRows(old, func(r *Row) **value.Interval { return &r.Before })
	out.addRows(now, func(r *Row) **value.Interval { return &r.After })
	rows := check.Rows()
	slices.SortStableFunc(out.Rows, func(a, b Row) int { return slices.Index(rows, a.Row) - slices.Index(rows, b.Row) })
	measured := out.Change == Same && len(old.Limits)+len(old.Times) > 0 && len(now.Limits)+len(now.Times) > 0
	for i := range out.Rows {
		r := &out.Rows[i]
		out.fill(r)
		unknown := r.Before == nil && broken(old, "") || r.After == nil && broken(now, "")
		r.judge(measured && !unknown)
	}
	if out.Change == Same {
		out.Appeared, out.Disappeared = without(now.Findings, old.Findings), without(old.Findings, now.Findings)
	} else if out.Change == Added {
		out.Appeared = now.Findings
	}
	return out
}

// addRows adds the rows of a container before or after.
func (c *Container) addRows(of *check.Container, field func(*Row) **value.Interval) {
	for _, l := range of.Limits {
		*field(c.row(l.Row, l.Text, true)) = &value.Interval{Min: time.Duration(l.Always), Max: time.Duration(l.Never)}
	}
	for _, t := range of.Times {
		*field(c.row(t.Row, t.Text, false)) = &value.Interval{Min: time.Duration(t.Best), Max: time.Duration(t.Worst)}
	}
}

// fill takes the values of the row that a row is like where a side does not have the row.
func (c *Container) fill(r *Row) {
	if i := slices.IndexFunc(c.Rows, func(o Row) bool { return o.Row == r.Row.Like() }); i >= 0 {
		r.Before, r.After = cmp.Or(r.Before, c.Rows[i].Before), cmp.Or(r.After, c.Rows[i].After)
	}
}

// broken reports whether a probe of a type can never run, or one of any type. The container does
// not have the rows that need it.
func broken(c *check.Container, probe string) bool {
	return slices.ContainsFunc(c.Findings, func(f check.Finding) bool {
		return f.ID == check.BrokenProbe && strings.HasSuffix(f.Field, probe+"Probe")
	})
}

// lost returns the types of the probes that are gone. A probe that could never run is no loss.
func lost(before, after *check.Container) []string {
	var types []string
	for _, p := range before.Probes {
		if !broken(before, p.Type) && !slices.ContainsFunc(after.Probes,
			func(q check.Probe) bool { return q.Type == p.Type }) {
			types = append(types, p.Type)
		}
	}
	return types
}

// row returns the row with an ID. It adds it if there is none.
func (c *Container) row(id check.RowID, text string, limit bool) *Row {
	for i := range c.Rows {
		if c.Rows[i].Row == id {
			return &c.Rows[i]
		}
	}
	c.Rows = append(c.Rows, Row{Row: id, Text: text, Limit: limit})
	return &c.Rows[len(c.Rows)-1]
}

// noise is the greatest difference that is no change.
const noise = 100 * time.Millisecond

// judge sets the change of a row. Comparable says that both containers have been measured: then a
// row that is missing says that nothing limits what it is about, or that it never happens.
func (r *Row) judge(comparable bool) {
	old, now := r.Guaranteed()
	switch {
	case !comparable:
		r.Change = presence(old, now)
		return
	case old == nil:
		old = r.missing()
	case now == nil:
		now = r.missing()
	}
	better, difference := *now > *old, time.Duration(*now-*old).Abs()
	if !r.Limit {
		better = *now < *old
	}
	switch {
	case difference < noise:
		r.Change = Same
	case better:
		r.Change = Better
	default:
		r.Change = Worse
	}
}

// missing is the value of a row that a container does not have. Without a startup and a readiness
// probe, a container is ready when it runs. Otherwise no probe means that nothing ever happens,
// which is good for a limit and bad for a time.
func (r *Row) missing() *value.Seconds {
	if r.Row == check.Ready {
		return new(value.Seconds(0))
	}
	return new(value.Seconds(bounds.Never))
}

// without returns the findings that a list does not have. Messages may differ: they contain
// figures.
func without(list, other []check.Finding) []check.Finding {
	var left []check.Finding
	for _, f := range list {
		same := func(o check.Finding) bool { return f.Same(o) && o.Severity == f.Severity }
		if !slices.ContainsFunc(other, same) {
			left = append(left, f)
		}
	}
	return left
}

// Worse reports whether a row of a container got worse, a container lost a probe or was replaced,
// or a run of a scenario got worse. The probes of a workload that is gone are lost: it may have
// become something that is not checked. A container that is gone from its pod is not worse.
func (r *Report) Worse() bool {
	for _, c := range r.containers() {
		if len(c.Lost) > 0 || c.Replaced || slices.ContainsFunc(c.Rows,
			func(r Row) bool { return r.Change == Worse || r.Change == Removed && c.Change == Same }) {
			return true
		}
	}
	return slices.ContainsFunc(r.Scenarios, Scenario.worse)
}

// Lost counts the probes that containers lost.
func (r *Report) Lost() (n int) {
	for _, c := range r.containers() {
		n += len(c.Lost)
	}
	return n
}

// Replaced counts the containers that are gone from a pod with another new one.
func (r *Report) Replaced() (n int) {
	for _, c := range r.containers() {
		if c.Replaced {
			n++
		}
	}
	return n
}

// containers iterates over all containers with their workloads.
func (r *Report) containers() iter.Seq2[*Workload, *Container] {
	return func(yield func(*Workload, *Container) bool) {
		for i := range r.Workloads {
			for k := range r.Workloads[i].Containers {
				if !yield(&r.Workloads[i], &r.Workloads[i].Containers[k]) {
					return
				}
			}
		}
	}
}

// Changed reports whether anything about a container differs.
func (c *Container) Changed() bool {
	return c.Change != Same || len(c.Appeared)+len(c.Disappeared) > 0 ||
		!slices.EqualFunc(c.Before, c.After, sameProbe) ||
		slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Change != Same })
}

func sameProbe(a, b check.Probe) bool { return a.Type == b.Type && a.Text == b.Text }

// Appeared reports whether a finding of a severity or a worse one has appeared. No severity means
// no finding.
func (r *Report) Appeared(s check.Severity) bool {
	if !slices.Contains([]check.Severity{check.Error, check.Warning, check.Note}, s) {
		return false
	}
	for _, c := range r.containers() {
		if slices.ContainsFunc(c.Appeared, func(f check.Finding) bool { return f.Severity.AtLeast(s) }) {
			return true
		}
	}
	return false
}

// Evidence says why two things with different names or kinds are compared.
type Evidence string

const (
	ByName   Evidence = "name"   // a workload of another kind has the name
	ByImages Evidence = "images" // both have images that tell which one it was
	// LastLeft is the weakest: names and images differ, and there is no other one that it can be
	// compared with.
	LastLeft Evidence = "lastLeft"
)

// Pairing says why two workloads or two containers are compared although their names or kinds
// differ.
type Pairing struct {
	By     Evidence `json:"by"`
	Images []string `json:"images,omitempty"` // that both have, without tags and digests
}

// pairs are the pairs of workloads of two manifests, or of containers of two workloads.
type pairs[T comparable] struct {
	before, after []T              // that are in no pair
	was, is       map[T]T          // the one before by the one after, and the other way round
	why           map[T]*Pairing   // by the one after; nil for the same one
	images        func(T) []string // without tags and digests
}

// pairSame pairs all things that are the same.
func pairSame[T comparable](before, after []T, images func(T) []string, same func(a, b T) bool) *pairs[T] {
	p := &pairs[T]{before, after, map[T]T{}, map[T]T{}, map[T]*Pairing{}, images}
	for _, now := range after {
		if i := slices.IndexFunc(p.before, func(old T) bool { return same(old, now) }); i >= 0 {
			p.add(p.before[i], now, nil)
		}
	}
	return p
}

func (p *pairs[T]) add(old, now T, why *Pairing) {
	p.was[now], p.is[old], p.why[now] = old, now, why
	p.before = slices.DeleteFunc(slices.Clone(p.before), func(x T) bool { return x == old })
	p.after = slices.DeleteFunc(slices.Clone(p.after), func(x T) bool { return x == now })
}

// equal pairs things that are left over and that have a key in common. Both must have it with no
// other one that is left over.
func (p *pairs[T]) equal(by Evidence, keys func(T) []string) {
	before, after := p.before, p.after
	for _, old := range before {
		fits := slices.DeleteFunc(slices.Clone(after), func(now T) bool { return len(common(old, now, keys)) == 0 })
		if len(fits) != 1 || slices.ContainsFunc(before,
			func(other T) bool { return other != old && len(common(other, fits[0], keys)) > 0 }) {
			continue
		}
		why := &Pairing{By: by}
		if by == ByImages {
			why.Images = common(old, fits[0], p.images)
		}
		p.add(old, fits[0], why)
	}
}

// common returns the keys that two things have in common.
func common[T any](a, b T, keys func(T) []string) []string {
	of := keys(b)
	return slices.DeleteFunc(keys(a), func(key string) bool { return !slices.Contains(of, key) })
}

// match pairs workloads. Workloads of the same kind, namespace and name match. Each further rule
// only pairs workloads that are left over, and only if no other workload fits as well:
//   - the same namespace and name, and another kind
//   - the same kind and the same containers: names and images, or else images
//   - an image that no other workload of either manifest has
//   - no other workload is left. They must have the same kind and namespace, unless they are all
//     that the manifests have.
func match(before, after []*check.Workload) *pairs[*check.Workload] {
	p := pairSame(before, after, images, sameWorkload)
	p.equal(ByName, func(w *check.Workload) []string { return []string{w.Namespace + "/" + w.Name} })
	p.equal(ByImages, namesAndImages)
	p.equal(ByImages, kindAndImages)
	p.equal(ByImages, func(w *check.Workload) []string { return distinctive(w, before, after) })
	if len(p.before) == 1 && len(p.after) == 1 {
		old, now := p.before[0], p.after[0]
		if old.Kind == now.Kind && old.Namespace == now.Namespace || len(before) == 1 && len(after) == 1 {
			p.add(old, now, &Pairing{By: LastLeft})
		}
	}
	return p
}

// namesAndImages returns the kind of a workload, and the names and images of its containers, as one
// key.
func namesAndImages(w *check.Workload) []string {
	parts := []string{w.Kind}
	for _, name := range slices.Sorted(maps.Keys(w.Images)) {
		parts = append(parts, name+" "+workloads.Repository(w.Images[name]))
	}
	return key(w, parts)
}

// kindAndImages returns the kind of a workload, and the images of its containers, as one key.
func kindAndImages(w *check.Workload) []string { return key(w, append(repositories(w), w.Kind)) }

// key joins the parts of a key. Without known images, there is none.
func key(w *check.Workload, parts []string) []string {
	if len(w.Images) == 0 {
		return nil
	}
	return []string{strings.Join(parts, "\n")}
}

// distinctive returns the images of a workload that no other workload of its manifest has, and that
// at most one workload of the other manifest has. An image that several workloads have, such as
// that of a proxy, does not tell which one it was.
func distinctive(w *check.Workload, before, after []*check.Workload) []string {
	several := func(list []*check.Workload, image string) bool {
		have := func(w *check.Workload) bool { return slices.Contains(images(w), image) }
		first := slices.IndexFunc(list, have)
		return first >= 0 && slices.ContainsFunc(list[first+1:], have)
	}
	return slices.DeleteFunc(images(w),
		func(image string) bool { return several(before, image) || several(after, image) })
}

// repositories returns the images of the containers of a workload, without tags and digests,
// sorted: a tag can decide the order of two images.
func repositories(w *check.Workload) (list []string) {
	for _, image := range slices.Sorted(maps.Values(w.Images)) {
		list = append(list, workloads.Repository(image))
	}
	slices.Sort(list)
	return list
}

// images returns the repositories of a workload, each once.
func images(w *check.Workload) []string { return slices.Compact(repositories(w)) }

// renamedFrom returns the name of a workload before the change if it is another one.
func renamedFrom(before, after *check.Workload) string {
	switch {
	case before.Namespace != after.Namespace:
		return before.Namespace + "/" + before.Name
	case before.Name != after.Name:
		return before.Name
	}
	return ""
}

// named is a container of a workload, which need not have probes.
type named struct {
	of   *check.Workload
	name string
}

func (c named) image() []string { return []string{workloads.Repository(c.of.Images[c.name])} }

// matchContainers pairs the containers of two workloads: those of the same name; the only new one
// with an image, if only one with this image is gone; or the only containers of their pods.
func matchContainers(before, after *check.Workload) *pairs[named] {
	all := func(w *check.Workload) (list []named) {
		for _, name := range slices.Sorted(maps.Keys(w.Images)) {
			list = append(list, named{w, name})
		}
		return list
	}
	p := pairSame(all(before), all(after), named.image, func(a, b named) bool { return a.name == b.name })
	p.equal(ByImages, named.image)
	if len(p.before) == 1 && len(before.Images) == 1 && len(p.after) == 1 && len(after.Images) == 1 {
		p.add(p.before[0], p.after[0], &Pairing{By: LastLeft})
	}
	return p
}
