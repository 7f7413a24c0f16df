package expect

import (
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
)

// UnreachedStep says of a step that did not happen why it did not, with the records around the moment at
// which that was clear. It is false if a run that was cut short might yet have come to it.
func UnreachedStep(plan *scenarios.Plan, run Run, u scenarios.Unreached) (Failure, bool) {
	c := newChecker(plan, run)
	c.index = &index{records: run.Records} // around needs no more of it
	fail := failure{keys: plan.Scenario.PodKeys(u.Step.Target()), window: window{anchor: -1}, center: min(u.Due, c.run.End)}
	var got string
	switch {
	case u.Due == virtual.Max:
		fail.keys = plan.Scenario.PodKeys(u.Step.Since.Pod)
		got = "no " + momentWords(u.Step.Since) + " in the run, which the step waits for"
	case u.Due > c.run.End:
		got = "it was due at " + at(u.Due) + ", after the end of the run at " + at(c.run.End)
	default:
		got = "there was nothing to do it to at " + at(u.Due)
	}
	return Failure{Expected: "the step is done", Got: got, Around: c.around(&fail)}, u.Due <= c.run.End || !c.cut()
}
