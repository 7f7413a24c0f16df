package draft

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/scenarios/text"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
)

// rolloutAt is when the draft of a rollout restarts its Deployment.
const rolloutAt = 2 * time.Minute

// WriteRollout returns a scenario file in which the first Deployment of a manifest is restarted
// under traffic, with the requests that are lost, and warnings. The errors are those of Write.
func WriteRollout(o Options) (file []byte, warnings []string, err error) {
	m, err := manifests.Read(o.Manifest, o.Data)
	if err != nil {
		return nil, nil, err
	}
	if err := checkManifest(o, m); err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(m.Workloads, func(w manifests.Workload) bool { return w.Kind == "Deployment" })
	if i < 0 {
		return nil, nil, fmt.Errorf("no Deployment in %s: only Deployments are rolled out yet",
			printable.Text(o.Manifest))
	}
	of := &m.Workloads[i]
	if of.Replicas == 0 {
		return nil, nil, fmt.Errorf("%s has no replicas, so a rollout has nothing to replace", of.Name)
	}
	for _, duration := range []time.Duration{5 * time.Minute, 20 * time.Minute, 2 * time.Hour} {
		f, complete, err := o.rollOut(of, duration)
		if err != nil {
			return nil, nil, err
		}
		if file = f.Bytes(); complete {
			break
		}
	}
	for _, w := range m.Workloads {
		if w.Name != of.Name || w.Kind != of.Kind {
			warnings = append(warnings, w.Kind+" "+w.Name+" is not in the scenario, which is about the Deployment "+
				of.Name)
		}
	}
	return file, append(warnings, of.Notes...), nil
}

// rollOut returns the file of a rollout in a run of some duration, with what the run shows, and
// whether the rollout completes.
func (o *Options) rollOut(of *manifests.Workload, duration time.Duration) (f *text.File, complete bool, err error) {
	words := []string{"rollout at " + value.Format(rolloutAt)}
	if slices.ContainsFunc(of.Pod.Spec.Containers, func(c v1.Container) bool { return len(podutil.Probes(&c)) > 0 }) {
		words = append(words, "start 10s")
	}
	_, f, err = whatif.Scenario(whatif.Options{
		Manifest: o.Manifest, Data: o.Data, File: o.File, Words: words, Duration: duration, Serve: true,
		Only: func(w *manifests.Workload) bool { return w.Ref == of.Ref && w.Kind == of.Kind },
	})
	if err != nil {
		return nil, false, err
	}
	f.Comments, f.Name = o.comments("spec.steps.rollout"), cmp.Or(text.Name(of.Name+"-rollout"), "rollout")
	f.Lists[0].Lines = append(f.Lists[0].Lines,
		"# Behind a load balancer: add routers: [{kind: alb-ip}], or [{name: lb, add: 5s..20s, remove: 10s..40s}].")
	name := strict.Quoted(of.Ref)
	completes := fmt.Sprintf("- {within: %s.., workload: %s, becomes: {complete: true}}", value.Format(rolloutAt), name)
	f.Lists = append(f.Lists, text.List{Key: "expect", Lines: []string{completes}})
	s, err := o.load(f)
	if err != nil {
		return nil, false, err
	}
	plan := s.Plan(profile.Newest().Version, nil) // without a seed
	run := simulate.Run(context.Background(), plan, simulate.Options{})
	if run.Err != nil {
		return nil, false, run.Err
	}
	expected := &f.Lists[len(f.Lists)-1].Lines
	if complete = run.Results[0].Outcome == expect.Held; !complete {
		after := value.Format(rolloutAt + time.Second)
		never := fmt.Sprintf("- {always: %s.., workload: %s, status: {complete: false}}", after, name)
		*expected = []string{"# The rollout does not complete in this run.", never}
	}
	for _, service := range s.Services {
		lost := expect.Lost(run.Records, service.Key(), run.End)
		if lost >= 0.5 {
			hint := fmt.Sprintf("# This run loses %.0f requests: probesim rollout shows how to lose fewer.", lost)
			*expected = append(*expected, hint)
		}
		service := strict.Quoted(service.Spec.Name)
		*expected = append(*expected, fmt.Sprintf("- {within: .., service: %s, lost: ..%.0f}", service,
			math.Ceil(lost)))
	}
	return f, complete, nil
}
