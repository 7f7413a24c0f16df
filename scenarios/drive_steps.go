package scenarios

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver/admission"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// defaultKillReason is the reason of the kernel's OOM killer.
const defaultKillReason = "OOMKilled"

func (d *Delete) do(driver *Driver, _ int) bool {
	return driver.eachPod(d.Pod, func(p *PlannedPod) bool {
		return driver.hasObject(p) && driver.check(driver.world.DeletePod(p.Pod.Namespace, p.Pod.Name, d.GracePeriodSeconds))
	})
}

// setManifest writes a manifest of a static pod.
func (d *Driver) setManifest(p *PlannedPod, manifest *v1.Pod, text string) bool {
	static := admission.Static(manifest)
	p.Manifest, p.Pod, p.Program.UID = manifest, static, string(static.UID)
	key := static.Namespace + "/" + static.Name
	d.world.Record(trace.Record{Kind: trace.Step, Pod: key, Reason: (*SetManifest).name(nil), Message: text})
	d.written[key] = true
	return d.check(d.world.SetManifest(static.DeepCopy(), p.Program))
}

func (s *SetManifest) do(d *Driver, _ int) bool {
	done := false
	for _, key := range d.plan.Scenario.PodKeys(s.Pod) {
		p := d.pods[key]
		if d.now < p.At {
			continue // the scenario has not written the first manifest yet
		}
		patched, err := admission.Merge(p.Manifest, s.patch())
		if d.check(err) && d.setManifest(p, patched, s.text) {
			done = true
		}
	}
	return done
}

func (r *RemoveManifest) do(d *Driver, _ int) bool {
	done := false
	for _, key := range d.plan.Scenario.PodKeys(r.Pod) {
		if p := d.pods[key]; d.written[key] {
			d.world.Record(trace.Record{Kind: trace.Step, Pod: key, Reason: r.name()})
			delete(d.written, key)
			done = d.check(d.world.RemoveManifest(p.Pod.Namespace, p.Pod.Name)) || done
		}
	}
	return done
}

// sigterm is the signal that a program can handle.
const sigterm = "SIGTERM"

// do kills the container, or each container of a range, in each of the pods.
func (k *Kill) do(d *Driver, i int) bool {
	return d.eachPod(k.Pod, func(p *PlannedPod) bool {
		kill := fakeruntime.Kill{PodUID: string(p.Pod.UID), Container: k.Container, Reason: cmp.Or(k.Reason, defaultKillReason), Remove: k.Remove, Sigterm: k.Signal == sigterm}
		if k.Container == "" {
			kill.Container = p.Pod.Spec.Containers[0].Name
		}
		killed := false
		for _, kill.Container = range namesOf(kill.Container) {
			killed = d.world.KillContainer(kill) || killed
		}
		return killed
	})
}

func (e *Evict) do(d *Driver, _ int) bool {
	return d.eachPod(e.Pod, func(p *PlannedPod) bool { return d.world.EvictPod(p.Pod.Namespace, p.Pod.Name) == nil })
}

func (p *PatchPod) do(d *Driver, _ int) bool {
	return d.eachPod(p.Pod, func(pod *PlannedPod) bool {
		if !d.hasObject(pod) || d.refuses(p, pod) {
			return false
		}
		d.world.Record(trace.Record{Kind: trace.Step, Pod: pod.Pod.Namespace + "/" + pod.Pod.Name, Reason: p.name(), Message: p.text})
		if p.Status != nil {
			return d.check(d.world.PatchPodStatus(pod.Pod.Namespace, pod.Pod.Name, p.json()))
		}
		return d.check(d.world.PatchPod(pod.Pod.Namespace, pod.Pod.Name, p.json()))
	})
}

// Downtimes of the kubelet if a step does not set one: for a restart of the kubelet, and of the node.
const (
	restartDowntime = 3 * time.Second
	rebootDowntime  = time.Minute
)

func (r *RestartKubelet) do(d *Driver, i int) bool {
	return d.stopKubelet(r.Downtime, restartDowntime, i, func(virtual.Time) {})
}

func (r *RebootNode) do(d *Driver, i int) bool {
	return d.stopKubelet(r.Downtime, rebootDowntime, i, func(back virtual.Time) {
		d.note(r, "")
		d.world.PowerOff(back)
	})
}

// stopKubelet stops the kubelet, calls more with the time of the next start, and schedules the start. If the
// kubelet is not running, it only returns false.
func (d *Driver) stopKubelet(downtime *value.Draw, usual time.Duration, i int, more func(back virtual.Time)) bool {
	if !d.world.StopKubelet() {
		return false
	}
	back := d.now.Add(usual)
	if downtime != nil {
		back = d.now.Add(draw(*downtime, d.plan.Seed, "step for", i))
	}
	more(back)
	d.later(back, (*Driver).startKubelet)
	return true
}

func (*ShutdownNode) do(d *Driver, _ int) bool { return d.world.ShutDown() }

// startKubelet starts the kubelet. While the runtime is down, the kubelet waits for it.
func (d *Driver) startKubelet() {
	d.stopped = d.outages[runtimeOutage] > 0
	if !d.stopped {
		d.world.StartKubelet()
	}
}

// do changes the delays and restores them when the time is over. If several such steps overlap, the last one
// wins.
func (s *SetDelays) do(d *Driver, i int) bool {
	d.during(s, s.text, s.For, i, func() {
		d.delays = append(d.delays, s)
		d.setDelays()
	}, func(d *Driver) {
		d.delays = slices.DeleteFunc(d.delays, func(other *SetDelays) bool { return other == s })
		d.setDelays()
	})
	return true
}

// setDelays passes the delays in effect to the world.
func (d *Driver) setDelays() {
	var all []fakeruntime.Delays
	for _, s := range d.delays {
		all = append(all, s.Delays.compile())
	}
	d.world.SetDelays(all...)
}

func (a *APIDown) do(d *Driver, i int) bool {
	d.outage(a, a.text, a.For, i, a.name(), func(d *Driver) { d.world.SetAPIDown(d.outages[a.name()] > 0) })
	return true
}

func (r *RuntimeDown) do(d *Driver, i int) bool {
	d.outage(r, r.text, r.For, i, runtimeOutage+r.Condition, (*Driver).setRuntimeHealth)
	return true
}

func (r *RegistryDown) do(d *Driver, i int) bool {
	d.outage(r, r.text, r.For, i, r.name(), (*Driver).setRuntimeHealth)
	return true
}

// runtimeOutage is the key of outages of the runtime. A condition is appended; without one, calls fail.
const runtimeOutage = "runtime "

// outage starts an outage of a kind and ends it after a time. Outages of one kind can overlap; set is called when
// the first begins and when the last ends.
func (d *Driver) outage(a action, text string, span *value.Draw, i int, what string, set func(*Driver)) {
	d.during(a, text, span, i, func() {
		if d.outages[what]++; d.outages[what] == 1 {
			set(d)
		}
	}, func(d *Driver) {
		if d.outages[what]--; d.outages[what] == 0 {
			set(d)
		}
	})
}

// setRuntimeHealth passes the health of the runtime to the world, and starts a kubelet that waits for the
// runtime.
func (d *Driver) setRuntimeHealth() {
	down := d.outages[runtimeOutage] > 0
	d.world.SetRuntimeHealth(fakeruntime.Health{
		Down:            down,
		RuntimeNotReady: d.outages[runtimeOutage+fakeruntime.RuntimeReady] > 0,
		NetworkNotReady: d.outages[runtimeOutage+fakeruntime.NetworkReady] > 0,
		RegistryDown:    d.outages[(*RegistryDown).name(nil)] > 0,
	})
	if d.stopped && !down {
		d.startKubelet()
	}
}

// do records the step before its consequences.
func (s *StepClock) do(d *Driver, _ int) bool {
	d.note(s, s.text)
	d.world.StepClock(s.By.Time())
	return true
}

// eachPod calls do for each pod that a name matches and that the API server has or whose manifest is written, and reports whether
// any call returned true.
func (d *Driver) eachPod(name string, do func(*PlannedPod) bool) bool {
	done := false
	for _, key := range d.plan.Scenario.PodKeys(name) {
		if (d.present[key] || d.written[key]) && do(d.pods[key]) {
			done = true
		}
	}
	return done
}

// refuses reports whether the API server refuses a patch because it changes probes of a pod that terminates or has terminated.
func (d *Driver) refuses(p *PatchPod, pod *PlannedPod) bool {
	known, _ := d.plan.Profile()
	return known.MutableContainerProbes && d.ending[pod.Pod.Namespace+"/"+pod.Pod.Name] && p.changesProbes()
}

// hasObject reports whether the API server has a pod, or the mirror pod of a static pod.
func (d *Driver) hasObject(p *PlannedPod) bool { return d.present[p.Pod.Namespace+"/"+p.Pod.Name] }

// note adds a record of a step to the trace and returns its number.
func (d *Driver) note(a action, message string) int64 {
	return d.world.Record(trace.Record{Kind: trace.Step, Reason: a.name(), Message: message})
}

// during calls begin now and end after a time, with a record for each. Without a time it never calls end.
func (d *Driver) during(a action, text string, span *value.Draw, i int, begin func(), end func(*Driver)) {
	step := d.note(a, text)
	begin()
	if span != nil {
		d.later(d.now.Add(draw(*span, d.plan.Seed, "step for", i)), func(d *Driver) {
			d.world.Record(trace.Record{Kind: trace.Step, Cause: step, Reason: a.name(), Message: trace.StepOver})
			end(d)
		})
	}
}
