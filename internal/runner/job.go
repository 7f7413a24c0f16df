// Package runner makes the runs of many scenarios, in parallel and within a limit of memory, and writes what they show in order. It is
// the engine of the commands run, diff, why and others.
package runner

import (
	"fmt"

	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// Job is one run to simulate.
type Job struct {
	Plan   *scenarios.Plan
	From   virtual.Time // start of the timeline
	Until  virtual.Time
	Group  int    // the same for all runs of one scenario and version
	Runs   int    // number of runs of its group
	Replay string // command that repeats this run

	Title   string         // instead of the name of the scenario; empty: that name
	Notes   []string       // about the run, for its report
	Chooser choose.Chooser // makes the choices of the run; nil: the seed of the plan does

	surveyed *finished // results of an earlier run of this job; see output.survey
	chosen   bool      // the report shows this run, although it does not show all runs of its case
}

// Name describes the version and seed of the run.
func (j *Job) Name() string {
	if j.Plan.Seed == nil {
		return "the run of " + j.Plan.Version
	}
	return fmt.Sprintf("the run of %s with seed %d", j.Plan.Version, *j.Plan.Seed)
}

// failed returns the error of a run that did not complete.
func (j *Job) failed(err error) error {
	return fmt.Errorf("%s: %s %s: %w", j.Plan.Scenario.Pos, j.Plan.Scenario.Metadata.Name, j.Plan.Version, err)
}

// Interrupted is the error of work that ended early because its context was done. It says how much was done.
type Interrupted string

func (e Interrupted) Error() string { return "interrupted" + string(e) }
