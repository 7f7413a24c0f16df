package compare

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/scenarios/manifests"
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
	Paired     *Pairing    `json:"paired,omitempty"`
	Containers []Container `json:"containers"`
	// Requirements are the results after the change.
	Requirements []check.Verification `json:"requirements,omitempty"`
	Problems     []string             `json:"problems,omitempty"` // why it could not be checked, before or after

	was string // its title before the change
	// unsettled says that the workload is removed and that others are added: one of them may take
	// its place.
	unsettled bool
	file      string // and the line, after the change if it is there
	line      int
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
// matches workloads by kind, namespace and name, and containers by name. See match and
// matchContainers for the others.
func Compare(before, after *check.Report) *Report {
	r := &Report{Kubernetes: after.Kubernetes, Delays: after.Delays, Workloads: []Workload{}, Excluded: after.Excluded}
	pairs := match(before.Workloads, after.Workloads)
	for i := range after.Workloads {
		now := &after.Workloads[i]
		r.Workloads = append(r.Workloads, newWorkload(pairs.was[now], now, pairs.why[now]))
	}
	for _, old := range pairs.before {
		removed := newWorkload(old, nil, nil)
		removed.unsettled = len(pairs.after) > 0
		r.Workloads = append(r.Workloads, removed)
	}
	return r
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

func newWorkload(before, after *check.Workload, why *Pairing) Workload {
	w := cmp.Or(after, before)
	out := Workload{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Change: presence(before, after), Paired: why,
		Containers: []Container{}, file: w.File, line: w.Line}
	if before = cmp.Or(before, &check.Workload{}); before.Problem != "" {
		out.Problems = append(out.Problems, "before: "+before.Problem)
	}
	if after = cmp.Or(after, &check.Workload{}); after.Problem != "" {
		out.Problems = append(out.Problems, "after: "+after.Problem)
	}
	out.Requirements = after.Requirements
	if out.Change == Same {
		out.renamed(before, after)
	}
	list := partsOf(after)
	pairs := matchContainers(partsOf(before), list)
	for _, now := range list {
		if old := pairs.was[now]; old.probed || now.probed {
			out.Containers = append(out.Containers, newContainer(old, now, pairs.why[now]))
		}
	}
	for _, old := range pairs.before {
		if !old.probed {
			continue
		}
		gone := newContainer(old, part{}, nil)
		if gone.Replaced = out.Change == Same && len(pairs.after) > 0; out.Change == Removed {
			gone.Lost = lost(old.Container, &check.Container{})
		}
		out.Containers = append(out.Containers, gone)
	}
	return out
}

// renamed notes another name or kind before the change.
func (w *Workload) renamed(before, after *check.Workload) {
	switch {
	case before.Namespace != after.Namespace:
		w.RenamedFrom = before.Namespace + "/" + before.Name
	case before.Name != after.Name:
		w.RenamedFrom = before.Name
	}
	if before.Kind != after.Kind {
		w.KindBefore = before.Kind
	}
	w.was = manifests.Title(before.Kind, before.Namespace, before.Name)
}

func newContainer(before, after part, why *Pairing) Container {
	old, now := cmp.Or(before.Container, &check.Container{}), cmp.Or(after.Container, &check.Container{})
	c := Container{Name: cmp.Or(now.Name, old.Name), Change: presence(before.Container, after.Container), Paired: why,
		Before: old.Probes, After: now.Probes, Rows: []Row{}}
	if c.Appeared = without(now.Findings, old.Findings); c.Change != Removed {
		c.Disappeared = without(old.Findings, now.Findings)
	}
	if c.Change == Same {
		c.Lost = lost(old, now)
	}
	if c.Change == Same && old.Name != now.Name {
		c.RenamedFrom = old.Name
	}
	measured := c.Change == Same && len(old.Limits)+len(old.Times) > 0 && len(now.Limits)+len(now.Times) > 0
	for _, id := range check.Rows() {
		r := Row{Row: id, Limit: id.IsLimit()}
		var was, is string
		r.Before, was = interval(old, id)
		r.After, is = interval(now, id)
		if r.Text = cmp.Or(was, is); r.Before == nil && r.After == nil {
			continue
		}
		if r.Before == nil { // the row that it is like has its value
			r.Before, _ = interval(old, id.Like())
		}
		if r.After == nil {
			r.After, _ = interval(now, id.Like())
		}
		r.judge(measured && !(r.Before == nil && broken(old, "")) && !(r.After == nil && broken(now, "")))
		c.Rows = append(c.Rows, r)
	}
	return c
}

// interval returns the range of a row of a container, and its text, or nil.
func interval(c *check.Container, id check.RowID) (*value.Interval, string) {
	for _, l := range c.Limits {
		if l.Row == id {
			return &value.Interval{Min: time.Duration(l.Always), Max: time.Duration(l.Never)}, l.Text
		}
	}
	for _, t := range c.Times {
		if t.Row == id {
			return &value.Interval{Min: time.Duration(t.Best), Max: time.Duration(t.Worst)}, t.Text
		}
	}
	return nil, ""
}

// broken reports whether a probe of a type can never run, or one of any type. The container does
// not have the rows that need it.
func broken(c *check.Container, probe string) bool {
	return slices.ContainsFunc(c.Findings, func(f check.Finding) bool {
		return f.ID == check.BrokenProbe && strings.HasSuffix(f.Field, probe+"Probe")
	})
}

// lost returns the types of the probes that are gone. A probe that could never run is no loss.
func lost(before, after *check.Container) (types []string) {
	for _, p := range before.Probes {
		same := func(q check.Probe) bool { return q.Type == p.Type }
		if !broken(before, p.Type) && !slices.ContainsFunc(after.Probes, same) {
			types = append(types, p.Type)
		}
	}
	return types
}

// noise is the greatest difference that is no change.
const noise = 100 * time.Millisecond

// judge sets the change of a row. Comparable says that both containers have been measured: then a
// row that is missing says that nothing limits what it is about, or that it never happens.
func (r *Row) judge(comparable bool) {
	old, now := r.Guaranteed()
	if !comparable {
		r.Change = presence(old, now)
		return
	}
	old, now = cmp.Or(old, r.missing()), cmp.Or(now, r.missing())
	switch better := (*now > *old) == r.Limit; {
	case time.Duration(*now-*old).Abs() < noise:
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
func without(list, other []check.Finding) (left []check.Finding) {
	for _, f := range list {
		same := func(o check.Finding) bool { return f.Same(o) && o.Severity == f.Severity }
		if !slices.ContainsFunc(other, same) {
			left = append(left, f)
		}
	}
	return left
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

// counts are the numbers of what differs.
type counts struct {
	lost     int            // probes
	replaced int            // containers that are gone from a pod with another new one
	rows     map[Change]int // of containers that are neither added nor removed
}

func (r *Report) count() counts {
	n := counts{rows: map[Change]int{}}
	for _, c := range r.containers() {
		n.lost += len(c.Lost)
		if c.Replaced {
			n.replaced++
		}
		for _, row := range c.Rows {
			if c.Change == Same {
				n.rows[row.Change]++
			}
		}
	}
	return n
}

// Worse reports whether a row of a container got worse, a container lost a probe or was replaced,
// or a run of a scenario got worse. The probes of a workload that is gone are lost: it may have
// become something that is not checked. A container that is gone from its pod is not worse.
func (r *Report) Worse() bool {
	n := r.count()
	return n.lost+n.replaced+n.rows[Worse]+n.rows[Removed] > 0 || slices.ContainsFunc(r.Scenarios, Scenario.worse)
}

// Lost counts the probes that containers lost.
func (r *Report) Lost() int { return r.count().lost }

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
