package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/value"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// fix is a change of the settings that may help against a finding. chooseFixes applies it before it
// is given.
type fix struct {
	text   string
	apply  func(*v1.PodSpec, *v1.Container)
	allows time.Duration // the start that a startup probe to add is for; 0 for other changes
}

// and returns a change that makes two changes. The text leaves out a probe that it has named.
func (x fix) and(y fix) fix {
	text := y.text
	if probe, field, _ := strings.Cut(y.text, "."); strings.HasPrefix(x.text, probe+".") {
		text = field
	}
	return fix{text: x.text + ", " + text, apply: func(pod *v1.PodSpec, c *v1.Container) {
		x.apply(pod, c)
		y.apply(pod, c)
	}}
}

// change returns a change of a field of a probe.
func change(p trace.Probe, field string, from, to int32) fix {
	text := fmt.Sprintf("%sProbe.%s %d -> %d", p, field, from, to)
	return fix{text: text, apply: func(_ *v1.PodSpec, c *v1.Container) {
		probe := prober.ProbeOf(c, p)
		*map[string]*int32{"initialDelaySeconds": &probe.InitialDelaySeconds, "periodSeconds": &probe.PeriodSeconds,
			"timeoutSeconds": &probe.TimeoutSeconds, "successThreshold": &probe.SuccessThreshold,
			"failureThreshold": &probe.FailureThreshold}[field] = to
	}}
}

// withMargin returns the start that settings should allow for one of a known length: a fifth more,
// and at least a period.
func withMargin(start, period time.Duration) time.Duration { return start + max(start/5, period) }

// StartupLike returns a startup probe that asks what a liveness probe asks, up to every 5s: each
// start waits for its ticks. It has one failure.
func StartupLike(liveness *v1.Probe) *v1.Probe {
	p := liveness.DeepCopy()
	p.InitialDelaySeconds, p.FailureThreshold, p.TerminationGracePeriodSeconds = 0, 1, nil
	p.PeriodSeconds = min(5, max(2, p.PeriodSeconds))
	switch { // see execTimeout and longTimeout
	case p.Exec != nil:
		p.TimeoutSeconds = max(5, p.TimeoutSeconds)
		p.PeriodSeconds = p.TimeoutSeconds + 5
	case p.TimeoutSeconds >= p.PeriodSeconds:
		p.TimeoutSeconds = p.PeriodSeconds - 1
	}
	return p
}

// startupProbeFor returns a startup probe that always allows starts of some length.
func (r *result) startupProbeFor(longest time.Duration) fix {
	p, text := StartupLike(r.Probe(trace.Liveness)), ""
	if p.TimeoutSeconds > 1 {
		text = fmt.Sprintf(", timeout %ds", p.TimeoutSeconds)
	}
	every := time.Duration(p.PeriodSeconds) * time.Second
	p.FailureThreshold += periodsFor(withMargin(longest, every), every)
	return fix{allows: longest,
		text:  fmt.Sprintf("add a startup probe (every %ds, %d failures%s)", p.PeriodSeconds, p.FailureThreshold, text),
		apply: func(_ *v1.PodSpec, c *v1.Container) { c.StartupProbe = p.DeepCopy() }}
}

// raiseGrace returns a grace period of the pod that lasts some time.
func (r *result) raiseGrace(d time.Duration) []fix {
	to := int64(periodsFor(d, time.Second))
	text := fmt.Sprintf("terminationGracePeriodSeconds %d -> %d",
		*r.simulation.Pod.Spec.TerminationGracePeriodSeconds, to)
	return []fix{{text: text,
		apply: func(pod *v1.PodSpec, _ *v1.Container) { pod.TerminationGracePeriodSeconds = &to }}}
}

// chooseFixes sets the Fix of each finding to the first of its changes that helps, if need be with
// one for another finding, and Cost to what gets worse. A finding whose changes do not help has
// none. A container gets one startup probe: the one that allows the longest start.
func (r *result) chooseFixes() {
	var longest time.Duration
	for _, f := range r.findings {
		for _, x := range f.fixes {
			longest = max(longest, x.allows)
		}
	}
	var all []fix
	for i := range r.findings {
		for k, x := range r.findings[i].fixes {
			if x.allows > 0 {
				r.findings[i].fixes[k] = r.startupProbeFor(longest)
			}
		}
		all = append(all, r.findings[i].fixes...)
	}
	for i := range r.findings {
		f := &r.findings[i]
		candidates := slices.Clone(f.fixes)
		for _, x := range f.fixes {
			for _, other := range all {
				if !slices.ContainsFunc(f.fixes, func(own fix) bool { return own.text == other.text }) {
					candidates = append(candidates, x.and(other))
				}
			}
		}
		// a start that is killed is worse than what is left
		for _, less := range []bool{false, f.ID == StartKilled} {
			for _, x := range candidates {
				if f.Fix != "" {
					break
				}
				if cost, helps := r.try(f, x, less); helps {
					f.Fix, f.Cost = x.text, cost
				}
			}
		}
	}
}

// try applies a change. It helps if the finding ends, no requirement is missed that is met today,
// and nothing new is found, or with less only what is less severe. The cost are these, and the
// figures that get worse.
func (r *result) try(f *Finding, x fix, less bool) (cost string, helps bool) {
	after, err := r.with(x.apply)
	if err != nil {
		return "", false
	}
	var costs []string
	for _, o := range after.notIn(r) {
		if !less || o.Severity.AtLeast(f.Severity) {
			return "", false
		}
		costs = append(costs, fmt.Sprintf("%s (%s)", o.Summary, o.ID))
	}
	for _, o := range after.findings {
		if o.ID == f.ID && o.Field == f.Field {
			return "", false
		}
	}
	for _, q := range r.container.workload.terms.Of(r.container.spec.Name) {
		if len(after.rows[q.Row]) > 0 && !q.Holds(value.Seconds(q.Row.End(after.all(q.Row)))) &&
			q.Holds(value.Seconds(q.Row.End(r.all(q.Row)))) {
			return "", false
		}
	}
	for _, row := range rows {
		if r.repeats(row.id) && after.repeats(row.id) {
			continue
		}
		was, is := row.id.End(r.all(row.id)), row.id.End(after.all(row.id))
		if len(r.rows[row.id]) == 0 || len(after.rows[row.id]) == 0 || (is < was) != row.limit || !differ(was, is) {
			continue
		}
		costs = append(costs, row.id.Worse(value.Seconds(was), value.Seconds(is)))
	}
	return strings.Join(costs, "; "), true
}

// with returns the result of the container with a change.
func (r *result) with(change func(*v1.PodSpec, *v1.Container)) (*result, error) {
	w := *r.container.workload
	workload := *w.Workload
	workload.Pod, w.Workload = w.Pod.DeepCopy(), &workload
	c := &container{workload: &w, spec: podutil.Find(workload.Pod, r.container.spec.Name), path: r.container.path}
	change(&workload.Pod.Spec, c.spec)
	after := &result{profile: r.profile, options: r.options, container: c}
	return after, after.compute()
}

// notIn returns the findings that another result does not have.
func (r *result) notIn(before *result) (list []Finding) {
	for _, o := range r.findings {
		if !slices.ContainsFunc(before.findings, o.Same) {
			list = append(list, o)
		}
	}
	return list
}

// NewFindings returns what check finds in a container of a workload with a change, and not without
// it, in the newest of the versions.
func (o *Options) NewFindings(w *manifests.Workload, terms *Terms, name string,
	change func(*v1.PodSpec, *v1.Container)) ([]Finding, error) {
	r := &result{profile: o.Profiles[len(o.Profiles)-1], options: o,
		container: &container{workload: &workload{Workload: w, terms: terms}, spec: podutil.Find(w.Pod, name)}}
	if err := r.compute(); err != nil {
		return nil, err
	}
	after, err := r.with(change)
	if err != nil {
		return nil, err
	}
	return after.notIn(r), nil
}

// app returns a word for the flag --app of 'probesim run' about the container.
func (r *result) app(format string, args ...any) string {
	return r.container.workload.Ref + "/" + r.container.spec.Name + "=" + fmt.Sprintf(format, args...)
}

// appRestart returns the words for a start that takes some time after the instance before has
// ended.
func (r *result) appRestart(which bounds.StartCase, start time.Duration) []string {
	app := []string{r.app("start %s", value.Format(start.Truncate(tenth)))}
	at := value.Format(r.warm())
	switch which {
	case bounds.AfterLivenessKill:
		return append(app, r.app("hang %s at %s", seconds(r.UntilStopped(bounds.Hang).Greatest), at))
	case bounds.AfterCrash:
		return append(app, r.app("exit 1 at %s", at))
	case bounds.AfterCrashWhileStarting:
		return append(app, r.app("exit 1 at 5s"))
	}
	return app
}

// appDeleted returns the words for the deletion of a pod whose program takes some time to exit.
func (r *result) appDeleted(stop time.Duration) []string {
	return []string{r.app("stop %s", seconds(stop)),
		r.container.workload.Ref + "=delete at " + value.Format(r.warm())}
}

// lasting returns a time in which something happens that takes some time at most, or a long one if
// it never does.
func lasting(atMost time.Duration) time.Duration {
	if atMost == bounds.Never {
		return time.Hour
	}
	return (atMost + time.Minute).Truncate(time.Minute)
}

// misfortunes are the words for what a row says that a program may have.
var misfortunes = map[RowID]string{Stall: "stall", Serving: "stall", Silence: "hang", ServingSilence: "hang",
	Errors: "down", ServingErrors: "down"}

// appMissing returns the words for the runs that show why the container does not meet a requirement
// on a row in some case: what the requirement allows happens to a program that is healthy
// otherwise.
func (r *result) appMissing(q Requirement, which string) []string {
	misfortune := func(name string, d time.Duration) []string {
		return []string{r.app("%s %s at %s", name, seconds(d), value.Format(r.warm()))}
	}
	answers := func(p trace.Probe) []string {
		return []string{r.app("%s ok in %s at %s", r.asked(p), seconds(q.Duration), value.Format(r.warm()))}
	}
	if word := misfortunes[q.Row]; word != "" && which == Failures {
		return misfortune("fail", q.Duration)
	} else if word != "" {
		return misfortune(word, q.Duration)
	}
	switch q.Row {
	case Start, Restart, Retry:
		return r.appRestart(bounds.StartCase(which), q.Duration)
	case Answer:
		if which == string(trace.Startup)+" probe" {
			return []string{r.app("startup ok in %s at 0s", seconds(q.Duration))}
		}
		return answers(trace.Liveness)
	case ServingAnswer:
		return answers(trace.Readiness)
	case Unready:
		return misfortune("down", lasting(r.all(Unready).Greatest))
	case HungUnready, Detect:
		return misfortune("hang", lasting(r.all(q.Row).Greatest))
	case Recover:
		app := misfortune("hang", r.UntilStopped(bounds.Hang).Greatest)
		if start := r.container.start(); start != nil {
			app = append(app, r.app("start %s", start))
		}
		grace := time.Duration(*r.simulation.Pod.Spec.TerminationGracePeriodSeconds) * time.Second
		return append(app, r.app("stop %s", seconds(lasting(grace)))) // it ignores SIGTERM
	}
	return nil // Ready: it is healthy
}
