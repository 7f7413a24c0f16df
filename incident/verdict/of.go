package verdict

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"probesim.dev/incident"
	"probesim.dev/trace"
)

// Of returns the verdicts of a recording.
func Of(rec *incident.Recording) *Report {
	report := &Report{}
	logShowsProbes := slices.ContainsFunc(rec.Facts, func(f *incident.Fact) bool { return f.Kind == incident.ProbeRun && f.Result == trace.Failure })
	restarted := kubeletRestarted(rec)
	for _, p := range rec.Pods {
		if len(p.Facts) == 0 {
			continue
		}
		list := ofPod(p, logShowsProbes)
		if restarted[p] && len(list) == 0 {
			list = []Verdict{restartOfKubelet(p)}
		}
		if len(list) == 0 {
			report.Quiet = append(report.Quiet, p)
		}
		report.Verdicts = append(report.Verdicts, list...)
	}
	if len(report.Verdicts) == 0 {
		report.Verdicts = []Verdict{nothing(rec)}
	}
	report.Verdicts = nameUnnamed(report.Verdicts)
	slices.SortStableFunc(report.Verdicts, func(a, b Verdict) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(a.Sure.rank(), b.Sure.rank()), cmp.Compare(min(len(b.Class), 1), min(len(a.Class), 1)), cmp.Compare(b.Restarts, a.Restarts))
	})
	return report
}

// nameUnnamed gives a verdict on events that name no pod to the only pod whose rows or objects show the same cause.
func nameUnnamed(list []Verdict) []Verdict {
	for i, v := range list {
		if v.Pod == nil || !v.Pod.Unnamed {
			continue
		}
		named := -1
		for j, o := range list {
			if o.Pod != nil && !o.Pod.Unnamed && o.Cause == v.Cause {
				if named >= 0 {
					return list
				}
				named = j
			}
		}
		if named >= 0 {
			v.Pod, v.Container = list[named].Pod, cmp.Or(v.Container, list[named].Container)
			v.Restarts = max(v.Restarts, list[named].Restarts)
			list[i] = v
			return slices.Delete(list, named, named+1)
		}
	}
	return list
}

// weight orders verdicts: a pod that is ready now has less trouble.
func (v *Verdict) weight() int {
	weight := v.Cause.weight()
	if v.readyNow && v.Sure == Open && weight > 1 {
		return 1
	}
	return weight
}

// nothing is the verdict on a recording without trouble, or without facts.
func nothing(rec *incident.Recording) Verdict {
	r := certain(Nothing)
	switch {
	case len(rec.Facts) == 0:
		r = certain(NoFacts).open()
	case !slices.ContainsFunc(rec.Pods, func(p *incident.Pod) bool { return len(p.Facts) > 0 && !allReady(p) }):
		r.saying(allWell)
	case slices.ContainsFunc(rec.Facts, func(f *incident.Fact) bool { return f.Kind == incident.Event && f.Reason == "Started" }):
		r.saying(noTrouble).likely() // a probe or an exit would have left events
	default:
		r.saying(noTrouble).open()
	}
	e := &evidence{pod: &incident.Pod{Unnamed: true}, restarts: -1}
	e.of = e
	v := write(e, r)
	v.Pod = nil
	return v
}

// allReady reports whether facts say that all containers of a pod are ready, or that it has completed.
func allReady(p *incident.Pod) bool {
	all := collect(p, false)
	return !slices.ContainsFunc(all, func(e *evidence) bool {
		return completed(e) == nil && (e.ready == nil || !*e.ready) && !e.init && (e != e.of || len(all) == 1)
	})
}

// rank orders the degrees.
func (s Sure) rank() int { return slices.Index([]Sure{Certain, Likely, Open}, s) }

// weight orders the causes by the trouble that they are.
func (c Cause) weight() int {
	switch c {
	case Nothing, NoFacts:
		return 0
	case Waiting, Removed:
		return 1
	case NotReady, ReadinessGate, Failing:
		return 2
	}
	return 3
}

// ofPod returns the verdicts on a pod: on its containers in trouble, and on the pod if the facts about trouble name no container.
func ofPod(p *incident.Pod, logShowsProbes bool) []Verdict {
	all := collect(p, logShowsProbes)
	pod := all[0].of
	var list, quiet []Verdict
	keep := func(e *evidence) {
		r := judge(e)
		switch {
		case r == nil:
		case r.cause.weight() == 0:
			quiet = append(quiet, write(e, r))
		default:
			list = append(list, write(e, r))
		}
	}
	for _, e := range all {
		if e != pod {
			keep(e)
		}
	}
	if len(list) == 0 || len(pod.failures) > 0 || pod.kills() > 0 || len(pod.ends) > 0 {
		keep(pod)
	}
	if gate := openGate(p); len(list) == 0 && gate != nil {
		list = append(list, write(pod, gate))
	}
	if len(list) == 0 {
		return quiet[:min(len(quiet), 1)]
	}
	return onePodCause(list)
}

// onePodCause leaves one verdict of those that are about the whole pod, such as its removal, if nothing else is wrong with it.
func onePodCause(list []Verdict) []Verdict {
	seen := map[Cause]bool{}
	return slices.DeleteFunc(list, func(v Verdict) bool {
		switch v.Cause {
		case Removed, Node, Waiting, Sandbox, Volume, Unschedulable:
			again := seen[v.Cause]
			seen[v.Cause] = true
			return again
		}
		return false
	})
}

// openGate: all containers are ready, and the pod is not. Only its readiness gates make it so (GeneratePodReadyCondition in
// pkg/kubelet/status/generate.go at v1.37.0).
func openGate(p *incident.Pod) *ruling {
	values := map[string]*incident.Fact{}
	gate := ""
	for _, f := range slices.Backward(p.Facts) {
		if gates, has := strings.CutPrefix(f.Message, "readiness gates "); has && f.Kind == incident.Row {
			set, all, _ := strings.Cut(gates, "/")
			ready, containers, _ := strings.Cut(f.Value, "/")
			if set == all || ready != containers {
				break
			}
			r := certain(ReadinessGate, f)
			r.what = "a condition"
			return r
		}
	}
	for _, f := range p.Facts {
		if f.Kind != incident.Condition {
			continue
		}
		values[f.Reason] = f
		if strings.Contains(f.Reason, "/") && f.Value != "True" {
			gate = f.Reason
		}
	}
	ready, containers := values["Ready"], values["ContainersReady"]
	if ready == nil || ready.Value != "False" {
		return nil
	}
	m := gateInMessage.FindStringSubmatch(ready.Message)
	if m == nil && (containers == nil || containers.Value != "True") {
		return nil
	}
	if p.Object != nil && len(p.Object.Spec.ReadinessGates) > 0 && gate == "" {
		gate = string(p.Object.Spec.ReadinessGates[0].ConditionType)
	}
	if m != nil {
		gate = m[1]
	}
	r := certain(ReadinessGate, ready)
	if r.what = "a condition"; gate != "" {
		r.what = "the condition " + gate
	}
	return r
}

var gateInMessage = regexp.MustCompile(`readiness gate "([^"]+)"`)

// kubeletRestarted returns the pods whose readiness a new kubelet has forgotten, and found again at once, if there are several: their result
// is empty, and ready a moment later.
func kubeletRestarted(rec *incident.Recording) map[*incident.Pod]bool {
	empty := map[*incident.Pod]*incident.Fact{}
	found := map[*incident.Pod]bool{}
	for _, f := range rec.Facts {
		if f.Kind != incident.ProbeSync || f.Probe != trace.Readiness {
			continue
		}
		if was := empty[f.Pod]; f.Value == "ready" && was != nil && f.When.At.Sub(was.When.At) < 50*time.Millisecond {
			found[f.Pod] = true
		}
		if f.Value == "" {
			empty[f.Pod] = f
		}
	}
	if len(found) < 2 {
		return nil
	}
	return found
}

func restartOfKubelet(p *incident.Pod) Verdict {
	e := collect(p, true)[0].of
	i := slices.IndexFunc(p.Facts, func(f *incident.Fact) bool { return f.Kind == incident.ProbeSync && f.Value == "" })
	return write(e, certain(Node, p.Facts[i]).likely().saying(kubeletNew))
}
