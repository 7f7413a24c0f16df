package simulate

import (
	"fmt"
	"slices"
	"strconv"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// decision names a rule that decided something.
type decision struct{ pod, container, number string }

// use notes that a rule decided something.
func (r *Result) use(rec *trace.Record) {
	if r.decided == nil {
		r.decided = map[decision]bool{}
	}
	r.decided[decision{rec.Pod, rec.Container, rec.Message}] = true
}

// used returns the rules that decided something.
func (r *Result) used() map[*format.Rule]bool {
	rules := map[*format.Rule]bool{}
	for d := range r.decided {
		if number, err := strconv.Atoi(d.number); err == nil {
			rules[r.Plan.Rule(d.pod, d.container, number)] = true
		}
	}
	return rules
}

// unproven says which expectations held and prove nothing, and which rules never applied, in the order of the file.
func (r *Result) unproven() []string {
	var list []string
	used := r.used()
	for _, w := range r.Plan.Scenario.Workloads {
		for i := range w.Spec.Containers {
			c := &w.Spec.Containers[i]
			for n := range c.Behavior {
				if rule := &c.Behavior[n]; !used[rule] && rule.Handler == nil {
					list = append(list, fmt.Sprintf("%s, which never applied: %s", rule.Says(), r.whyUnused(w, c.Name, rule)))
				}
			}
		}
	}
	for i := range r.Results {
		if e := &r.Results[i]; e.Outcome == expect.Held && e.Empty != "" {
			list = append(list, fmt.Sprintf("%s:%d: %s held, but %s", printable.Text(e.Expect.File), e.Expect.Line, printable.Text(name(e.Expect)), e.Empty))
		}
	}
	return list
}

// whyUnused says why a rule never applied.
func (r *Result) whyUnused(w *plan.Workload, container string, rule *format.Rule) string {
	has := func(kind trace.Kind, matches func(*trace.Record) bool) bool {
		return slices.ContainsFunc(r.Records, func(rec trace.Record) bool {
			return rec.Kind == kind && rec.Container == container && r.of(w, rec.Pod) && matches(&rec)
		})
	}
	any := func(*trace.Record) bool { return true }
	switch {
	case rule.Instance != nil && !has(trace.ContainerStarted, func(rec *trace.Record) bool { return rule.Instance.Contains(rec.Instance) }):
		return fmt.Sprintf("instance %s of %s did not run", rule.Instance, container)
	case rule.AfterSigterm != nil && !has(trace.ContainerStopping, any):
		return container + " got no stop signal"
	case rule.At != nil && virtual.At(rule.At.Min) >= r.End:
		return fmt.Sprintf("it begins at %s, and the run ends at %s", value.Format(rule.At.Min), value.Format(r.End.Offset()))
	case rule.Chance != nil && r.Plan.Seed == nil:
		return "it has a chance, and the run has no seed"
	case rule.Since != nil && firstMatch(r.Plan, rule.Since, r.Records) == 0:
		return "its since did not occur"
	}
	return "nothing asked for its answer while it held, or a later rule answered"
}

// of reports whether a pod is a replica of a workload.
func (r *Result) of(w *plan.Workload, pod string) bool {
	for i := range w.Replicas {
		if w.Key(i) == pod {
			return true
		}
	}
	return false
}
