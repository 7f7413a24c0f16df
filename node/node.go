// Package node is one simulated node, wired and ready to run: a kubelet, an API server, a container
// runtime whose containers follow scripts, on one virtual clock. It is what programs import.
//
//	n := node.New(node.Options{})
//	n.At(0, func() { n.AddPod(pod, fakeruntime.Pod{…}) })
//	err = n.RunUntil(10 * time.Minute)
//	n.Trace().Records()
//
// Times are virtual times since t=0. The kubelet starts before that, and its tickers are in phase with
// its start.
package node

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/apiserver"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/kubelet"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/limit"
	"probesim.dev/trace"
)

// DefaultUptime is the age of the kubelet at t=0 unless Options say otherwise. It is older than the
// usual probe periods, so that workers do not wait for a random part of their period, and t=0 is off
// its ticks.
const DefaultUptime = 150337 * time.Millisecond

// epoch is the wall time at which the kubelet starts: a whole second.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// DefaultLimits end runs that would not end by themselves in reasonable time: some hundred million events,
// a million of them without time passing, or a year.
var DefaultLimits = limit.Limits{Events: 500_000_000, Processes: 200_000, AtOneInstant: 1_000_000, Time: 365 * 24 * time.Hour}

// Options say what a node is like. The zero value is a node of the newest known version with default
// delays, on which nothing is drawn.
type Options struct {
	Profile profile.Profile // zero: profile.Newest
	Uptime  *time.Duration  // nil: DefaultUptime
	// Seed draws what is to be drawn, and the order of what happens at one instant. Nil: the middle of
	// every range, no chance comes up, the canonical order.
	Seed   *int64
	Delays fakeruntime.Delays
	Config kubeletconfig.Config
	Limits limit.Limits // zero: DefaultLimits
	// Chooser makes the choices instead of the seed.
	Chooser choose.Chooser
	// Trace takes the records; nil: a recorder of the node's own that keeps observable records in memory.
	Trace *trace.Recorder

	fullLists, everyTick bool // see kubelet.Options
}

// Node is a simulated node. It must be used from one goroutine.
type Node struct {
	sim     *sim.Sim
	trace   *trace.Recorder
	api     *apiserver.Server
	runtime *runtimeDriver
	choices *choose.Recorder
	options kubelet.Options
	kubelet *kubelet.Kubelet // nil while none runs, or one is about to
	group   *sim.Group       // of what the kubelet that runs has going on; nil while none does
	stopped int64            // step of the record of the kubelet's last end
}

// New returns a node whose kubelet starts when it is first run.
func New(o Options) *Node {
	if o.Profile == (profile.Profile{}) {
		o.Profile = profile.Newest()
	}
	uptime := DefaultUptime
	if o.Uptime != nil {
		uptime = *o.Uptime
	}
	if o.Limits == (limit.Limits{}) {
		o.Limits = DefaultLimits
	}
	if o.Trace == nil {
		o.Trace = &trace.Recorder{}
	}
	n := &Node{trace: o.Trace}
	n.sim = sim.New(sim.Options{Start: -uptime, Chooser: n.chooser(o), Limits: o.Limits})
	wall := func(t time.Duration) time.Time { return epoch.Add(t + uptime) }
	n.runtime = newRuntimeDriver(n.sim, fakeruntime.New(fakeruntime.Options{
		Seed: o.Seed, Delays: o.Delays, Record: o.Trace.Add, RecordCalls: o.Trace.Internal,
	}))
	n.api = apiserver.New(apiserver.Options{
		Sim: n.sim, Trace: o.Trace, Profile: o.Profile, Delays: n.runtime,
		Now: func() time.Time { return wall(n.sim.Now()) }, // of another machine
	})
	n.options = kubelet.Options{
		Sim: n.sim, Trace: o.Trace, Profile: o.Profile, Config: o.Config, Wall: wall, Runtime: n.runtime, API: n.api,
		Disk: kubelet.NewDisk(), FullLists: o.fullLists, EveryTick: o.everyTick,
		Now: func() time.Time { return wall(n.runtime.Wall(n.sim.Now())) },
	}
	n.startKubelet()
	return n
}

// chooser returns the policy of the run, which is recorded where internal records are kept.
func (n *Node) chooser(o Options) choose.Chooser {
	c := o.Chooser
	if c == nil && o.Seed != nil {
		c = choose.Seeded(*o.Seed)
	}
	if c != nil && o.Trace.Internal {
		n.choices = &choose.Recorder{Of: c}
		return n.choices
	}
	return c
}

// AddPod has the API server hand a pod to the kubelet now. API defaults must have been applied. In the
// program, answers to httpGet probes can be given by an http.Handler: see fakeruntime.Answer.
func (n *Node) AddPod(pod *v1.Pod, program fakeruntime.Pod) {
	n.runtime.AddPod(program)
	n.api.Create(pod)
}

// DeletePod deletes a pod through the API now: gracefully, in the given number of seconds or the
// pod's own; 0 forces. It does nothing if there is no such pod.
func (n *Node) DeletePod(namespace, name string, gracePeriodSeconds *int64) {
	n.api.Delete(namespace, name, gracePeriodSeconds)
}

// KillContainer ends a container with SIGKILL now, or removes one; see fakeruntime.Kill. It reports whether
// there was one.
func (n *Node) KillContainer(k fakeruntime.Kill) bool { return n.runtime.Kill(k) }

// PatchPod applies a strategic merge patch to a pod's metadata and spec through the API now, because of a record. It does
// nothing if there is no such pod, or if the patch is none.
func (n *Node) PatchPod(namespace, name string, patch []byte, cause int64) {
	n.api.Patch(namespace, name, patch, cause)
}

// PatchPodStatus applies a strategic merge patch to a pod's status through the API now, because of a record. It does
// nothing if there is no such pod.
func (n *Node) PatchPodStatus(namespace, name string, patch []byte, cause int64) {
	n.api.PatchPodStatus(namespace, name, patch, cause)
}

// EvictPod has the kubelet evict a pod now, as for want of memory. It reports whether there was one to evict.
func (n *Node) EvictPod(namespace, name string) bool {
	stored := n.api.Pod(namespace, name)
	if stored == nil || n.kubelet == nil {
		return false
	}
	pod := n.kubelet.Evictable(stored.UID)
	if pod == nil {
		return false
	}
	step := n.Record(trace.Record{Kind: trace.Step, Pod: namespace + "/" + name, Reason: "evict"})
	n.sim.In(n.group, func() { n.sim.Because(step, func() { n.kubelet.Evict(pod) }) })
	return true
}

// StopKubelet stops the kubelet now, as if it were killed: what it was about to do does not happen, and the runtime
// breaks off its calls. Containers go on. It reports whether the kubelet ran.
func (n *Node) StopKubelet() bool {
	if n.group == nil {
		return false
	}
	n.stopped = n.Record(trace.Record{Kind: trace.KubeletStopped})
	n.sim.End(n.group)
	n.api.Disconnect()
	n.runtime.Disconnect()
	n.kubelet, n.group = nil, nil
	return true
}

// StartKubelet starts the kubelet now, after StopKubelet. It knows what the API server and the runtime have.
func (n *Node) StartKubelet() {
	n.options.Cause = n.Record(trace.Record{Kind: trace.KubeletStarted, Cause: n.stopped})
	n.startKubelet()
}

func (n *Node) startKubelet() {
	n.group = &sim.Group{}
	n.sim.In(n.group, func() {
		if !n.options.Disk.PullUnderWay() {
			n.runKubelet()
			return
		}
		n.sim.Go("kubelet", func(p *sim.Proc) {
			n.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.ListImages})
			n.runKubelet()
		})
	})
}

func (n *Node) runKubelet() {
	n.kubelet = kubelet.New(n.options)
	n.kubelet.Start()
}

// ShutDown tells the kubelet now that the node is about to be shut down. It reports whether the kubelet listens.
func (n *Node) ShutDown() bool {
	if n.kubelet == nil || !n.kubelet.ListensForShutdown() {
		return false
	}
	step := n.Record(trace.Record{Kind: trace.Step, Reason: "shutdownNode"})
	n.sim.In(n.group, func() { n.sim.Because(step, n.kubelet.ShutDown) })
	return true
}

// PowerOff ends all containers and sandboxes now, because of a record, as when the node goes down; the kubelet must have
// been stopped. The runtime is started again at time back and finds then how things are; see fakeruntime.PowerOff.
func (n *Node) PowerOff(back time.Duration, cause int64) {
	n.runtime.PowerOff(n.sim.Now(), back, cause)
	n.runtime.arm()
}

// SetDelays has these delays hold from now on in place of all others, of several the last.
func (n *Node) SetDelays(d ...fakeruntime.Delays) { n.runtime.SetDelays(d...) }

// SetAPIDown has the kubelet reach the API server no longer from now on, or again. Calls under way break off, others fail
// at once, and what changes meanwhile the kubelet sees at the end. The other methods of the node still reach it.
func (n *Node) SetAPIDown(down bool) { n.api.SetDown(down) }

// SetRuntimeHealth has the container runtime be well or not from now on.
func (n *Node) SetRuntimeHealth(h fakeruntime.Health) {
	n.runtime.SetHealth(h)
}

// StepClock has the wall clock of the node jump now. Timers, virtual time and the API server go on as before; the kubelet
// and the runtime read the time from it.
func (n *Node) StepClock(by time.Duration) { n.runtime.StepClock(by) }

// Record adds a record about now to the trace and returns its step.
func (n *Node) Record(r trace.Record) int64 {
	r.T = n.sim.Now()
	return n.trace.Add(r)
}

// At calls do when the virtual time is t, or at this instant if that is past. Where calls to the runtime end at that
// instant one after the other, it comes after them.
func (n *Node) At(t time.Duration, do func()) {
	n.sim.At(t, "scenario", func() { n.runtime.afterCalls(do) })
}

// Observe calls f for each record of the trace as it is written.
func (n *Node) Observe(f func(*trace.Record)) { n.trace.Observe(f) }

// RunUntil lets time pass until t and everything of that instant happen. A *limit.Error says that
// the run was ended early.
func (n *Node) RunUntil(t time.Duration) error { return n.sim.RunUntil(t) }

// Now returns the virtual time.
func (n *Node) Now() time.Duration { return n.sim.Now() }

// Trace returns the recorder of the node.
func (n *Node) Trace() *trace.Recorder { return n.trace }

// Events returns how many events of the kernel the run took so far.
func (n *Node) Events() int64 { return n.sim.Events() }

// Close ends the node and frees what it holds.
func (n *Node) Close() { n.sim.Close() }
