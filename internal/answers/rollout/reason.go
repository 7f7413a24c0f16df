package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"probesim.dev/internal/value"
)

func (r *Workload) verdict(s sample) {
	if r.Verdict = LosesNone; !s.lossless() {
		r.Verdict = Loses
	}
	stay := s.figures(func(o *outcome) float64 { return (o.gone - o.took).Seconds() }).Greatest
	most := s.figures(func(o *outcome) float64 { return float64(o.pods) }).Greatest
	if !s.all(func(o *outcome) bool { return !o.lingers }) {
		r.say("Old pods are still there %s after the change, and the figures end: up to %.0f pods at once.",
			value.Format(limit), most)
	} else if stay > 10 {
		r.say("When the rollout is complete, old pods are there for up to %s more: up to %.0f pods at once.",
			Format(RowTakes, stay), most)
	}
	if first := s.firstDeadline(); first > 0 {
		r.Verdict = MissesDeadline
		r.say("kubectl rollout status fails %s after the change, and the rollout goes on.",
			Format(RowTakes, first.Seconds()))
		wait := s.figures(func(o *outcome) float64 { return o.standing.Seconds() }).Greatest
		r.Fix = fmt.Sprintf("progressDeadlineSeconds: %d, as the runs wait up to %s for progress",
			60*(1+int((wait+30)/60)), Format(RowTakes, wait))
	}
	worst := slices.MaxFunc(s, func(a, b outcome) int { return cmp.Compare(a.restarts, b.restarts) })
	if worst.restarts > 0 {
		r.restarts(&worst, fmt.Sprintf("up to %d times", worst.restarts))
	}
}

// restarts says what restarts the containers of the new pods, and what helps if a probe or a hook
// does.
func (r *Workload) restarts(o *outcome, often string) {
	switch {
	case o.killed == "":
		r.say("Containers of the new pods restart %s.", often)
	case strings.HasPrefix(o.killed, postStart):
		r.say("The %s kills the program before it is up, %s.", o.killed, often)
		r.Fix = "a hook that waits until the program is up: its request fails before"
	default:
		r.say("The %s kills the program before it is up, %s.", o.killed, often)
		r.Fix = "add a startup probe that gives the program the time to start: 'probesim check' has its settings"
	}
}

// say adds a sentence to the reason.
func (r *Workload) say(format string, args ...any) {
	r.Reason = strings.TrimSpace(r.Reason + " " + fmt.Sprintf(format, args...))
}

func (r *Workload) neverReady(s sample) {
	r.Verdict = NeverReady
	r.say("The pods before the change are not all available within %s.", value.Format(settling))
	if s[0].unready != "" {
		r.say("The last probe that failed: %s.", s[0].unready)
	}
	r.Fix = "see 'probesim check', which says what is wrong with the probes"
}

// neverCompletes says what the rollout waits for in the first run that does not complete.
func (r *Workload) neverCompletes(w *workload, options *Options, s sample) {
	r.Verdict = NeverCompletes
	var o *outcome
	for i := range s {
		if s[i].took == 0 {
			if r.Incomplete++; o == nil {
				o = &s[i]
			}
		}
	}
	switch {
	case o.restarts > 0 && !options.App.neverStarts():
		r.restarts(o, "again and again")
	case o.unready != "":
		r.say("The new pods do not become Ready. The last probe that failed: %s.", o.unready)
	default:
		r.say("The new pods do not become available.")
	}
	scales, replicas := options.Change.Kind == Scale, r.Replicas
	if scales {
		replicas = options.Change.Scale
	}
	switch {
	case !scales && r.MaxUnavailable == 0 && r.Strategy == string(appsv1.RollingUpdateDeploymentStrategyType):
		r.say("The Deployment may not stop an old pod before (maxUnavailable 0), so the old ones go on to serve.")
	case o.ready == 0 && o.last == 0:
		r.say("No pod is Ready.")
	case o.ready == 0:
		r.say("At times no pod is Ready.")
	default:
		r.say("At least %d of %d pods are Ready all the time.", o.ready, replicas)
	}
	if o.deadline > 0 {
		r.say("progressDeadlineSeconds (%ds) is over %s after the change.", *w.spec.Spec.ProgressDeadlineSeconds,
			Format(RowTakes, o.deadline.Seconds()))
	} else if scales {
		r.say("progressDeadlineSeconds does not count while a Deployment is scaled: kubectl rollout status waits for " +
			"ever.")
	} else {
		r.say("The run ends %s after the change.", value.Format(limit))
	}
}
