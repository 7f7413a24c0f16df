package rollout

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// programs returns how the containers of a pod behave. The pods before the change have been up for
// long.
func (r *run) programs(pod *v1.Pod, healthy fakeruntime.Pod, isNew bool) fakeruntime.Pod {
	all := fakeruntime.Pod{Delays: healthy.Delays, Containers: map[string]fakeruntime.ContainerConfig{}}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		config := healthy.Containers[c.Name]
		if takes, known := r.o.App.Start.Of[c.Name]; known && isNew {
			rule := starting(c, takes)
			if !podutil.IsRestartableInitContainer(c) {
				rule = fakeruntime.Rule{Clock: fakeruntime.AfterStart, From: *rule.For, Exit: &fakeruntime.Exit{}}
			}
			config.Program.Rules = append([]fakeruntime.Rule{rule}, config.Program.Rules...)
		}
		all.Containers[c.Name] = config
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		config := healthy.Containers[c.Name]
		rules := append([]fakeruntime.Rule{}, config.Program.Rules...)
		if start := r.o.App.Start.In(c.Name, r.ordinary(c.Name)); isNew && start != nil && start.Max > 0 {
			rules = append(rules, starting(c, *start))
			// as with an image that cannot be pulled
			if start.Min >= Never && c.ReadinessProbe == nil && c.StartupProbe == nil {
				config.Delays.CreateContainer = exactly(Never)
			}
		}
		config.Program.Rules = append(rules, r.stopping(c)...)
		all.Containers[c.Name] = config
	}
	return all
}

// draw returns a time in a range that the seed of the run and a name decide.
func (r *run) draw(name string, i value.Interval) time.Duration {
	return i.Min + time.Duration(r.fraction(name)*float64(i.Max-i.Min))
}

// fraction returns a number from 0 to 1 that the seed of the run and a name decide.
func (r *run) fraction(name string) float64 {
	h := fnv.New64a()
	h.Write([]byte(strconv.FormatInt(r.seed, 10) + " " + name))
	x := h.Sum64() // the low bits of a hash of similar names are more even than the high ones
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// ordinary reports whether a container is no sidecar, in the Deployment after the change or else
// before it.
func (r *run) ordinary(container string) bool {
	c := serving(r.spec, container)
	if c == nil {
		c = serving(r.workload.old, container)
	}
	return r.serves(container) || !workloads.IsProxy(c)
}

const postStart = "postStart hook"

// starting is the rule of a program that is not up yet: all probes and a request of its postStart
// hook fail, and it does not listen. Each instance draws how long it takes.
func starting(c *v1.Container, takes value.Interval) fakeruntime.Rule {
	down := program.Down(c, (*value.Draw)(&takes))
	spec := &format.Container{Name: c.Name, Behavior: []format.Rule{down}}
	script := program.Script{Spec: spec, Container: c, Listens: true}
	config, _ := script.Compile(strict.Encode(spec, &strict.Collector{}))
	return config.Program.Rules[0]
}

// stopping returns the rules of a program that gets SIGTERM.
func (r *run) stopping(c *v1.Container) (rules []fakeruntime.Rule) {
	if stop := r.stop(c.Name); stop != nil {
		exit := &fakeruntime.Exit{Never: stop.Min >= Never}
		rules = append(rules, fakeruntime.Rule{Clock: fakeruntime.AfterSigterm, From: fakeruntime.Draw(*stop),
			Exit: exit})
	}
	if refuse := r.o.App.refuse(c.Name); r.serves(c.Name) && refuse.Min < Never {
		from := fakeruntime.Draw(refuse)
		rules = append(rules, fakeruntime.Rule{Clock: fakeruntime.AfterSigterm, From: from, Refuse: true})
	}
	return rules
}

// stop returns how long a container takes from SIGTERM to its exit, or nil if nobody knows.
func (w *workload) stopOf(o *Options, container string, ordinary bool) *value.Interval {
	known := o.App.Stop.In(container, ordinary)
	if known == nil && w.serves(container) {
		return &value.Interval{Min: DefaultStop, Max: DefaultStop}
	}
	return known
}

func (r *run) stop(container string) *value.Interval {
	return r.stopOf(r.o, container, r.ordinary(container))
}

func exactly(d time.Duration) *fakeruntime.Draw {
	draw := fakeruntime.Exactly(d)
	return &draw
}

// healthy returns the programs of the pods before and after the change, without what the options
// say about them.
func (w *workload) healthy(o *Options) (map[bool]fakeruntime.Pod, error) {
	programs := map[bool]fakeruntime.Pod{}
	for i, d := range []*appsv1.Deployment{w.old, w.spec} {
		one := d.DeepCopy()
		one.Spec.Replicas = new(int32(1)) // a Deployment without pods can be scaled
		admitted, err := workloads.Admit(one, o.Profile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.title(), err)
		}
		if programs[i == 1], err = o.withEvents(one, admitted.Programs); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

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
