package simulate

import (
	"probesim.dev/internal/show/why"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// Why returns the causes of what happened in a run. It names the rules and steps of the plan, and
// follows since to the record that a rule or step waited for.
func (r *Result) Why() *why.Run {
	plan, records := r.Plan, r.Records
	run := why.New(records, r.Pods(), r.End)
	run.Rule = func(pod, container string, number int) why.Source {
		rule := plan.Rule(pod, container, number)
		if rule == nil {
			return why.Source{}
		}
		return why.Source{Says: rule.Says(), Since: firstMatch(plan, rule.Since, records)}
	}
	run.Lease = func(pod, container string) why.Lease {
		if l := plan.LeaseOf(pod, container); l != nil {
			return why.Lease{Name: l.Name, Free: l.Free()}
		}
		return why.Lease{}
	}
	run.Step = func(rec *trace.Record) why.Source { return stepOf(plan, rec, records) }
	return run
}

// firstMatch returns the number of the first record that matches a moment, or 0.
func firstMatch(plan *scenarios.Plan, m *match.Moment, records []trace.Record) int64 {
	if m == nil {
		return 0
	}
	var pods func(string) bool
	if m.Pod != "" {
		pods = plan.Scenario.Selects(m.Pod)
	}
	watcher := m.NewWatcher(pods)
	for i := range records {
		if watcher.Observe(&records[i]) {
			return records[i].Step
		}
	}
	return 0
}

// stepOf returns the step of the scenario that wrote a record: the first one that is due at its
// time and has its action and pod.
func stepOf(plan *scenarios.Plan, rec *trace.Record, records []trace.Record) why.Source {
	for i, step := range plan.Scenario.Spec.Steps {
		action := step.Actions()[0]
		if !writes(action.Name, rec) || rec.Pod != "" && !plan.Scenario.Selects(action.Target)(rec.Pod) {
			continue
		}
		if step.At != nil {
			if virtual.At(plan.Draw(*step.At, "step at", i)) == rec.T {
				return why.Source{Says: step.Says()}
			}
			continue
		}
		since := firstMatch(plan, step.Since, records)
		if since == 0 || since > rec.Step {
			continue
		}
		due := trace.ByStep(records, since).T
		if step.After != nil {
			due = due.Add(plan.Draw(*step.After, "step after", i))
		}
		if due == rec.T {
			return why.Source{Says: step.Says(), Since: since}
		}
	}
	return why.Source{}
}

// writes reports whether a step with an action writes a record of this kind.
func writes(action string, rec *trace.Record) bool {
	switch rec.Kind {
	case trace.PodDeleteRequested:
		return action == "delete"
	case trace.KubeletStopped:
		return action == "restartKubelet" || action == "rebootNode"
	}
	return rec.Kind == trace.Step && rec.Reason == action
}
