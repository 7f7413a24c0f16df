// Package report presents runs to people and CI systems: as a timeline, as a list of events as in
// kubectl describe, as outcomes of expectations, Markdown and JSON, and as findings for JUnit and
// GitHub annotations.
//
// A [Run] holds the trace of a run and the outcomes of its expectations; a [Case] holds the runs of
// one scenario with one version of Kubernetes. Each function writes one format. The subpackages
// html and perfetto write pages and trace files, why explains runs, and diff compares them. All of
// them read traces only, so they work for both the simulator and the real kubelet.
package report

import (
	"slices"
	"time"

	"probesim.dev/internal/show/history"
	"probesim.dev/internal/show/summary"
	"probesim.dev/internal/show/why"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Case is a scenario with one version of Kubernetes. It has one run, or one run for each seed.
type Case struct {
	Scenario    string `json:"name"`
	Description string `json:"description,omitempty"`
	File        string `json:"file"`       // scenario file
	Line        int    `json:"line"`       // line on which the scenario starts
	Kubernetes  string `json:"kubernetes"` // version, for example v1.37
	Runs        []*Run `json:"-"`
	// Expectations need to hold in at least one of the runs.
	Expectations []Expectation `json:"expectations,omitempty"`
	// Unproven is what Unproven of all runs has.
	Unproven []string `json:"unproven,omitempty"`
	// Statistics summarizes the numbers of all runs. It may be nil, for example if there is only
	// one run.
	Statistics *summary.Summary `json:"-"`
	// Err is set instead of the other fields, except File, if the file is invalid and its scenarios
	// did not run.
	Err error `json:"-"`
}

// Run is one run of a scenario, with the outcomes of its expectations.
type Run struct {
	Scenario    string       `json:"-"`
	Description string       `json:"-"`
	Kubernetes  string       `json:"-"`              // version, for example v1.37
	Seed        *int64       `json:"seed,omitempty"` // nil for a run without a seed
	Until       virtual.Time `json:"-"`              // virtual time at which the run ended
	// From and To limit the timeline and the events to a part of the run; a zero To means its end.
	// A page shows the run from From on at first, with its pods folded.
	From, To virtual.Time `json:"-"`
	// Zero is the time of day at t=0, for the axis of timelines. Nil: it has virtual times.
	Zero   *time.Duration `json:"-"`
	Replay string         `json:"replay,omitempty"` // command that repeats the run
	Notes  []string       `json:"notes,omitempty"`  // what a reader has to know besides the trace

	Records []trace.Record `json:"-"` // may be nil after the run has been drawn
	// History is drawn instead of the Records. It is set only for recordings of clusters, which do
	// not tell everything.
	History *history.History `json:"-"`
	// EventList has the events of a recording, which has only their counts. For a run they are
	// collected from the Records.
	EventList    []*EventSeries   `json:"-"`
	Windows      []history.Window `json:"-"`                     // of the rules; may be nil after the run has been drawn
	Steps        int              `json:"records"`               // number of observable records
	Restarts     int              `json:"restarts"`              // of containers; see CountRestarts
	ProbeErrors  int              `json:"probeErrors,omitempty"` // see CountProbeErrors
	Pods         []summary.Pod    `json:"-"`                     // may be nil after Case.Statistics has them
	Total        summary.Numbers  `json:"-"`                     // see summary.Total
	Hash         string           `json:"hash"`                  // see trace.Hash
	Expectations []Expectation    `json:"-"`
	// Unproven names the expectations that held and prove nothing, and the rules of the scenario
	// that never applied.
	Unproven []string `json:"unproven,omitempty"`
	// Err says why the run ended early: a limit was exceeded, or probesim itself failed.
	Err error `json:"-"`
	// Why explains the run on its page. It may be nil.
	Why *why.Run `json:"-"`
	// Output is text about the run: its timeline for JUnit, its section for a page. ID is that of
	// the section.
	Output, ID string `json:"-"`
}

// Outcome is the outcome of a run, a case or an expectation.
type Outcome string

const (
	OK      Outcome = "ok"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped" // expectation that does not apply to the run
	Unmet   Outcome = "unmet"   // expectation that need not hold in every run and did not hold in this one
	Broken  Outcome = "error"   // run that ended early, or its case
	Invalid Outcome = "invalid" // of a command: runs ended early because of what the files say
)

// Expectation is an expectation of the scenario and its outcome.
type Expectation struct {
	Name    string  `json:"name"` // in the scenario
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Column  int     `json:"column"`
	Outcome Outcome `json:"outcome"`
	// why it was skipped, what kind of failure it is, or why it held and proves nothing
	Why string `json:"why,omitempty"`
	// Failures describes the first few failures, one for each pod or match of since. More is the
	// number of further failures.
	Failures []Failure `json:"failures,omitempty"`
	More     int       `json:"moreFailures,omitempty"`
}

// Failure says how an expectation failed.
type Failure struct {
	Expected string `json:"expected"`
	Got      string `json:"got"`
	Around   []Line `json:"around"`
}

// Line is a record around a failure. Mark is set for records that the failure is about.
type Line struct {
	Record *trace.Record
	Mark   bool
}

// Drawn returns the history of the run that timelines draw.
func (r *Run) Drawn() *history.History {
	if r.History != nil {
		return r.History
	}
	h := history.Read(r.Records, r.Until)
	h.AddWindows(r.Windows)
	return h
}

// Link returns the place of the run on a page, or "" if it has none.
func (r *Run) Link() string {
	if r.ID == "" {
		return ""
	}
	return "#" + r.ID
}

// Outcome returns Broken, Failed or OK.
func (r *Run) Outcome() Outcome {
	if r.Err != nil {
		return Broken
	}
	return worst(r.Expectations)
}

// Checked returns the number of expectations that applied to the run.
func (r *Run) Checked() int {
	n := 0
	for i := range r.Expectations {
		if r.Expectations[i].Outcome != Skipped {
			n++
		}
	}
	return n
}

// idle reports whether the run is ok and had no expectation that applied.
func (r *Run) idle() bool { return r.History == nil && r.Outcome() == OK && r.Checked() == 0 }

// idle reports whether all runs of the case are, and no expectation applies to all runs together.
func (c *Case) idle() bool {
	return c.Err == nil && len(c.Runs) > 0 && !slices.ContainsFunc(c.Runs, func(r *Run) bool { return !r.idle() }) &&
		!slices.ContainsFunc(c.Expectations, func(e Expectation) bool { return e.Outcome != Skipped })
}

// Common returns what Unproven of each complete run of the case has.
func (c *Case) Common() []string {
	var common []string
	for i, r := range c.Runs {
		if i == 0 {
			common = slices.Clone(r.Unproven)
		} else if r.Err == nil {
			common = slices.DeleteFunc(common, func(text string) bool { return !slices.Contains(r.Unproven, text) })
		}
	}
	return common
}

// nothing is what a result says that would otherwise be ok alone.
const nothing = "nothing was checked"

// Worst returns the worst outcome of cases: Broken, Failed or OK.
func Worst(cases []Case) Outcome {
	worst := OK
	for i := range cases {
		if o := cases[i].Outcome(); o == Broken || o == Failed && worst == OK {
			worst = o
		}
	}
	return worst
}

// Outcome returns the worst outcome of the runs and expectations of the case: Broken, Failed or OK.
func (c *Case) Outcome() Outcome {
	if c.Err != nil {
		return Broken
	}
	result := worst(c.Expectations)
	for _, r := range c.Runs {
		switch r.Outcome() {
		case Broken:
			return Broken
		case Failed:
			result = Failed
		}
	}
	return result
}

func worst(all []Expectation) Outcome {
	for i := range all {
		if all[i].Outcome == Failed {
			return Failed
		}
	}
	return OK
}

// CountProbeErrors returns the number of probe runs that ended with an error. The kubelet ignores
// them.
func CountProbeErrors(records []trace.Record) int {
	return trace.Count(records,
		func(r *trace.Record) bool { return r.Kind == trace.ProbeExecuted && r.Result == trace.Error })
}

// CountRestarts returns the number of restarts of containers.
func CountRestarts(records []trace.Record) int {
	return trace.Count(records,
		func(r *trace.Record) bool { return r.Kind == trace.ContainerStarted && r.Instance > 0 })
}
