package drive

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// take executes the action of step i and reports whether it had an effect.
func (d *Driver) take(i int, step *format.Step) bool {
	d.taken = i + 1
	defer func() { d.taken = 0 }()
	action := step.Actions()[0]
	name := action.Name
	switch a := action.Value.(type) {
	case *format.Delete:
		return d.delete(a)
	case *format.Kill:
		return d.kill(a)
	case *format.SetDelays:
		d.changeDelays(a, i)
	case *format.PatchPod:
		return d.change(action, step.ActionText, func(_ *plan.PlannedPod, namespace, name string) error {
			if a.Status != nil {
				return d.world.PatchPodStatus(namespace, name, a.JSON())
			}
			return d.world.PatchPod(namespace, name, a.JSON())
		})
	case *format.Debug:
		return d.change(action, step.ActionText, func(p *plan.PlannedPod, namespace, name string) error {
			return d.world.AddEphemeralContainer(namespace, name, *a.Container.DeepCopy(),
				p.Ephemeral[a.Container.Name])
		})
	case *format.Resize:
		return d.change(action, step.ActionText, func(_ *plan.PlannedPod, namespace, name string) error {
			return d.world.ResizePod(namespace, name, a.JSON())
		})
	case *format.SetManifest:
		return d.changeManifest(a, step.ActionText)
	case *format.RemoveManifest:
		return d.removeManifest(a)
	case *format.Evict:
		return d.eachPod(a.Pod,
			func(p *plan.PlannedPod) bool { return d.world.EvictPod(p.Pod.Namespace, p.Pod.Name) == nil })
	case *format.RestartKubelet:
		return d.stopKubelet(a.Downtime, restartDowntime, i, func(virtual.Time) {})
	case *format.RebootNode:
		return d.stopKubelet(a.Downtime, rebootDowntime, i, func(back virtual.Time) {
			d.note(name, "")
			d.world.PowerOff(back)
		})
	case *format.ShutdownNode:
		return d.world.ShutDown()
	case *format.APIDown:
		d.outage(i, a.For, name, func() { d.world.SetAPIDown(d.outages[name] > 0) })
	case *format.RuntimeDown:
		d.outage(i, a.For, runtimeOutage+a.Condition, d.setRuntimeHealth)
	case *format.RegistryDown:
		d.outage(i, a.For, registryOutage, d.setRuntimeHealth)
	case *format.FailCall:
		d.failCalls(a, i)
		return false // until a call fails
	case *format.Rollout:
		return d.rollOut(step)
	case *format.Scale:
		return d.patchWorkload(a.Workload, a.JSON())
	case *format.StepClock:
		d.note(name, step.ActionText) // before its consequences
		d.world.StepClock(a.By.Time())
	}
	return true
}

func (d *Driver) delete(a *format.Delete) bool {
	return d.eachPod(a.Pod, func(p *plan.PlannedPod) bool {
		return d.hasObject(p) && d.check(d.world.DeletePod(p.Pod.Namespace, p.Pod.Name, a.GracePeriodSeconds))
	})
}

// setManifest writes a manifest of a static pod.
func (d *Driver) setManifest(p *plan.PlannedPod, manifest *v1.Pod, text string) bool {
	static := admission.Static(manifest)
	p.Manifest, p.Pod, p.Program.UID = manifest, static, string(static.UID)
	key := static.Namespace + "/" + static.Name
	d.world.Record(trace.Record{Kind: trace.Step, Pod: key, Reason: "setManifest", Message: text})
	d.written[key] = true
	return d.check(d.world.SetManifest(static.DeepCopy(), p.Program))
}

func (d *Driver) changeManifest(a *format.SetManifest, text string) bool {
	done := false
	for _, key := range d.plan.Scenario.PodKeys(a.Pod, d.seen) {
		p := d.pods[key]
		if d.now < p.At {
			continue // the scenario has not written the first manifest yet
		}
		patched, err := admission.Merge(p.Manifest, a.JSON())
		if d.check(err) && d.setManifest(p, patched, text) {
			done = true
		}
	}
	return done
}

func (d *Driver) removeManifest(a *format.RemoveManifest) bool {
	done := false
	for _, key := range d.plan.Scenario.PodKeys(a.Pod, d.seen) {
		if p := d.pods[key]; d.written[key] {
			d.world.Record(trace.Record{Kind: trace.Step, Pod: key, Reason: "removeManifest"})
			delete(d.written, key)
			done = d.check(d.world.RemoveManifest(p.Pod.Namespace, p.Pod.Name)) || done
		}
	}
	return done
}

// kill kills the container, or each container of a range, in each of the pods.
func (d *Driver) kill(k *format.Kill) bool {
	return d.eachPod(k.Pod, func(p *plan.PlannedPod) bool {
		kill := fakeruntime.Kill{PodUID: string(p.Pod.UID), Container: k.Container, Reason: k.ReasonOr(),
			Remove: k.Remove, Sigterm: k.IsSigterm()}
		if k.Container == "" {
			kill.Container = p.Pod.Spec.Containers[0].Name
		}
		killed := false
		for _, kill.Container = range format.NamesOf(kill.Container) {
			killed = d.world.KillContainer(kill) || killed
		}
		return killed
	})
}

// change changes pods through the API, with a record of a step for each.
func (d *Driver) change(a format.Action, text string,
	change func(p *plan.PlannedPod, namespace, name string) error) bool {
	return d.eachPod(a.Target, func(p *plan.PlannedPod) bool {
		patch, is := a.Value.(*format.PatchPod)
		if !d.hasObject(p) || is && d.refuses(patch, p) {
			return false
		}
		namespace, name := p.Pod.Namespace, p.Pod.Name
		d.world.Record(trace.Record{Kind: trace.Step, Pod: namespace + "/" + name, Reason: a.Name, Message: text})
		return d.check(change(p, namespace, name))
	})
}

// Downtimes of the kubelet if a step does not set one: for a restart of the kubelet, and of the
// node.
const (
	restartDowntime = 3 * time.Second
	rebootDowntime  = time.Minute
)

// stopKubelet stops the kubelet, calls more with the time of the next start, and schedules the
// start. If the kubelet is not running, it only returns false.
func (d *Driver) stopKubelet(downtime *value.Draw, usual time.Duration, i int, more func(back virtual.Time)) bool {
	if !d.world.StopKubelet() {
		return false
	}
	back := d.now.Add(usual)
	if downtime != nil {
		back = d.now.Add(d.plan.Draw(*downtime, "step for", i))
	}
	more(back)
	d.world.At(back, d.startKubelet)
	return true
}

// startKubelet starts the kubelet. While the runtime is down, the kubelet waits for it.
func (d *Driver) startKubelet() {
	d.stopped = d.outages[runtimeOutage] > 0
	if !d.stopped {
		d.world.StartKubelet()
	}
}

// changeDelays changes the delays and restores them when the time is over. If several such steps
// overlap, the last one wins.
func (d *Driver) changeDelays(s *format.SetDelays, i int) {
	d.during(i, s.For, func() {
		d.delays = append(d.delays, s)
		d.setDelays()
	}, func() {
		d.delays = slices.DeleteFunc(d.delays, func(other *format.SetDelays) bool { return other == s })
		d.setDelays()
	})
}

// setDelays passes the delays in effect to the world.
func (d *Driver) setDelays() {
	var all []fakeruntime.Delays
	for _, s := range d.delays {
		all = append(all, s.Delays.Compile())
	}
	d.world.SetDelays(all...)
}

// Keys of outages. A condition is appended to that of the runtime; without one, calls fail.
const (
	runtimeOutage  = "runtime "
	registryOutage = "registry"
)

// outage starts an outage of a kind and ends it after a time. Outages of one kind can overlap; set
// is called when the first begins and when the last ends.
func (d *Driver) outage(i int, span *value.Draw, what string, set func()) {
	d.during(i, span, func() {
		if d.outages[what]++; d.outages[what] == 1 {
			set()
		}
	}, func() {
		if d.outages[what]--; d.outages[what] == 0 {
			set()
		}
	})
}

// setRuntimeHealth passes the health of the runtime to the world, and starts a kubelet that waits
// for the runtime.
func (d *Driver) setRuntimeHealth() {
	down := d.outages[runtimeOutage] > 0
	d.world.SetRuntimeHealth(fakeruntime.Health{
		Down:            down,
		RuntimeNotReady: d.outages[runtimeOutage+fakeruntime.RuntimeReady] > 0,
		NetworkNotReady: d.outages[runtimeOutage+fakeruntime.NetworkReady] > 0,
		RegistryDown:    d.outages[registryOutage] > 0,
	})
	if d.stopped && !down {
		d.startKubelet()
	}
}

// failCalls makes calls fail. The step is taken when the first of them fails.
func (d *Driver) failCalls(a *format.FailCall, i int) {
	fault := fakeruntime.Fault{
		Method: fakeruntime.CallNamed(a.Call), Count: 1, Done: a.Effect == format.EffectDone, Message: a.Error,
		Failed: func() { d.steps[i].done = true },
	}
	if a.Count != nil {
		fault.Count = *a.Count
	}
	if a.Pod != "" {
		fault.Pods = d.plan.Scenario.Selects(a.Pod)
	}
	if a.Container != "" {
		fault.Containers = format.NamesOf(a.Container)
	}
	d.world.FailCalls(fault)
}

// eachPod calls do for each pod that a name matches and that the API server has or whose manifest
// is written, and reports whether any call returned true.
func (d *Driver) eachPod(name string, do func(*plan.PlannedPod) bool) bool {
	done := false
	for _, key := range d.plan.Scenario.PodKeys(name, d.seen) {
		if (d.present[key] || d.written[key]) && do(d.pods[key]) {
			done = true
		}
	}
	return done
}

// refuses reports whether the API server refuses a patch because it changes probes of a pod that
// terminates or has terminated.
func (d *Driver) refuses(p *format.PatchPod, pod *plan.PlannedPod) bool {
	known, _ := d.plan.Profile()
	return known.MutableContainerProbes && d.ending[pod.Pod.Namespace+"/"+pod.Pod.Name] && p.ChangesProbes()
}

// hasObject reports whether the API server has a pod, or the mirror pod of a static pod.
func (d *Driver) hasObject(p *plan.PlannedPod) bool { return d.present[p.Pod.Namespace+"/"+p.Pod.Name] }

// note adds a record of a step to the trace and returns its number.
func (d *Driver) note(action, message string) int64 {
	return d.world.Record(trace.Record{Kind: trace.Step, Reason: action, Message: message})
}

// during calls begin now and end after a time, with a record of step i for each. Without a time it
// never calls end.
func (d *Driver) during(i int, span *value.Draw, begin func(), end func()) {
	step := d.plan.Scenario.Spec.Steps[i]
	action := step.Actions()[0].Name
	cause := d.note(action, step.ActionText)
	begin()
	if span != nil {
		d.world.At(d.now.Add(d.plan.Draw(*span, "step for", i)), func() {
			d.world.Record(trace.Record{Kind: trace.Step, Cause: cause, Reason: action, Message: trace.StepOver})
			end()
		})
	}
}
