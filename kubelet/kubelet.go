// Package kubelet is the kubelet of one simulated node: the sync loop, the pod workers, the pod
// lifecycle event generator (PLEG) with its pod cache, and the container lifecycle, around the status
// manager of package status and the probes of package prober.
//
// Each goroutine of the real kubelet is a process here, and each place where the real one is not
// determined is a choice of package sim. The rules are those of pkg/kubelet at v1.37.0; where versions
// differ, a profile decides. Everything between two calls that take time takes none.
package kubelet

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/apiserver"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/prober"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// Options say what a Kubelet works with.
type Options struct {
	Sim     *sim.Sim
	Trace   *trace.Recorder
	Profile profile.Profile
	Config  kubeletconfig.Config
	Now     func() time.Time              // wall clock of the node, which steps change
	Wall    func(time.Duration) time.Time // the time of day that a time since t=0 by a wall clock is
	Runtime Runtime
	API     *apiserver.Server
	Disk    *Disk // nil: nothing is left from a kubelet before
	Cause   int64 // step of the record of this start, if there is one

	// FullLists makes each relist and each housekeeping list all pods, instead of the pods that changed.
	// EveryTick makes the sync loop receive the ticks for which it has no work. Both slow a run down and do not
	// change it; tests compare such runs with normal ones.
	FullLists, EveryTick bool
}

// Kubelet is one run of the kubelet, from its start on.
type Kubelet struct {
	sim      *sim.Sim
	trace    *trace.Recorder
	profile  profile.Profile
	settings kubeletconfig.Config
	now      func() time.Time
	wall     func(time.Duration) time.Time
	runtime  Runtime
	api      *apiserver.Server
	started  int64 // step of the record of this start, if there is one
	full     bool  // see Options.FullLists
	ticks    bool  // see Options.EveryTick

	podManager *podManager
	config     *sim.Chan[configUpdate]
	workers    *podWorkers
	workQueue  *workQueue
	cache      *podCache
	pleg       *pleg
	status     *status.Manager
	prober     *prober.Manager
	results    prober.Results
	runtimeState
	reasons  map[startKey]startReason
	deletor  *deletor
	logs     *sim.Chan[struct{}] // is full while somebody removes logs
	volumes  *volumes
	source   map[types.UID]*v1.Pod // as the API server last told, also what the sync loop has not heard of yet
	puller   *sim.Chan[*pullRequest]
	pulls    map[string]int // under way, by image
	disk     *Disk
	knowsAll bool // housekeeping has met everything that ran when the kubelet started

	// sourceReady: the API server has said which pods there are, and the sync loop has taken them.
	sourceReady bool

	shuttingDown bool        // the node is
	rejected     []types.UID // pods that were not admitted and that no worker knows of, oldest first

	backOff      *backOff
	imageBackOff *imageBackOff
}

// New returns a kubelet that starts now: its tickers have their phase from this moment. Start starts
// its processes.
func New(o Options) *Kubelet {
	if o.Disk == nil {
		o.Disk = NewDisk()
	}
	k := &Kubelet{
		sim: o.Sim, trace: o.Trace, profile: o.Profile, settings: o.Config, now: o.Now, wall: o.Wall, runtime: o.Runtime, api: o.API, started: o.Cause, full: o.FullLists, ticks: o.EveryTick,
		source:     map[types.UID]*v1.Pod{},
		podManager: newPodManager(),
		disk:       o.Disk,
		config:     sim.NewChan[configUpdate](o.Sim, "pod config", configCapacity),
		workQueue:  newWorkQueue(),
		cache:      newPodCache(),
		reasons:    map[startKey]startReason{}, runtimeState: newRuntimeState(),
		puller: sim.NewChan[*pullRequest](o.Sim, "image pulls", maxImagePullRequests),
		pulls:  map[string]int{},
		logs:   sim.NewChan[struct{}](o.Sim, "container logs", 1),
	}
	k.workers, k.pleg, k.deletor, k.volumes = newPodWorkers(k), newPLEG(k), newDeletor(k), newVolumes(k, o.Disk)
	k.results = prober.Results{
		Liveness:  results.NewManager(o.Sim, trace.Liveness, o.Trace),
		Readiness: results.NewManager(o.Sim, trace.Readiness, o.Trace),
		Startup:   results.NewManager(o.Sim, trace.Startup, o.Trace),
	}
	k.status = status.NewManager(status.Options{
		Sim: o.Sim, Now: o.Now, API: o.API, Pods: k.podManager,
		CouldHaveRunningContainers: k.workers.couldHaveRunningContainers,
	})
	k.prober = prober.NewManager(prober.Options{
		Sim: o.Sim, Trace: o.Trace, Profile: o.Profile, Now: o.Now,
		Status: k.status, Runner: k, Network: k, Events: k, Results: k.results,
		Instance: func(containerID string) int { return o.Runtime.Instance(containerID[len(containerIDPrefix):]) },
		Step: func(containerID string) int64 {
			return max(o.Runtime.Step(containerID[len(containerIDPrefix):]), o.Cause)
		},
	})
	k.backOff, k.imageBackOff = newBackOff(o.Profile, o.Config), newImageBackOff()
	return k
}

// Start starts the kubelet's processes. All its tickers begin at this instant.
func (k *Kubelet) Start() {
	k.sim.Go("container GC", k.collectGarbage)
	k.sim.Go("image puller", k.pullImages)
	k.sim.Go("container deletor", k.deletor.run)
	k.startRuntimeCheck()
	k.sim.Go("image list", k.listImages)
	k.status.Start()
	k.sim.Go("PLEG", k.pleg.run)
	k.sim.Go("pod config", k.watchPods)
	k.startSyncLoop()
}

// monotonic is the node's other clock, which steps do not change.
func (k *Kubelet) monotonic() time.Time { return k.wall(k.sim.Now()) }

// since returns how long ago a time was that the runtime has told: by the wall clock, as such a time has no reading of
// the other one. It is negative after the clock was set back.
func (k *Kubelet) since(t time.Duration) time.Duration { return k.now().Sub(k.wall(t)) }

// note writes an internal record about now, if those are kept, and returns its step, or else the step
// that is to stand for it.
func (k *Kubelet) note(r trace.Record, otherwise ...int64) int64 {
	if k.trace.Wants(r.Kind) {
		r.T = k.sim.Now()
		return k.trace.Add(r)
	}
	for _, step := range otherwise {
		return step
	}
	return 0
}

// RecordContainerEvent publishes an event about a container of a pod, with the cause of the process.
func (k *Kubelet) RecordContainerEvent(p *sim.Proc, pod *v1.Pod, container, eventType, reason, message string) {
	k.event(pod, container, eventType, reason, message, p.Cause())
}

// ContainerEvent leaves an event about a container of a pod.
func (k *Kubelet) ContainerEvent(pod *v1.Pod, container, eventType, reason, message string, cause int64) {
	k.event(pod, container, eventType, reason, message, cause)
}

// event does the same, for a container or the whole pod, and returns the step of the record.
func (k *Kubelet) event(pod *v1.Pod, container, eventType, reason, message string, cause int64) int64 {
	return k.trace.Add(trace.Record{
		T: k.sim.Now(), Kind: trace.Event, Cause: cause, Pod: pod.Namespace + "/" + pod.Name, Container: container,
		Instance: k.runtime.EventInstance(string(pod.UID), container, reason), Type: eventType, Reason: reason, Message: message,
	})
}

// startKey is a container of a pod.
type startKey struct {
	uid  types.UID
	name string
}

// startReason is why a container could not be started, with the step of the record that says so.
type startReason struct {
	reason, message string
	step            int64
}
