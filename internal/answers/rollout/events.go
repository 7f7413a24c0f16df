package rollout

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// rulesOf returns the containers of a Deployment that other events are about, with their rules.
func (o *Options) rulesOf(d *appsv1.Deployment) (containers []format.Container) {
	pod := &v1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	pod.Namespace = d.Namespace
	of := &manifests.Workload{Kind: "Deployment", Name: d.Name, Pod: pod}
	for c := range podutil.Containers(&pod.Spec) {
		one := format.Container{Name: c.Name}
		for _, e := range o.App.Others {
			if rule, applies := e.Rule(of, c); applies {
				one.Behavior = append(one.Behavior, rule)
			}
		}
		if one.Behavior != nil {
			containers = append(containers, one)
		}
	}
	return containers
}

// withEvents returns the programs of a Deployment with other events. The clocks of its rules with
// at start at the change, which is the only moment of a run.
func (o *Options) withEvents(d *appsv1.Deployment, healthy fakeruntime.Pod) (fakeruntime.Pod, error) {
	containers := o.rulesOf(d)
	if containers == nil {
		return healthy, nil
	}
	planned, err := scenarios.CompileRules(d, containers, scenarios.CompileOptions{Profile: o.Profile})
	if err != nil {
		return healthy, err
	}
	program := planned[0].Program
	for _, name := range slices.Sorted(maps.Keys(program.Containers)) {
		for i := range program.Containers[name].Program.Rules {
			if rule := &program.Containers[name].Program.Rules[i]; rule.Clock == fakeruntime.AtScenario {
				rule.Clock, rule.Moment = fakeruntime.AtMoment, 0
			}
		}
	}
	return program, nil
}

// happen makes other events happen after the change.
func (r *run) happen() {
	if len(r.o.App.Others) > 0 {
		r.n.Occur(0)
	}
	for i, e := range r.o.App.Others {
		if !e.IsStep() || e.What == whatif.Deletion && e.Container != "" && !r.isNamed(e.Container) {
			continue
		}
		draw := func(what string, d value.Interval) time.Duration { return r.draw(fmt.Sprint(what, " ", i), d) }
		at := r.n.Now().Add(draw("event", value.Interval(*e.At)))
		if e.What == whatif.Deletion {
			r.n.At(at, r.deletePods)
			continue
		}
		down := func(is bool) func() { return func() { r.setDown(e.What, is) } }
		r.n.At(at, down(true))
		r.n.At(at.Add(draw("length", value.Interval(*e.Length))), down(false))
	}
}

func (r *run) isNamed(name string) bool {
	return name == r.spec.Name || name == r.spec.Namespace+"/"+r.spec.Name
}

// deletePods deletes all pods.
func (r *run) deletePods() {
	for _, pod := range slices.Sorted(maps.Keys(r.pods)) {
		namespace, name := format.SplitName(pod)
		_ = r.n.DeletePod(namespace, name, nil) // unless it is gone
	}
}

// setDown begins or ends an outage of a part of the node.
func (r *run) setDown(part string, down bool) {
	switch part {
	case whatif.Kubelet:
		if r.kubeletDown = down; down {
			r.n.StopKubelet()
		}
	case whatif.API:
		r.n.SetAPIDown(down)
	case whatif.Runtime:
		r.health.Down = down
	case whatif.Registry:
		r.health.RegistryDown = down
	}
	r.n.SetRuntimeHealth(r.health)
	if !down && !r.kubeletDown && !r.health.Down {
		r.n.StartKubelet() // which waits for the runtime
	}
}
