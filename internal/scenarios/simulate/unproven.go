package simulate

import (
	"fmt"
	"slices"
	"strconv"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/value"
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

// applied reports whether a rule of a container decided something in a pod of a workload. The first
// rule has number 1.
func (r *Result) applied(w *plan.Workload, container string, number int) bool {
	for d := range r.decided {
		if d.container == container && d.number == strconv.Itoa(number) && r.of(w, d.pod) {
			return true
		}
	}
	return false
}

// unproven says which expectations held and prove nothing, and which rules never applied, in the
// order of the file.
func (r *Result) unproven() []string {
	var list []string
	for _, w := range r.Plan.Scenario.Workloads {
		for i := range w.Spec.Containers {
			c := &w.Spec.Containers[i]
			for n := range c.Behavior {
				if rule := &c.Behavior[n]; !r.applied(w, c.Name, n+1) && rule.Handler == nil &&
					!r.delaysStop(w, c.Name, rule) {
					why := r.whyUnused(w, c.Name, rule)
					if by := program.HiddenBy(w.Containers[c.Name].Program.Rules, n); by >= 0 {
						why = "a later rule wins whenever it could, " + printable.Text(c.Behavior[by].Text)
					}
					list = append(list, fmt.Sprintf("%s, which never applied: %s", rule.Says(), why))
				}
			}
		}
	}
	for i := range r.Results {
		if e := &r.Results[i]; e.Outcome == report.OK && e.Empty != "" {
			list = append(list, fmt.Sprintf("%s:%d: %s held, but %s", printable.Text(e.Expect.File), e.Expect.Line,
				printable.Text(name(e.Expect)), e.Empty))
		}
	}
	return list
}

// whyUnused says why a rule never applied.
func (r *Result) whyUnused(w *plan.Workload, container string, rule *format.Rule) string {
	switch {
	case rule.Instance != nil && !r.has(w, container, trace.ContainerStarted, rule.Instance):
		return fmt.Sprintf("instance %s of %s did not run", rule.Instance, container)
	case rule.AfterSigterm != nil && !r.has(w, container, trace.ContainerStopping, rule.Instance):
		return container + " got no stop signal"
	case rule.At != nil && virtual.At(rule.At.Min) >= r.End:
		return fmt.Sprintf("it begins at %s, and the run ends at %s", value.Format(rule.At.Min),
			value.Format(r.End.Offset()))
	case rule.Chance != nil && r.Plan.Seed == nil:
		return "it has a chance, and the run has no seed"
	case rule.Since != nil && firstMatch(r.Plan, rule.Since, r.Records) == 0:
		return "its since did not occur"
	case rule.Exit != nil:
		return "no instance of " + container + " ran until then, or a later rule decides"
	}
	return "nothing asked for its answer while it held, or a later rule answered"
}

// delaysStop reports whether a rule about the exit, or the listener, after a stop signal got one:
// its exit may be later than SIGKILL or the end of the run.
func (r *Result) delaysStop(w *plan.Workload, container string, rule *format.Rule) bool {
	return rule.AfterSigterm != nil && (rule.Exit != nil || rule.Refuse) && r.has(w, container, trace.ContainerStopping,
		rule.Instance)
}

// has reports whether the run has a record of a kind about a container of a workload, and about one
// of these instances unless nil.
func (r *Result) has(w *plan.Workload, container string, kind trace.Kind, instances *value.IntRange) bool {
	return slices.ContainsFunc(r.Records, func(rec trace.Record) bool {
		return rec.Kind == kind && rec.Container == container && (instances == nil ||
			instances.Contains(rec.Instance)) && r.of(w, rec.Pod)
	})
}

// of reports whether a pod is a replica of a workload.
func (r *Result) of(w *plan.Workload, pod string) bool {
	for i := range w.Replicas {
		if w.Key(i) == pod {
			return true
		}
	}
	return w.Owns(pod)
}
