package simulate

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/show/history"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/summary"
	"probesim.dev/internal/value"
	"probesim.dev/prober"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/trace"
)

// Report returns the report of a run. replay is the command that repeats the run.
func (r *Result) Report(replay string) *report.Run {
	run := &report.Run{
		Scenario:    r.Plan.Scenario.Metadata.Name,
		Description: r.Plan.Scenario.Spec.Description,
		Kubernetes:  r.Plan.Version,
		Seed:        r.Plan.Seed,
		Until:       r.End,
		Replay:      replay,
		Notes:       append(r.Plan.Notes(), r.probeNotes()...),
		Records:     r.Records,
		Steps:       trace.Count(r.Records, func(r *trace.Record) bool { return r.Kind.Observable() }),
		Restarts:    report.CountRestarts(r.Records),
		ProbeErrors: report.CountProbeErrors(r.Records),
		Pods:        r.measured(),
		Hash:        trace.Hash(r.Records),
		Err:         r.Err,
	}
	for _, w := range r.Windows {
		if rule := r.Plan.Rule(w.Pod, w.Container, w.Rule); rule != nil {
			run.Windows = append(run.Windows, history.Window{Window: w, Name: rule.Effect(), Says: rule.Says()})
		}
	}
	run.Total = summary.Total(run.Pods)
	if r.Err != nil && r.Err != ErrInterrupted {
		run.Err = fmt.Errorf("%w\nTo repeat this run: %s", r.Err, replay)
	}
	for _, step := range r.Unreached {
		run.Expectations = append(run.Expectations, r.unreachedStep(step))
	}
	run.Expectations = append(run.Expectations, Expectations(r.Results)...)
	if r.Err == nil {
		run.Unproven = r.unproven()
	}
	return run
}

// measured returns the numbers of the pods, the Deployments and the Services that get requests.
func (r *Result) measured() []summary.Pod {
	return slices.DeleteFunc(summary.Measure(r.Records, r.End), func(p summary.Pod) bool {
		return p.Object != nil && p.Object.Lost != nil &&
			!slices.ContainsFunc(r.Plan.Scenario.Spec.Traffic, func(t format.Traffic) bool {
				return p.Name == "Service "+r.Plan.Scenario.Service(t.Service).Key()
			})
	})
}

// probeNotes returns a note for each probe of a manifest that did not run, or that never came to a
// result. Scenarios have expectations instead, and an unknown port has a note of the plan.
func (r *Result) probeNotes() []string {
	if r.Plan.Scenario.Command == nil || r.Err != nil {
		return nil
	}
	type key struct {
		pod, container string
		probe          trace.Probe
	}
	last := map[key]*trace.Record{} // the last run without a result, or else a run with one
	for i := range r.Records {
		rec := &r.Records[i]
		if k := (key{rec.Pod, rec.Container, rec.Probe}); rec.Kind == trace.ProbeExecuted && (last[k] == nil ||
			last[k].Result == trace.Error) {
			last[k] = rec
		}
	}
	var notes []string
	for _, p := range r.Plan.Pods() {
		for c := range podutil.Containers(&p.Pod.Spec) {
			unknown := program.UnknownPorts(c)
			for _, probe := range trace.ProbeTypes {
				if prober.ProbeOf(c, probe) == nil {
					continue
				}
				rec := last[key{p.Pod.Namespace + "/" + p.Pod.Name, c.Name, probe}]
				of := fmt.Sprintf("the %s probe of %s in %s", probe, c.Name, p.Workload)
				switch {
				case slices.ContainsFunc(unknown,
					func(u program.UnknownPort) bool { return slices.Contains(u.Keys, string(probe)) }):
				case rec == nil:
					notes = append(notes, fmt.Sprintf("%s did not run within %s", of, value.Format(r.End.Offset()))+
						r.seed())
				case rec.Result == trace.Error:
					notes = append(notes, "each run of "+of+" ended with an error, which the kubelet ignores: "+
						rec.Message)
				}
			}
		}
	}
	return notes
}

// seed names the seed of the run, if it has one: the notes of a run stand for all runs of its
// scenario.
func (r *Result) seed() string {
	if r.Plan.Seed == nil {
		return ""
	}
	return fmt.Sprintf(" with seed %d", *r.Plan.Seed)
}

// Groups returns the pods of a plan as a summary groups them: the replicas of each workload, or of
// each of its ReplicaSets.
func Groups(plan *scenarios.Plan) []summary.Group {
	var groups []summary.Group
	for _, p := range plan.Pods() {
		name := p.Pod.Namespace + "/" + p.Workload
		if n := len(groups); n > 0 && p.Pod.Name != p.Workload && groups[n-1].Name == name &&
			groups[n-1].Pods[0] != name {
			groups[n-1].Pods = append(groups[n-1].Pods, p.Pod.Namespace+"/"+p.Pod.Name)
			continue
		}
		groups = append(groups, summary.Group{Name: name, Pods: []string{p.Pod.Namespace + "/" + p.Pod.Name},
			Init: initContainers(p.Pod)})
	}
	for _, w := range plan.Deployments() {
		for set := range w.Controlled.ReplicaSets {
			name := fmt.Sprintf("%s/%s-%d", w.Pod.Namespace, w.Manifest.Name, set+1)
			groups = append(groups, summary.Group{Name: name, Init: initContainers(w.Pod),
				Owns: plan.Scenario.Selects(name)})
		}
	}
	return groups
}

// initContainers returns the names of the init containers of a pod that run to completion.
func initContainers(pod *v1.Pod) []string {
	var names []string
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy == nil || *c.RestartPolicy != v1.ContainerRestartPolicyAlways {
			names = append(names, c.Name)
		}
	}
	return names
}

// unreachedStep reports a step that was not executed as a failed expectation.
func (r *Result) unreachedStep(u drive.Unreached) report.Expectation {
	e := report.Expectation{Name: "step " + u.Step.Text, File: u.Step.File, Line: u.Step.Line, Column: u.Step.Column}
	why, decided := expect.UnreachedStep(r.Plan, r.checked(), u)
	if decided {
		e.Outcome, e.Failures = report.Failed, []report.Failure{why}
	} else {
		e.Outcome, e.Why = report.Skipped, "the run was cut short at "+value.Format(r.End.Offset())
	}
	return e
}

// Expectations returns the report of the results of expectations.
func Expectations(results []expect.Result) []report.Expectation {
	list := make([]report.Expectation, len(results))
	for i, r := range results {
		list[i] = report.Expectation{Name: name(r.Expect), File: r.Expect.File, Line: r.Expect.Line,
			Column:  r.Expect.Column,
			Outcome: r.Outcome, Why: cmp.Or(r.Why, r.Empty), More: r.More}
		for _, f := range r.Failures {
			list[i].Failures = append(list[i].Failures, f.Failure)
		}
	}
	return list
}

func name(e *format.Expect) string {
	if e.Name != "" {
		return e.Name
	}
	return e.Text
}
