package format

import (
	"slices"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace/match"
)

// NeedsDetails reports whether the expectation asks for fields of a status that a trace has only
// with details.
func (e *Expect) NeedsDetails() bool {
	return inDetail(e.Status) || e.Transitions != nil && match.InDetail(e.Transitions.Field) ||
		slices.ContainsFunc(append([]*match.Moment{e.Since, e.Moment()}, e.Order...), MomentInDetail)
}

// MomentInDetail reports whether a moment asks for such fields.
func MomentInDetail(m *match.Moment) bool { return m != nil && inDetail(m.Becomes) }

func inDetail(fields match.Fields) bool {
	return slices.ContainsFunc(fields, func(f match.Field) bool { return match.InDetail(f.Name) })
}

// Expect is an expectation. Exactly one matcher is set: Status, Becomes, Record, Transitions or
// Order. At most one window is set: At, Within, First, Always or Never; see Window. docs/format.md
// lists the windows that each matcher takes.
type Expect struct {
	strict.Pos `json:"-"`
	Path       string `json:"-"`              // path of the expectation, as in spec.expect[0]
	Text       string `json:"-"`              // source text on one line, without Name
	Name       string `json:"name,omitempty"` // empty: reports show Text

	Status      match.Fields       `json:"status,omitempty"`
	Becomes     match.Fields       `json:"becomes,omitempty"`
	Record      *match.Record      `json:"record,omitempty"`
	Transitions *match.Transitions `json:"transitions,omitempty"`
	Lost        *value.IntRange    `json:"lost,omitempty"`  // requests to Service that are lost
	Order       []*match.Moment    `json:"order,omitempty"` // at least two; an empty Pod is that of the expectation

	At     *value.Duration  `json:"at,omitempty"`
	Within *value.TimeRange `json:"within,omitempty"`
	First  *value.TimeRange `json:"first,omitempty"`
	Always *value.TimeRange `json:"always,omitempty"`
	Never  *value.TimeRange `json:"never,omitempty"`

	Count *value.IntRange `json:"count,omitempty"` // only with Within and one of Becomes and Record; nil: 1..
	Since *match.Moment   `json:"since,omitempty"` // an empty Pod is that of the expectation

	Pod string `json:"pod,omitempty"` // a pod or workload, see Scenario.PodKeys; empty: each pod
	// a Deployment with a control plane, whose state Status or Becomes is about
	Workload string `json:"workload,omitempty"`
	Service  string `json:"service,omitempty"` // only with Lost
	// empty: the status of the pod, or a record about any container
	Container string          `json:"container,omitempty"`
	Instance  *value.IntRange `json:"instance,omitempty"` // only with Record; nil: any
	Pods      *value.IntRange `json:"pods,omitempty"`     // how many pods must meet the expectation; nil: each of them

	KubernetesVersions []value.VersionRange `json:"kubernetesVersions,omitempty"` // empty: all versions
	// EveryRun or SomeRun; never empty after loading
	Runs string `json:"runs,omitempty"`
}

// Values of Expect.Runs.
const (
	EveryRun = "every"
	SomeRun  = "some"
)

// WindowKind says how an expectation uses its window.
type WindowKind string

const (
	At     WindowKind = "at" // the window is a single instant
	Within WindowKind = "within"
	First  WindowKind = "first"
	Always WindowKind = "always"
	Never  WindowKind = "never"
)

// Window is the time in which an expectation applies. Its bounds count from t=0, or from each
// moment of Since.
type Window struct {
	Kind WindowKind
	value.TimeRange
}

// Window returns the window of the expectation. Without one it is Within all times.
func (e *Expect) Window() Window {
	if e.At != nil {
		at := e.At.Time()
		return Window{At, value.TimeRange{Min: at, Max: at}}
	}
	for _, w := range []struct {
		kind  WindowKind
		given *value.TimeRange
	}{{Within, e.Within}, {First, e.First}, {Always, e.Always}, {Never, e.Never}} {
		if w.given != nil {
			return Window{w.kind, *w.given}
		}
	}
	return Window{Within, value.AllTime}
}

// Moment returns the moments that a Becomes or Record expectation looks for, or nil for the other
// matchers.
func (e *Expect) Moment() *match.Moment {
	if e.Becomes == nil && e.Record == nil {
		return nil
	}
	return &match.Moment{Pos: e.Pos, Pod: e.Pod, Container: e.Container, Instance: e.Instance, Becomes: e.Becomes,
		Record: e.Record}
}

// Each returns the expectation once for each container of its range, and itself if it has none. In
// the copies, since and order have the same container where they have the range.
func (e *Expect) Each() []*Expect {
	if !IsRange(e.Container) {
		return []*Expect{e}
	}
	var all []*Expect
	for _, name := range NamesOf(e.Container) {
		one := *e
		one.Container = name
		one.Since, one.Order = inContainer(e.Since, e.Container, name), nil
		for _, m := range e.Order {
			one.Order = append(one.Order, inContainer(m, e.Container, name))
		}
		all = append(all, &one)
	}
	return all
}

// inContainer returns a moment, in another container if it is in the container old.
func inContainer(m *match.Moment, old, container string) *match.Moment {
	if m == nil || m.Container != old {
		return m
	}
	one := *m
	one.Container = container
	return &one
}

// OrderHasPods reports whether each item of Order has a pod of its own or is about the node.
func (e *Expect) OrderHasPods() bool {
	has := false
	for _, m := range e.Order {
		if m == nil || m.Pod == "" && !m.OfNode() {
			return false
		}
		has = has || m.Pod != ""
	}
	return has
}

// AppliesTo reports whether runs of a version check the expectation.
func (e *Expect) AppliesTo(v value.Version) bool {
	return len(e.KubernetesVersions) == 0 || slices.ContainsFunc(e.KubernetesVersions,
		func(r value.VersionRange) bool { return r.Contains(v) })
}
