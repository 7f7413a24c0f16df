// Package report makes of a trace what people and CI systems read: a timeline, the events as kubectl
// describe lists them, the outcome of expectations, JUnit and JSON. It only reads traces: whatever
// wrote one, the simulator or the real kubelet, is drawn alike.
package report

import (
	"probesim.dev/report/why"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Options say how text is written. The zero value is 80 columns of Unicode without colour and the
// whole run.
type Options struct {
	Width  int  // columns of the terminal; 0 is 80, less than 40 is 40
	Color  bool // ANSI colours
	ASCII  bool // nothing but ASCII in what is drawn
	Indent int  // blanks before each line of expectations

	// From and To are the part of a run that the timeline shows; a zero To is the end of the run.
	From, To virtual.Time
}

func (o Options) width() int {
	if o.Width == 0 {
		return 80
	}
	return max(o.Width, 40)
}

// Case is a scenario with one version of Kubernetes: one run, or one for each seed.
type Case struct {
	Scenario    string
	Description string
	File        string // of the scenario, with the line it begins on
	Line        int
	Kubernetes  string // version, such as v1.37.0
	Runs        []*Run
	// Expectations are those that are about all runs together: one of them is enough.
	Expectations []Expectation
}

// Run is one run of a scenario and what became of its expectations.
type Run struct {
	Scenario    string
	Description string
	Kubernetes  string // version, such as v1.37.0
	Seed        *int64 // nil: nothing was drawn
	Until       virtual.Time
	Replay      string // command that runs this again

	Records      []trace.Record // may be dropped once they were drawn
	Steps        int            // number of observable records, of which Hash is
	Restarts     int            // of containers; see CountRestarts
	Hash         string
	Expectations []Expectation
	// Err says why the run ended early: a limit was hit, or the program is at fault.
	Err error
	// Why tells what led to what, for the page of a run; nil if nobody asks.
	Why *why.Run
	// Output is text that goes with the run: in JUnit its timeline, in a page its section.
	Output string
}

// Outcome is what became of a run, a case or an expectation.
type Outcome string

const (
	OK      Outcome = "ok"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped" // of an expectation
	Unmet   Outcome = "unmet"   // of an expectation for which one run is enough: not this one
	Broken  Outcome = "error"   // of a run that ended early, or its case
)

// Expectation is an expectation of the scenario and its outcome.
type Expectation struct {
	Name    string // as the scenario has it
	File    string
	Line    int
	Column  int
	Outcome Outcome
	Why     string // of a skipped one
	// Failures are the ways in which it failed, one for each pod or match of since, the first few of them;
	// More is the number of the others.
	Failures []Failure
	More     int
}

// Failure says how an expectation failed.
type Failure struct {
	Expected string
	Got      string
	Around   []Line
}

// Line is a record near the moment of a failure. Mark is set for the records that are the failure.
type Line struct {
	Record *trace.Record
	Mark   bool
}

// Outcome returns Broken, Failed or OK.
func (r *Run) Outcome() Outcome {
	if r.Err != nil {
		return Broken
	}
	return worst(r.Expectations)
}

// Outcome returns the worst outcome of the case's runs and expectations: Broken, Failed or OK.
func (c *Case) Outcome() Outcome {
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

// CountRestarts returns the number of starts of an instance other than the first.
func CountRestarts(records []trace.Record) int {
	n := 0
	for i := range records {
		if records[i].Kind == trace.ContainerStarted && records[i].Instance > 0 {
			n++
		}
	}
	return n
}
