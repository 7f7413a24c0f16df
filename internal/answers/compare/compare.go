package compare

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/value"
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
