package rollout

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
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
