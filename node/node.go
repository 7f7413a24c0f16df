// Package node simulates one Kubernetes node on a virtual clock: a kubelet, an API server, and a
// container runtime whose containers run scripted programs. It is the Go API of the simulator.
//
// A node does nothing by itself. You add pods and other changes with [Node.At], let virtual time
// pass with [Node.RunUntil], and read what happened from [Node.Trace]:
//
//	n := node.New(node.Options{})
//	defer n.Close()
//	n.At(0, func() {
//		if err := n.AddPod(pod, fakeruntime.Pod{}); err != nil {
//			log.Fatal(err)
//		}
//	})
//	if err := n.RunUntil(virtual.At(10 * time.Minute)); err != nil {
//		log.Fatal(err)
//	}
//	for r := range n.Trace().All() {
//		fmt.Println(r.T, r.Kind, r.Pod, r.Container)
//	}
//
// # Time
//
// An instant is a [virtual.Time]: virtual.At(d) is the instant d after t=0. An hour of virtual time
// takes milliseconds. The kubelet starts [Options.Uptime] before t=0, and its tickers are in phase
// with that start. Real time has no effect on a run. Use a node from one goroutine; it returns an
// error, or panics if a method has none, when it notices another one.
//
// The node calls your functions and handlers while RunUntil runs, and waits for them. They cannot
// let virtual time pass: RunUntil and Close are errors there. A function of [Node.At] can call all
// other methods; a handler or an observer can only schedule changes with At. If one of them panics,
// ends its goroutine, or does not respond in time, RunUntil returns an error with its frames, and
// the node cannot run further.
//
// # Determinism
//
// Two runs with equal Options and equal calls write equal traces, byte for byte. Some outcomes in
// the real kubelet are nondeterministic, such as the order of events at one instant or the jitter
// of back-offs. A run takes the canonical outcomes, or those that a seed ([Options.Seed]) or a
// chooser ([Options.Chooser]) picks.
//
// # Changes
//
// Methods such as [Node.AddPod], [Node.PatchPod] and [Node.StopKubelet] act at the current virtual
// time. Call them in a function that you pass to [Node.At]. Without At, before the first
// [Node.RunUntil], they act when the kubelet starts, before t=0. Errors about pods are errors of
// the Kubernetes API; test them with the functions of k8s.io/apimachinery/pkg/api/errors, such as
// IsInvalid and IsNotFound.
package node

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/kubelet"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/limit"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// DefaultUptime is the default age of the kubelet at t=0. It is longer than the usual probe
// periods, because a probe worker of a younger kubelet first waits for a random part of its period.
// It is not a whole number of seconds, which puts t=0 between two ticks of the kubelet's tickers.
const DefaultUptime = 150337 * time.Millisecond

// epoch is the wall time at which the kubelet starts: a whole second.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// DefaultLimits are the default limits of a run: 500 million events, 200,000 processes, a million
// events at one instant, a year of virtual time, and 2.2 GB of records in memory.
var DefaultLimits = limit.Limits{
	Events: 500_000_000, Processes: 200_000, AtOneInstant: 1_000_000, Time: virtual.At(365 * 24 * time.Hour),
	Memory: 2_200_000_000,
}

// Options configure a node. The zero value is a node of the newest known Kubernetes release with
// the default delays and the canonical order of events.
type Options struct {
	// Profile is the Kubernetes release, with its feature gates. Zero: profile.Newest.
	Profile profile.Profile
	// Uptime is the age of the kubelet at t=0. Nil: DefaultUptime.
	Uptime *time.Duration
	// Seed selects one of the possible runs: it decides delays within their ranges, events with a
	// probability, and the order of events at one instant. Nil: delays are in the middle of their
	// ranges, events with a probability do not happen, and the order is the canonical one.
	Seed *int64
	// Delays are the latencies of the container runtime and the API server. A zero field is the
	// default of its delay.
	Delays fakeruntime.Delays
	// Config is the kubelet configuration. Its FeatureGates have no effect: set gates with
	// Profile.SetGate.
	Config kubeletconfig.Config
	// Limits end a run that would take too long. Zero: DefaultLimits.
	Limits limit.Limits
	// Chooser makes the choices of the run instead of Seed, for example to search for runs (package
	// explore) or to replay one (package choose). Seed still decides delays and probabilities. Nil:
	// Seed decides.
	Chooser choose.Chooser
	// Interrupt, if set, is called every 1,024 events, for example to ask whether a context is
	// done. If it returns an error, the run ends with this error. It must not call the node.
	Interrupt func() error
	// Trace receives the records of the run. Nil: a new recorder that keeps the observable records
	// in memory. Its Sink must not call the node.
	Trace *trace.Recorder
	// HandlerTimeout limits the real time that an http.Handler may take to respond to a request.
	// Zero: DefaultHandlerTimeout. Negative: no limit, as a debugger needs.
	HandlerTimeout time.Duration
	// SlowHandler, if set, is called when a handler takes longer to respond to a probe, in real
	// time, than the timeout of the probe: in virtual time it responds at once. It must not call
	// the node.
	SlowHandler func(text string)
	// ControlPlane adds controllers, for AddWorkload and AddService. Nil: there are none.
	ControlPlane *ControlPlane

	fullLists, everyTick bool // see kubelet.Options
}

// MemoryError reports that the records of a run take more memory than Limits.Memory.
type MemoryError struct {
	Max     int64 // Limits.Memory
	Now     virtual.Time
	Largest trace.Usage // the kind of record that takes most memory
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("stopped at %s: the trace takes more than %s of memory, and the largest part is %d records of "+
		"kind %s (%s); "+
		"use fewer pods, a longer period, a shorter duration or shorter bodies of answers",
		trace.FormatTime(e.Now), megabytes(e.Max), e.Largest.Records, e.Largest.Kind, megabytes(e.Largest.Size))
}

func megabytes(bytes int64) string {
	return strconv.FormatFloat(math.Ceil(float64(bytes)/1e5)/10, 'f', -1, 64) + " MB"
}

// ErrKubeletStopped is the error of a method that needs a running kubelet.
var ErrKubeletStopped = errors.New("the kubelet is stopped")

// Node is a simulated node. Create it with New; the zero Node is not usable. A Node is not safe for
// concurrent use. Methods without an error result panic if you must not call them: with ErrClosed
// after Close, and with ErrInUse while RunUntil or another method runs, unless a function that the
// node calls may call them.
type Node struct {
	sim     *sim.Sim
	trace   *trace.Recorder
	api     *apiserver.Server
	runtime *runtimeDriver
	options kubelet.Options
	kubelet *kubelet.Kubelet // nil while the kubelet is stopped, and while it lists images before its start
	group   *sim.Group       // the processes of the kubelet; nil while it is stopped
	stopped int64            // step of the last KubeletStopped record
	noted   trace.Record     // the last record of kind Step that Record has added
	control *controlPlane    // nil without Options.ControlPlane

	memory         int64         // Limits.Memory
	slowHandler    func(string)  // Options.SlowHandler
	handlerTimeout time.Duration // not 0; negative: none
	use            atomic.Pointer[use]
	closed         atomic.Pointer[use]   // the call of Close
	misuse         atomic.Pointer[error] // the first ErrInUse
}

// New returns a node without pods. The first RunUntil starts its kubelet. Close the node when you
// no longer need it. New panics with the error of Validate if the options are invalid.
func New(o Options) *Node {
	if err := o.Validate(); err != nil {
		panic(fmt.Errorf("node: New: %w", err))
	}
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
	n := &Node{trace: o.Trace, handlerTimeout: cmp.Or(o.HandlerTimeout, DefaultHandlerTimeout), memory: o.Limits.Memory,
		slowHandler: o.SlowHandler}
	n.limitMemory()
	n.sim = sim.New(sim.Options{Start: virtual.At(-uptime), Chooser: chooserOf(o), Limits: o.Limits,
		Interrupt: o.Interrupt})
	n.runtime = newRuntimeDriver(n.sim, fakeruntime.New(fakeruntime.Options{
		Seed: o.Seed, Delays: o.Delays, Record: o.Trace.Add, RecordCalls: o.Trace.Internal,
		RecordRules: o.Trace.Wants(trace.Behavior),
	}))
	wall := func(t virtual.Wall) time.Time { return epoch.Add(t.Offset() + uptime) }
	n.api = apiserver.New(apiserver.Options{
		Sim: n.sim, Trace: n.trace, Profile: o.Profile, Delays: n.runtime,
		// the API server runs on another machine
		Now:        func() time.Time { return wall(virtual.Wall(n.sim.Now())) },
		PodCreated: n.podCreated,
	})
	n.options = kubelet.Options{
		Sim: n.sim, Trace: n.trace, Runtime: n.runtime, API: n.api,
		Profile: o.Profile, Config: o.Config, Disk: kubelet.NewDisk(), FullLists: o.fullLists, EveryTick: o.everyTick,
		Wall: wall, Now: func() time.Time { return wall(n.runtime.Wall(n.sim.Now())) },
	}
	n.startKubelet()
	if o.ControlPlane != nil {
		n.startControlPlane(o.ControlPlane)
	}
	return n
}

// limitMemory ends the run if its records take too much memory.
func (n *Node) limitMemory() {
	n.trace.OnGrowth(func(size int64) {
		if size > n.memory && n.memory > 0 {
			n.sim.Fail(&MemoryError{Max: n.memory, Now: n.Now(), Largest: n.trace.Largest()})
		}
	})
}

// chooserOf returns the chooser of a run, or nil for the canonical choices.
func chooserOf(o Options) choose.Chooser {
	if o.Chooser == nil && o.Seed != nil {
		return choose.Seeded(*o.Seed)
	}
	return o.Chooser
}

// AddPod creates a pod through the API now; the node's kubelet starts it. The API server sets the
// defaults in a copy, as for a pod that you apply, generates a UID if there is none, and drops
// fields whose feature gate is off. Mounted volumes delay the start of the containers; the contents
// of volumes, resources and scheduling have no effect.
//
// The program says how the pod's containers behave. The zero program runs forever and answers all
// probes with success. Set its Containers, Delays, Workload and Replica; the other fields are taken
// from the pod. An httpGet probe can call your http.Handler: see fakeruntime.Answer.
//
// AddPod returns an Invalid error that lists all invalid and unsupported fields, an AlreadyExists
// error if the API has a pod of that name, a Conflict error if an earlier pod had the same UID, and
// an error if an image is not a valid reference or if the program has a container that the pod does
// not have. If AddPod returns an error, it has not added the pod.
func (n *Node) AddPod(pod *v1.Pod, program fakeruntime.Pod) error {
	return n.change(func() error {
		if pod == nil {
			return errors.New("AddPod: the pod is nil")
		}
		if err := n.checkProgram(pod, program); err != nil {
			return err
		}
		pod, err := n.api.Create(pod)
		if err != nil {
			return err
		}
		n.addProgram(pod, program)
		return nil
	})
}

// AddAdmitted is AddPod for a pod that [admission.Admit] has returned for the profile of the node,
// and for a program that AddPod accepts. It checks neither of them, so it is faster. Nodes can
// share the pod: they do not change it.
func (n *Node) AddAdmitted(pod *v1.Pod, program fakeruntime.Pod) error {
	return n.change(func() error {
		if pod == nil {
			return errors.New("AddAdmitted: the pod is nil")
		}
		pod, err := n.api.CreateAdmitted(pod)
		if err != nil {
			return err
		}
		n.addProgram(pod, program)
		return nil
	})
}

// checkProgram returns an error if the program does not fit the pod.
func (n *Node) checkProgram(pod *v1.Pod, program fakeruntime.Pod) error {
	if err := program.Validate(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(program.Containers)) {
		if podutil.Find(pod, name) == nil {
			return fmt.Errorf("the program has a container %q, which pod %s does not have", name, pod.Name)
		}
	}
	return nil
}

// addProgram adds the program of a pod to the runtime.
func (n *Node) addProgram(pod *v1.Pod, program fakeruntime.Pod) {
	program.UID, program.Namespace, program.Name = string(pod.UID), pod.Namespace, pod.Name
	program.HostNetwork = pod.Spec.HostNetwork
	n.runtime.AddPod(n.guarded(pod, program))
}

// DeletePod deletes a pod through the API now, with a grace period in seconds. Nil means the grace
// period of the pod; 0 removes the pod from the API immediately, as kubectl delete --force does. A
// further DeletePod can only shorten the grace period. DeletePod returns a NotFound error if the
// API does not have the pod.
func (n *Node) DeletePod(namespace, name string, gracePeriodSeconds *int64) error {
	return n.change(func() error { return n.api.Delete(namespace, name, gracePeriodSeconds) })
}

// PatchPod applies a strategic merge patch in JSON to the metadata and the spec of a pod through
// the API now. It returns a NotFound error if the API does not have the pod, a BadRequest error if
// the patch is unreadable, and an Invalid error if it changes something other than labels,
// annotations, finalizers, tolerations and images, and probes with the feature gate
// MutableContainerProbes.
func (n *Node) PatchPod(namespace, name string, patch []byte) error {
	return n.change(func() error {
		return n.changePod(namespace, name, "patch", string(patch),
			func(pod *v1.Pod) (*v1.Pod, error) { return admission.Patch(n.options.Profile, pod, patch) })
	})
}

// PatchPodStatus applies a strategic merge patch in JSON to the conditions in the status of a pod
// through the API now, as a controller does for a readiness gate. It returns the errors of
// PatchPod; the patch can change conditions only.
func (n *Node) PatchPodStatus(namespace, name string, patch []byte) error {
	return n.change(func() error {
		return n.changePod(namespace, name, "patch", string(patch),
			func(pod *v1.Pod) (*v1.Pod, error) { return admission.PatchStatus(pod, patch) })
	})
}

// AddEphemeralContainer adds an ephemeral container to a pod through the API now, as kubectl debug
// does. The program says how the container behaves. It returns a NotFound error if the API does not
// have the pod, an Invalid error that lists all invalid fields, and an error if the program is
// invalid.
func (n *Node) AddEphemeralContainer(namespace, name string, c v1.EphemeralContainer,
	program fakeruntime.ContainerConfig) error {
	return n.change(func() error {
		if err := (fakeruntime.Pod{Containers: map[string]fakeruntime.ContainerConfig{c.Name: program}}).
			Validate(); err != nil {
			return err
		}
		if err := n.changePod(namespace, name, "debug", c.Name,
			func(pod *v1.Pod) (*v1.Pod, error) { return admission.AddEphemeralContainer(pod, c) }); err != nil {
			return err
		}
		n.runtime.AddContainer(string(n.api.Pod(namespace, name).UID), c.Name, program)
		return nil
	})
}

// ResizePod applies a strategic merge patch in JSON to the resources of the containers of a pod
// through the API now, as kubectl patch --subresource resize does. It returns the errors of
// PatchPod; the patch can change only the requests and limits of cpu and memory.
func (n *Node) ResizePod(namespace, name string, patch []byte) error {
	return n.change(func() error {
		if !n.options.Profile.ResizesAreQueued {
			return fmt.Errorf("the resizes of %s are not simulated", n.options.Profile.Version)
		}
		return n.changePod(namespace, name, "resize", string(patch),
			func(pod *v1.Pod) (*v1.Pod, error) { return admission.Resize(n.options.Profile, pod, patch) })
	})
}

// changePod stores what admission makes of a pod, and records the reason and the message.
func (n *Node) changePod(namespace, name, reason, message string, admit func(*v1.Pod) (*v1.Pod, error)) error {
	return n.api.Change(namespace, name, func() int64 {
		return n.step(trace.Record{Pod: namespace + "/" + name, Reason: reason, Message: message})
	}, admit)
}

// EvictPod makes the kubelet evict a pod now, as under memory pressure. It returns a NotFound error
// if the API does not have the pod, ErrKubeletStopped while the kubelet is stopped, and an error if
// the kubelet cannot evict the pod: it does not know the pod yet, the pod has terminated, or the
// pod is critical.
func (n *Node) EvictPod(namespace, name string) error {
	return n.change(func() error {
		stored := n.api.Pod(namespace, name)
		switch {
		case stored == nil:
			return apierrors.NewNotFound(v1.Resource("pods"), name)
		case n.kubelet == nil:
			return ErrKubeletStopped
		}
		pod := n.kubelet.Evictable(stored.UID)
		if pod == nil {
			return fmt.Errorf("the kubelet cannot evict pod %s/%s: it does not know the pod, or the pod has "+
				"terminated or is critical", namespace, name)
		}
		step := n.record(trace.Record{Kind: trace.Step, Pod: namespace + "/" + name, Reason: "evict"})
		n.sim.In(n.group, func() { n.sim.WithCause(step, func() { n.kubelet.Evict(pod) }) })
		return nil
	})
}

// KillContainer ends the process of a container with SIGKILL now, sends it SIGTERM, or removes the
// container; see fakeruntime.Kill. It reports false if there is no such container.
func (n *Node) KillContainer(k fakeruntime.Kill) (killed bool) {
	defer n.end(n.mustBegin(change))
	n.runtime.now(func(r *fakeruntime.Runtime, now virtual.Time) { killed = r.Kill(now, k) })
	return killed
}

// Occur starts the clocks of the rules whose Clock is AtMoment and that name a moment; see
// fakeruntime.Runtime.Occur.
func (n *Node) Occur(moment int) {
	defer n.end(n.mustBegin(change))
	n.runtime.now(func(r *fakeruntime.Runtime, now virtual.Time) { r.Occur(now, moment) })
}

// Windows returns the times until now during which rules of programs were open; see
// fakeruntime.Runtime.Windows.
func (n *Node) Windows() []fakeruntime.Window { return n.runtime.Windows(n.Now()) }

// OccurIn is Occur for the instance that runs in a container of a pod, and for no other.
func (n *Node) OccurIn(podUID, container string, moment int) {
	defer n.end(n.mustBegin(change))
	n.runtime.now(func(r *fakeruntime.Runtime, now virtual.Time) { r.OccurIn(now, podUID, container, moment) })
}

// StopKubelet kills the kubelet now: its work in progress ends, and its calls to the runtime and
// the API server are canceled. Containers continue to run. It reports false, and does nothing, if
// the kubelet is stopped already.
func (n *Node) StopKubelet() bool {
	defer n.end(n.mustBegin(change))
	return n.stopKubelet()
}

func (n *Node) stopKubelet() bool {
	if n.group == nil {
		return false
	}
	n.stopped = n.record(trace.Record{Kind: trace.KubeletStopped})
	n.sim.End(n.group)
	n.api.Disconnect()
	n.runtime.Disconnect()
	n.options.Disk.EndMounts(n.sim.Now())
	n.kubelet, n.group = nil, nil
	return true
}

// StartKubelet starts the kubelet now, after StopKubelet. The new kubelet learns the pods from the
// API server and the containers from the runtime. StartKubelet does nothing if the kubelet runs.
func (n *Node) StartKubelet() {
	defer n.end(n.mustBegin(change))
	if n.group != nil {
		return
	}
	n.options.Cause = n.record(trace.Record{Kind: trace.KubeletStarted, Cause: n.stopped})
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

// ShutDown announces a shutdown of the node to the kubelet now, as systemd does; the kubelet then
// terminates all pods within the configured grace periods. ShutDown reports false, and does
// nothing, if the kubelet does not listen: it is stopped, the configuration has no
// ShutdownGracePeriod, or a shutdown has been announced already.
func (n *Node) ShutDown() bool {
	defer n.end(n.mustBegin(change))
	if n.kubelet == nil || !n.kubelet.ListensForShutdown() {
		return false
	}
	step := n.record(trace.Record{Kind: trace.Step, Reason: "shutdownNode"})
	n.sim.In(n.group, func() { n.sim.WithCause(step, n.kubelet.ShutDown) })
	return true
}

// PowerOff switches the node off now: the kubelet is killed, as by StopKubelet, and all containers
// and sandboxes end. The container runtime starts again at the virtual time back, and then finds
// that its containers have exited. Start the kubelet at that time or later. A time that has passed
// means now.
func (n *Node) PowerOff(back virtual.Time) {
	defer n.end(n.mustBegin(change))
	n.stopKubelet()
	step := n.step(trace.Record{Reason: "rebootNode"})
	n.runtime.now(func(r *fakeruntime.Runtime, now virtual.Time) { r.PowerOff(now, back, step) })
}

// SetDelays changes the delays of the node from now on. If several of the Delays set the same
// delay, the last one wins. A delay that none of them sets has its value from Options. Each call
// replaces the previous one, and SetDelays() restores the delays of Options. SetDelays panics if a
// delay is negative or its range is empty.
func (n *Node) SetDelays(d ...fakeruntime.Delays) {
	defer n.end(n.mustBegin(change))
	for _, delays := range d {
		if err := delays.Validate(); err != nil {
			panic(fmt.Errorf("node: SetDelays: %w", err))
		}
	}
	n.runtime.SetDelays(d...)
}

// SetAPIDown starts or ends an outage of the API server for the kubelet now. During the outage the
// kubelet's calls fail, calls in progress included, and the kubelet does not see changes; at the
// end it lists all pods. Methods such as AddPod still work.
func (n *Node) SetAPIDown(down bool) {
	defer n.end(n.mustBegin(change))
	n.api.SetDown(down)
}

// SetRuntimeHealth changes the health of the container runtime now. The zero Health is a healthy
// runtime.
func (n *Node) SetRuntimeHealth(h fakeruntime.Health) {
	defer n.end(n.mustBegin(change))
	n.runtime.now(func(r *fakeruntime.Runtime, now virtual.Time) { r.SetHealth(now, h) })
}

// FailCalls makes calls fail that the kubelet begins from now on: to the container runtime, or to
// the API server about pods.
func (n *Node) FailCalls(f fakeruntime.Fault) {
	defer n.end(n.mustBegin(change))
	n.runtime.now(func(r *fakeruntime.Runtime, now virtual.Time) { r.FailCalls(now, f) })
}

// StepClock sets the wall clock of the node forward now, or back if by is negative. The kubelet and
// the runtime read the new time. Virtual time, timers and the clock of the API server do not
// change. StepClock panics if the wall clock would be more than 100 years off.
func (n *Node) StepClock(by time.Duration) {
	defer n.end(n.mustBegin(change))
	const most = 100 * 365 * 24 * time.Hour
	if off := n.runtime.Wall(n.sim.Now()).Offset() - n.sim.Now().Offset(); by > most-off || by < -most-off {
		panic(fmt.Sprintf("node: StepClock(%s): the wall clock would be more than 100 years off", by))
	}
	n.runtime.now(func(r *fakeruntime.Runtime, now virtual.Time) { r.StepClock(now, by) })
}

// Record adds a record with the current time to the trace and returns its step. Use records of kind
// trace.Step to describe your changes. PatchPod, PatchPodStatus and PowerOff use the step record
// that you added last as their cause, if it has their pod and reason and the same instant.
// Otherwise they add a record of their own.
func (n *Node) Record(r trace.Record) int64 {
	defer n.end(n.mustBegin(change))
	return n.record(r)
}

func (n *Node) record(r trace.Record) int64 {
	r.T = n.sim.Now()
	r.Step = n.trace.Add(r)
	if r.Kind == trace.Step {
		n.noted = r
	}
	return r.Step
}

// step returns the step of the record that describes a change: the one that Record has just added,
// or a new one.
func (n *Node) step(r trace.Record) int64 {
	r.Kind = trace.Step
	if n.noted.Kind == r.Kind && n.noted.T == n.sim.Now() && n.noted.Pod == r.Pod && n.noted.Reason == r.Reason {
		r.Step = n.noted.Step
	} else {
		r.Step = n.record(r)
	}
	n.noted = trace.Record{} // it describes one change
	return r.Step
}

// At schedules a call of do for the virtual time t, or for the current instant if t has passed.
// RunUntil makes the call, after all calls to the container runtime that end at that instant.
func (n *Node) At(t virtual.Time, do func()) {
	at := n.mustBegin(schedule)
	defer n.end(at)
	if do == nil {
		panic("node: At: the function is nil")
	}
	u := &use{kind: function, callers: at.callers}
	call := func() { n.call(u, do) }
	n.sim.At(t, "scenario", func() { n.runtime.afterCalls(call) })
}

// Observe registers f, which is called for each record when it is added to the trace. The function
// must not change the record or the node; it can schedule changes with At.
func (n *Node) Observe(f func(*trace.Record)) {
	observe := n.mustBegin(change)
	defer n.end(observe)
	if f == nil {
		panic("node: Observe: the function is nil")
	}
	u := &use{kind: listener, name: "the observer", callers: observe.callers}
	n.trace.Observe(func(r *trace.Record) { n.call(u, func() { f(r) }) })
}

// RunUntil runs the node up to and including the virtual time t, or until Pause. It does nothing if
// t has passed. It returns a *limit.Error or a *MemoryError if the run exceeds one of the limits
// before t, the error of Options.Interrupt if that returns one, and an error with the frames if a
// function of At, an observer or a handler fails. The node cannot run further then.
func (n *Node) RunUntil(t virtual.Time) error {
	u, err := n.begin(passTime)
	if err != nil {
		return err
	}
	err = func() error {
		defer n.end(u) // also if a function of the user ends the goroutine
		return n.sim.RunUntil(t)
	}()
	if misuse := n.misuse.Load(); err == nil && misuse != nil {
		n.sim.Fail(*misuse)
		err = *misuse
	}
	return err
}

// Pause makes the RunUntil in progress return nil after the present event, for example from an
// observer that has seen what you look for. Virtual time stands still at this event, and the trace
// can have more records of the same instant. The next RunUntil continues from there. Pause has no
// effect outside RunUntil.
func (n *Node) Pause() {
	defer n.end(n.mustBegin(schedule))
	n.sim.Pause()
}

// Now returns the current virtual time. It is negative before t=0.
func (n *Node) Now() virtual.Time {
	n.mustExist("Now")
	return n.sim.Now()
}

// Clock returns the wall clock of the node, for programs that read the time. It begins with t=0,
// and StepClock sets it.
func (n *Node) Clock() clock.PassiveClock {
	n.mustExist("Clock")
	return wallClock(func() time.Time { return n.options.Wall(n.runtime.Wall(max(0, n.sim.Now()))) })
}

// wallClock is a clock that others can only read.
type wallClock func() time.Time

func (now wallClock) Now() time.Time                  { return now() }
func (now wallClock) Since(t time.Time) time.Duration { return now().Sub(t) }

// Trace returns the recorder with the records of the run: Options.Trace, or the recorder that New
// created.
func (n *Node) Trace() *trace.Recorder {
	n.mustExist("Trace")
	return n.trace
}

func (n *Node) mustExist(method string) {
	if n == nil || n.sim == nil {
		panic("node: " + method + ": this is not a node: create it with node.New")
	}
}

// Close ends the run and frees the resources of the node. The trace stays readable. A second Close
// does nothing.
func (n *Node) Close() {
	if n != nil && n.closed.Load() != nil {
		return
	}
	u := n.mustBegin(passTime)
	n.sim.Close()
	n.closed.Store(u)
	n.end(u)
}

// maxUptime is the highest Uptime. The node simulates this time before t=0.
const maxUptime = 365 * 24 * time.Hour

// Validate returns an error that lists all invalid options, or nil.
func (o Options) Validate() error {
	var errs []error
	report := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("Options."+field+" "+format, args...))
	}
	if _, known := profile.Named(o.Profile.Version); !known && o.Profile != (profile.Profile{}) {
		report("Profile", "has the unknown version %q: begin with profile.Newest or profile.Named", o.Profile.Version)
	}
	if o.Uptime != nil && (*o.Uptime < 0 || *o.Uptime > maxUptime) {
		report("Uptime", "is %s: use a duration from 0s to %s", *o.Uptime, maxUptime)
	}
	if err := o.Delays.Validate(); err != nil {
		report("Delays", "are invalid: %w", err)
	}
	if err := o.Config.Validate(); err != nil {
		report("Config", "is invalid: %w", err)
	}
	return errors.Join(errs...)
}

// ErrNoStaticPods is the error of SetManifest and RemoveManifest if Options.Config.StaticPodPath is
// empty.
var ErrNoStaticPods = errors.New("the kubelet has no directory for static pods: set StaticPodPath in Options.Config")

// SetManifest writes the manifest of a static pod to the directory that the kubelet watches now, in
// place of the manifest with the same name. The kubelet starts the pod, and creates a mirror pod in
// the API, which shows its status. The name of the pod is the name in the manifest with "-" and
// admission.NodeName. A pod with another content has another UID, and starts when the pod with the
// previous content has terminated. While the kubelet is stopped, nothing happens.
//
// The program says how the containers behave; see AddPod. A pod with the same content as an earlier
// one keeps the program of that pod. A manifest that admission.Static has already made into a pod
// is used as it is.
//
// SetManifest returns ErrNoStaticPods, an Invalid error for fields that the kubelet rejects or that
// are not supported, and the other errors of AddPod. If it returns an error, it has not changed the
// manifest.
func (n *Node) SetManifest(manifest *v1.Pod, program fakeruntime.Pod) error {
	return n.change(func() error {
		switch {
		case manifest == nil:
			return errors.New("SetManifest: the manifest is nil")
		case n.options.Config.StaticPodPath == "":
			return ErrNoStaticPods
		}
		if errs := admission.ValidateStatic(manifest); len(errs) > 0 {
			return apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Pod").GroupKind(), manifest.Name, errs)
		}
		pod := manifest
		if !podutil.IsStatic(pod) {
			pod = admission.Static(manifest)
		}
		if err := n.checkProgram(pod, program); err != nil {
			return err
		}
		pod, err := admission.Admit(n.options.Profile, pod)
		if err != nil {
			return err
		}
		n.addProgram(pod, program)
		n.options.Disk.SetManifest(pod,
			n.step(trace.Record{Pod: pod.Namespace + "/" + pod.Name, Reason: "setManifest"}))
		n.manifestsChanged()
		return nil
	})
}

// RemoveManifest removes the manifest of a static pod now; the kubelet terminates the pod and
// deletes its mirror pod. The name is that of the pod, not of the manifest. RemoveManifest returns
// ErrNoStaticPods, or a NotFound error if there is no manifest of this pod.
func (n *Node) RemoveManifest(namespace, name string) error {
	return n.change(func() error {
		switch {
		case n.options.Config.StaticPodPath == "":
			return ErrNoStaticPods
		case !n.options.Disk.HasManifest(namespace, name):
			return fmt.Errorf("there is no manifest: %w", apierrors.NewNotFound(v1.Resource("pods"), name))
		}
		n.options.Disk.RemoveManifest(namespace, name,
			n.step(trace.Record{Pod: namespace + "/" + name, Reason: "removeManifest"}))
		n.manifestsChanged()
		return nil
	})
}

func (n *Node) manifestsChanged() {
	if n.kubelet != nil {
		n.sim.In(n.group, n.kubelet.ManifestsChanged)
	}
}
