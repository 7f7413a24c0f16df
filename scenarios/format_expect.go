package scenarios

import (
	"probesim.dev/internal/value"
	"probesim.dev/trace/match"
)

// Expect is an expectation: what to look for (exactly one of Status, Becomes, Record, Transitions and
// Order), when (at most one of At, Within, First, Always and Never: see Window), and where. What was
// loaded holds to the table of matchers and windows in the reference of the scenario file.
type Expect struct {
	Pos  `json:"-"`
	Path string `json:"-"`              // of the field, as in spec.expect[0]
	Text string `json:"-"`              // as written, on one line and without Name
	Name string `json:"name,omitempty"` // empty: show Text

	Status      match.Fields       `json:"status,omitempty"`
	Becomes     match.Fields       `json:"becomes,omitempty"`
	Record      *match.Record      `json:"record,omitempty"`
	Transitions *match.Transitions `json:"transitions,omitempty"`
	Order       []*match.Moment    `json:"order,omitempty"` // at least two; Pod is not set in them

	At     *value.Duration  `json:"at,omitempty"`
	Within *value.TimeRange `json:"within,omitempty"`
	First  *value.TimeRange `json:"first,omitempty"`
	Always *value.TimeRange `json:"always,omitempty"`
	Never  *value.TimeRange `json:"never,omitempty"`

	Count *value.IntRange `json:"count,omitempty"` // with Becomes or Record and Within; nil: 1..
	Since *match.Moment   `json:"since,omitempty"` // Pod is not set in it

	Pod       string          `json:"pod,omitempty"`       // a pod or workload, see Scenario.PodKeys; empty: each pod
	Container string          `json:"container,omitempty"` // empty: a state is the pod's, a record any container's
	Instance  *value.IntRange `json:"instance,omitempty"`  // for Record; nil: any
	Pods      *value.IntRange `json:"pods,omitempty"`      // nil: every pod is checked by itself

	KubernetesVersions []value.VersionRange `json:"kubernetesVersions,omitempty"` // none: every run
	Runs               string               `json:"runs,omitempty"`               // every or some; never empty once loaded

	// Observed is set if what it expects is what was seen, and is to be refreshed when that is asked for: the values of
	// Transitions, the window First, the Count, or the fields of Status At an instant.
	Observed bool `json:"observed,omitempty"`
}

// Values of Expect.Runs.
const (
	EveryRun = "every"
	SomeRun  = "some"
)

// WindowKind says how an expectation uses its window.
type WindowKind string

const (
	At     WindowKind = "at" // the window is one instant
	Within WindowKind = "within"
	First  WindowKind = "first"
	Always WindowKind = "always"
	Never  WindowKind = "never"
)

// Window is when an expectation looks. Its times count from t=0, or from each moment of Since.
type Window struct {
	Kind WindowKind
	value.TimeRange
}

// Window returns the window of an expectation; Within everything where none is written.
func (e *Expect) Window() Window {
	switch {
	case e.At != nil:
		at := e.At.Time()
		return Window{At, value.TimeRange{Min: at, Max: at}}
	case e.Within != nil:
		return Window{Within, *e.Within}
	case e.First != nil:
		return Window{First, *e.First}
	case e.Always != nil:
		return Window{Always, *e.Always}
	case e.Never != nil:
		return Window{Never, *e.Never}
	}
	return Window{Within, value.AllTime}
}

// Moment returns what a Becomes or Record expectation looks for, as one; nil for the other matchers.
func (e *Expect) Moment() *match.Moment {
	if e.Becomes == nil && e.Record == nil {
		return nil
	}
	return &match.Moment{Pos: e.Pos, Pod: e.Pod, Container: e.Container, Instance: e.Instance, Becomes: e.Becomes, Record: e.Record}
}

// AppliesTo reports whether the expectation is checked in runs of a version.
func (e *Expect) AppliesTo(v value.Version) bool {
	return len(e.KubernetesVersions) == 0 || inAny(e.KubernetesVersions, v)
}

func inAny(ranges []value.VersionRange, v value.Version) bool {
	for _, r := range ranges {
		if r.Contains(v) {
			return true
		}
	}
	return false
}
