package draft

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// The usual program and traffic of a draft of a rollout.
const (
	rolloutAt    = 2 * time.Minute
	rolloutStart = 10 * time.Second
	rolloutRate  = 100
	rolloutPods  = 100 // a draft has no more of them
)

// rollout is the draft of a rollout of a Deployment.
type rollout struct {
	Options
	workload *manifests.Workload
	service  string // that selects its pods; empty: made from their labels
	inline   []byte
	duration time.Duration
}

// WriteRollout returns a scenario file in which the first Deployment of a manifest is restarted
// under traffic, with the requests that are lost, and warnings. The errors are those of Write.
func WriteRollout(o Options) (text []byte, warnings []string, err error) {
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
	r := &rollout{Options: o, workload: &m.Workloads[i], duration: 5 * time.Minute}
	if r.workload.Replicas == 0 {
		return nil, nil, fmt.Errorf("%s has no replicas, so a rollout has nothing to replace", r.workload.Name)
	}
	if o.File == "" {
		if r.inline, err = Workloads(o.Data); err != nil {
			return nil, nil, err
		}
	} else {
		r.service = serviceOf(m, r.workload)
	}
	for _, r.duration = range []time.Duration{5 * time.Minute, 20 * time.Minute, 2 * time.Hour} {
		lost, complete, err := r.try()
		if err != nil {
			return nil, nil, err
		}
		if text = r.text(&lost, complete); complete {
			break
		}
	}
	for _, w := range m.Workloads {
		if w.Name != r.workload.Name || w.Kind != r.workload.Kind {
			warnings = append(warnings, w.Kind+" "+w.Name+" is not in the scenario, which is about the Deployment "+
				r.workload.Name)
		}
	}
	return text, append(warnings, r.workload.Notes...), nil
}

// serviceOf returns the name of the first Service that selects the pods of a workload, or "".
func serviceOf(m *manifests.File, w *manifests.Workload) string {
	for _, s := range m.Services {
		if s.Selects(w) {
			return s.Name
		}
	}
	return ""
}

// try runs the draft, and returns how many requests are lost and whether the rollout completes.
func (r *rollout) try() (lost float64, complete bool, err error) {
	name := r.Manifest
	if r.File != "" {
		name = "draft.yaml"
	}
	loaded, err := scenarios.LoadBytes(name, r.text(nil, false), func(string) ([]byte, error) { return r.Data, nil })
	if err != nil {
		return 0, false, err
	}
	s := loaded[0]
	plan := s.Plan(profile.Newest().Version, nil) // without a seed
	run := simulate.Run(context.Background(), plan, simulate.Options{})
	if run.Err != nil {
		return 0, false, run.Err
	}
	if len(run.Results) == 0 {
		return 0, false, errors.New("the draft has no expectations")
	}
	return expect.Lost(run.Records, s.Services[0].Key(), run.End), run.Results[0].Outcome == expect.Held, nil
}

// text returns the scenario file. Without lost it is that of the first run.
func (r *rollout) text(lost *float64, complete bool) []byte {
	w := &writer{}
	w.WriteString(modeline)
	w.line("# Created by: %s", printable.Text(r.Command))
	w.line("# Run it:     %s", printable.Text(r.Run))
	w.line("# Fields:     probesim explain spec.steps.rollout")
	w.Write(r.inline)
	w.line("apiVersion: %s", format.APIVersion)
	w.line("kind: Scenario")
	w.line("metadata:")
	w.line("  name: %s", quoted(strings.Trim(r.workload.Name, "-.")+"-rollout"))
	w.line("spec:")
	w.line("  duration: %s", value.Format(r.duration))
	w.line("  controlPlane: {set: typical}")
	w.line("  pods:")
	w.line("  - name: %s", quoted(r.workload.Ref))
	w.line("    kind: Deployment")
	if r.File != "" {
		w.line("    file: %s", quoted(r.File))
	}
	if r.workload.Replicas > rolloutPods {
		w.line("    replicas: 10    # instead of %d: how many requests are lost hardly depends on it",
			r.workload.Replicas)
	}
	w.line("    containers:")
	for i := range r.workload.Pod.Spec.Containers {
		r.container(w, &r.workload.Pod.Spec.Containers[i])
	}
	service := r.service
	w.line("  services:")
	if service == "" {
		service = r.workload.Ref
		w.line("  - name: %s    # made from the labels of the pods", quoted(service))
	} else {
		w.line("  - {name: %s, file: %s}", quoted(service), quoted(r.File))
	}
	w.line("    # Behind a load balancer: routers: [{kind: alb-ip}], or [{name: lb, add: 5s..20s, remove: 10s..40s}].")
	w.line("  traffic:")
	w.line("  - {service: %s, rps: %d, latency: 10ms..50ms}    # new connections only", quoted(service), rolloutRate)
	w.line("  steps:")
	w.line("  - {at: %s, rollout: {workload: %s, restart: true}}", value.Format(rolloutAt), quoted(r.workload.Ref))
	w.line("  expect:")
	if lost == nil || complete {
		w.line("  - {within: %s.., workload: %s, becomes: {complete: true}}", value.Format(rolloutAt),
			quoted(r.workload.Ref))
	} else {
		w.line("  # The rollout does not complete in this run.")
		w.line("  - {always: %s.., workload: %s, status: {complete: false}}", value.Format(rolloutAt+time.Second),
			quoted(r.workload.Ref))
	}
	if lost != nil && *lost >= 0.5 {
		w.line("  # This run loses %.0f requests: probesim rollout says what helps.", *lost)
	}
	if lost != nil {
		w.line("  - {within: .., service: %s, lost: ..%.0f}", quoted(service), math.Ceil(*lost))
	}
	return []byte(w.String())
}

// container writes the usual program of a container: a start, and a stop that refuses new
// connections at once.
func (r *rollout) container(w *writer, c *v1.Container) {
	w.line("    - name: %s", quoted(c.Name))
	w.line("      behavior:")
	if len(probes(c)) > 0 {
		w.line("      - {for: %s, probes: down}    # its start", value.Format(rolloutStart))
	}
	w.line("      - {afterSigterm: 0s, refuse: true}    # new connections are refused as soon as the program gets " +
		"SIGTERM")
	w.line("      - {afterSigterm: 100ms, exit: 0}")
}
