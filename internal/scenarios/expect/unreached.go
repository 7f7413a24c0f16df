package expect

import (
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/scenarios"
	planned "probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
)

// UnreachedStep describes why a step was not executed, with the records around that time. It
// returns false if the run was cut short and could still have reached the step.
func UnreachedStep(plan *scenarios.Plan, run Run, u drive.Unreached) (Failure, bool) {
	c, _ := newChecker(plan, run, &index{records: run.Records}) // around needs only the records
	fail := failure{keys: plan.Scenario.PodKeys(u.Step.Actions()[0].Target, planned.Seen(run.Records)),
		window: window{anchor: -1}, center: min(u.Due, c.run.End)}
	var got string
	switch {
	case u.Due == virtual.Max:
		fail.keys = plan.Scenario.PodKeys(u.Step.Since.Pod, planned.Seen(run.Records))
		got = "the step waits for " + momentWords(u.Step.Since) + ", which did not occur"
	case u.Due > c.run.End:
		got = "the step was due at " + at(u.Due) + ", after the end of the run at " + at(c.run.End)
	default:
		got = "the step had nothing to act on at " + at(u.Due)
	}
	return Failure{Expected: "the step runs", Got: got, Around: c.around(&fail, nil)}, u.Due <= c.run.End || !c.cut()
}
