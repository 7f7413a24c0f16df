// Package kubelet simulates the kubelet of one node: the sync loop, the pod workers, the pod
// lifecycle event generator (PLEG) with its pod cache, and the container lifecycle. The status
// manager is in package status and the probe manager in package prober. The rules are those of
// pkg/kubelet at v1.37.0. A profile switches the rules that differ between versions. Files and
// functions have the names of their counterparts in pkg/kubelet.
//
// # Processes
//
// Each goroutine of the real kubelet is a process of package sim here:
//
//   - "sync loop" handles one value at a time: changes of the desired pods, events of the PLEG,
//     probe results and ticks. It hands pods to their workers and removes what is left of pods that
//     are gone.
//   - "pod worker NAMESPACE/NAME" syncs one pod: it computes the status and starts and stops
//     containers.
//   - "PLEG" lists the containers of all pods every second, and the containers of a single pod on
//     request. It updates the pod cache and sends events to the sync loop.
//   - "pod config" watches the API server.
//   - The status manager writes statuses to the API server. Each probe of a container has a worker.
//   - "image puller", "container deletor", "container GC" and "image list" do what their names say.
//     Hooks and kills of containers have processes that end when they are done.
//
// Calls to the container runtime, to the API server and to programs take virtual time. The code
// between them takes none.
//
// # From a probe result to the API
//
// A probe worker runs a probe and stores the result once the threshold is reached. The results
// manager sends a changed result to the sync loop (handleLiveness, handleReadiness, handleStartup).
// A readiness or startup result goes into the stored status immediately. Then handleProbeSync hands
// the pod to its worker. The worker computes the status (generateAPIPodStatus), which the status
// manager patches into the API, and computes the actions for the containers (computePodActions).
// After a failed liveness or startup probe these are a kill and a start. A sync that changes
// containers requests a relist, and the worker waits for its result before the next sync.
//
// # Choices
//
// Some outcomes in the real kubelet depend on the scheduler or on chance: which of two goroutines
// runs first, which ready case a select takes, the order of a map iteration, the size of a jitter.
// Each is a choice of package sim. Without a chooser, a run takes the canonical choices. A seed or
// a recorded list takes others. All runs take the same path through this package.
package kubelet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/prober"
	"probesim.dev/prober/preview138"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// Options configure a Kubelet. Sim, Trace, Now, Wall, Runtime and API must be set.
type Options struct {
	Sim     *sim.Sim
	Trace   *trace.Recorder
	Profile profile.Profile
	Config  kubeletconfig.Config
	Now     func() time.Time             // wall clock of the node, which clock steps change
	Wall    func(virtual.Wall) time.Time // converts a reading of the node's wall clock
	Runtime Runtime
	API     *apiserver.Server
	Disk    *Disk // nil: a new disk
	Cause   int64 // step of the record of this start; 0 for none

	// FullLists makes each relist and each housekeeping list all pods, instead of the pods that
	// changed, and makes the processes run for those that find nothing. EveryTick makes the sync
	// loop receive the ticks for which it has no work. Both only slow a run down: tests compare
	// such runs with normal ones.
	FullLists, EveryTick bool
}

// Kubelet is one run of the kubelet, from its start until its processes end.
type Kubelet struct {
	sim       *sim.Sim
	trace     *trace.Recorder
	profile   profile.Profile
	settings  kubeletconfig.Config
	now       func() time.Time
	wall      func(virtual.Wall) time.Time
	runtime   *criClient
	api       *apiserver.Server
	started   int64 // step of the record of this start; 0 for none
	fullLists bool  // Options.FullLists
	everyTick bool  // Options.EveryTick

	podManager *podManager
	config     *sim.Chan[configUpdate]
	workers    *podWorkers
	workQueue  *workQueue
	cache      *podCache
	pleg       *pleg
	status     *status.Manager
	prober     prober.Manager
	results    prober.Results
	runtimeState
	reasons        map[containerKey]startReason
	deletor        *deletor
	garbage        garbage
	logRemovalLock *sim.Chan[struct{}] // full while the logs of a container are being removed
	volumes        *volumes
	allocations    *allocations
	source         *source // the API server
	files          *source // the directory of manifests; nil if the kubelet has none
	puller         *sim.Chan[*pullRequest]
	pullTokens     *sim.Chan[struct{}] // one for each pull in progress; nil without a limit
	manifests      *sim.Chan[struct{}] // full when manifests have changed; nil without files
	pulls          map[string]int      // pulls in progress, by image
	disk           *Disk
	knowsAll       bool // housekeeping has listed the pods that ran when the kubelet started

	shuttingDown bool        // the node shuts down
	rejected     []types.UID // rejected pods, which have no worker, oldest first

	backOff      *backOff
	imageBackOff *imageBackOff

	// podManager.has and workers.couldBeProbed, for calls that take a function
	isDesired, couldBeProbed func(types.UID) bool
}

// New returns a kubelet. Start starts its processes, which must happen at the same instant.
func New(o Options) *Kubelet {
	if o.Disk == nil {
		o.Disk = NewDisk()
	}
	k := &Kubelet{
		sim: o.Sim, trace: o.Trace, profile: o.Profile, settings: o.Config, now: o.Now, wall: o.Wall,
		runtime: newCRIClient(&o), api: o.API, started: o.Cause, fullLists: o.FullLists, everyTick: o.EveryTick,
		source:     &source{pods: map[types.UID]*v1.Pod{}},
		podManager: newPodManager(),
		disk:       o.Disk,
		config:     sim.NewChan[configUpdate](o.Sim, "pod config", configCapacity),
		workQueue:  newWorkQueue(),
		cache:      newPodCache(),
		reasons:    map[containerKey]startReason{}, runtimeState: newRuntimeState(),
		puller:         sim.NewChan[*pullRequest](o.Sim, "image pulls", maxImagePullRequests),
		pulls:          map[string]int{},
		logRemovalLock: sim.NewChan[struct{}](o.Sim, "container logs", 1),
	}
	if most := o.Config.MaxParallelImagePulls; most > 0 {
		k.pullTokens = sim.NewChan[struct{}](o.Sim, "parallel image pulls", int(most))
	}
	if o.Config.StaticPodPath != "" {
		k.files = &source{pods: map[types.UID]*v1.Pod{}}
		k.manifests = sim.NewChan[struct{}](o.Sim, "manifests", 1)
	}
	k.workers, k.pleg, k.deletor, k.volumes = newPodWorkers(k), newPLEG(k), newDeletor(k), newVolumes(k, o.Disk)
	k.allocations = newAllocations(k)
	k.isDesired, k.couldBeProbed = k.podManager.has, k.workers.couldBeProbed
	newProber, newResults := prober.NewManager, results.NewManager
	if o.Profile.ContainerScopedProbes || o.Profile.MutableContainerProbes {
		newProber = preview138.NewManager
	}
	if o.Profile.MutableContainerProbes {
		newResults = results.NewMutableManager
	}
	k.results = prober.Results{
		Liveness:  newResults(o.Sim, trace.Liveness, o.Trace),
		Readiness: newResults(o.Sim, trace.Readiness, o.Trace),
		Startup:   newResults(o.Sim, trace.Startup, o.Trace),
	}
	k.status = status.NewManager(status.Options{
		Sim: o.Sim, Now: o.Now, API: o.API, Pods: k.podManager,
		CouldHaveRunningContainers: k.workers.couldHaveRunningContainers,
		NoObservedGeneration:       !o.Profile.PodObservedGenerationTracking,
	})
	k.prober = newProber(prober.Options{
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

// Start starts the processes of the kubelet. All tickers begin at this instant.
func (k *Kubelet) Start() {
	k.sim.Go("container GC", k.garbageCollect)
	k.sim.Go("image puller", k.pullImages)
	k.sim.Go("container deletor", k.deletor.run)
	k.updateRuntimeUp()
	k.sim.Go("image list", k.listImages)
	k.status.Start()
	k.pleg.proc = k.sim.Go("PLEG", k.pleg.run)
	if k.files != nil {
		k.sim.Go("manifests", k.watchFiles)
		k.sim.Go("static pod registration", k.fastStaticPodsRegistration)
	}
	k.sim.Go("pod config", k.watchPods)
	k.startSyncLoop()
}

// Periods of the sync loop (pkg/kubelet/kubelet.go at v1.37.0).
const (
	syncPeriod         = time.Second
	housekeepingPeriod = 2 * time.Second
	errorSleepBase     = 100 * time.Millisecond
	errorSleepMax      = 5 * time.Second
)

// syncFrequency is the time from a sync that succeeds to the next one, unless the configuration
// sets another (pkg/kubelet/apis/config/v1beta1/defaults.go at v1.37.0).
const syncFrequency = time.Minute

// startSyncLoop starts the tickers and the process of the sync loop.
func (k *Kubelet) startSyncLoop() {
	syncTicker := k.sim.NewTicker("sync ticker", syncPeriod)
	housekeeping := k.sim.NewTicker("housekeeping ticker", housekeepingPeriod)
	if !k.everyTick {
		syncTicker.SkipIf(func() bool { return k.nothingToSync(k.sim.Now()) })
		syncTicker.FastForward(sim.Idle{Until: k.nothingToSyncUntil, AnyOrder: true})
	}
	cases := []sim.Case{
		sim.On(k.config, k.handleConfig),
		sim.On(k.pleg.events, k.handlePLEG),
		sim.OnTick(syncTicker, k.handleSyncTick),
		sim.On(k.results.Liveness.Updates(), k.handleLiveness),
		sim.On(k.results.Readiness.Updates(), k.handleReadiness),
		sim.On(k.results.Startup.Updates(), k.handleStartup),
		sim.OnTick(housekeeping, k.handleHousekeeping),
	}
	loop := k.sim.Go("sync loop", func(p *sim.Proc) { k.syncLoop(p, cases) })
	housekeeping.SkipIf(func() bool { return k.cleanUpAtOnce(loop, syncTicker) })
	housekeeping.FastForward(sim.Idle{Until: k.cleanUntil, Ends: k.listsEnds,
		Fire: func(times int64, _, end virtual.Time) {
			k.cleanUpNothing(loop, times, end)
		}})
}

// syncLoop runs one iteration after the other. While the container runtime or the PLEG is unhealthy
// it sleeps instead, from 100 ms up to 5 s. A kubelet that starts always sleeps once, because its
// first relist has not ended (syncLoop in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) syncLoop(p *sim.Proc, cases []sim.Case) {
	sleep := errorSleepBase
	for {
		if !k.runtimeHealthy(p.Now()) {
			k.sim.Turn("sync loop", "sleep")
			p.Sleep(sleep)
			sleep = min(2*sleep, errorSleepMax)
			continue
		}
		sleep = errorSleepBase
		k.syncLoopIteration(p, cases)
	}
}

// syncLoopIteration waits until one of the channels has a value and calls the handler of that
// channel. If several channels have a value, the chooser picks one (syncLoopIteration in
// pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) syncLoopIteration(p *sim.Proc, cases []sim.Case) { p.Select(cases...) }

// handleConfig handles a change of the pods that should run. Added pods are handled in the order of
// their creation (HandlePodAdditions, HandlePodUpdates, HandlePodRemoves and HandlePodReconcile in
// pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) handleConfig(p *sim.Proc, u configUpdate) {
	k.sim.Turn("sync loop", "pod config")
	defer func() { u.from.ready = true }()
	if u.op == configAdd {
		slices.SortStableFunc(u.pods,
			func(a, b *v1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	}
	retry, resizesWait := u.op == configRemove, len(k.allocations.pending) > 0
	var resized []types.UID
	for _, pod := range u.pods {
		cause := k.causeOfConfig(u, pod)
		p.SetCause(k.note(trace.Record{Kind: trace.SyncLoop, Cause: cause, Pod: podName(pod), Reason: string(u.op)},
			cause))
		before, _ := k.podManager.GetPodByUID(pod.UID)
		k.podManager.set(pod)
		if u.op == configReconcile && before != nil && resizesWait {
			retry = retry || k.allocations.hasReleased(before, pod)
		}
		if u.op != configAdd && u.op != configRemove && k.isNotAdmitted(pod) {
			continue
		}
		if podutil.IsMirror(pod) {
			k.handleMirror(u.op, pod)
			continue
		}
		if waits := k.handlePod(p, u.op, before, pod); waits {
			resized = append(resized, pod.UID)
		}
	}
	if u.op == configAdd {
		k.status.BackfillPodResizeConditions(u.pods)
	}
	for _, uid := range resized {
		k.allocations.push(uid)
	}
	if retry || len(resized) > 0 {
		k.allocations.retry(p)
	}
}

// handlePod handles a change of one pod. before is the pod as the kubelet knew it. handlePod
// reports whether a new pod waits for a resize.
func (k *Kubelet) handlePod(p *sim.Proc, op configOp, before, pod *v1.Pod) (waits bool) {
	switch op {
	case configAdd:
		admitted, waits := k.canAdmit(p, pod)
		if admitted {
			k.volumes.expect(pod)
			k.workers.updatePod(podUpdate{typ: syncCreate, pod: pod})
		}
		return waits
	case configUpdated, configDelete:
		k.allocations.resize(p, before, pod)
		k.workers.updatePod(podUpdate{typ: syncUpdate, pod: pod})
	case configRemove:
		k.podManager.remove(pod)
		delete(k.disk.allocated, pod.UID)
		// a sync in progress then finds no record, and a resize can seem to be due
		if !k.profile.InspectReadsResources {
			delete(k.disk.actuated, pod.UID)
		}
		if k.sourcesReady() { // deletePod
			k.workers.updatePod(podUpdate{typ: syncKill, pod: pod})
		}
	case configReconcile:
		if status.NeedToReconcilePodReadiness(pod) {
			k.workers.updatePod(podUpdate{typ: syncSync, pod: pod})
		}
		if isEvicted(pod) {
			k.deletor.remove(k.cache.get(pod.UID), "", 0)
		}
	}
	return false
}

// handleMirror syncs the static pod of a mirror pod that has changed. The sync sees a mirror pod
// that is gone from the API in its last version. The kubelet looks for the UID of the mirror pod
// among the admitted pods, so where it ignores changes of pods that it did not admit, it ignores
// changes and deletions of mirror pods until they are gone (HandlePodUpdates in
// pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) handleMirror(op configOp, mirror *v1.Pod) {
	if op == configRemove {
		k.podManager.remove(mirror)
	}
	if static, ok := k.podManager.static[podName(mirror)]; ok && op != configReconcile {
		k.workers.updatePod(podUpdate{typ: syncUpdate, pod: static, mirror: mirror})
	}
}

// handlePLEG syncs the pod that an event of the PLEG is about, and queues its dead containers for
// removal (syncLoopIteration in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) handlePLEG(p *sim.Proc, e plegEvent) {
	if pod, ok := k.podManager.GetPodByUID(e.uid); ok && e.typ != containerRemoved {
		k.sim.Turn("sync loop", "PLEG events")
		cause := k.causeOfRelist(pod.UID)
		p.SetCause(k.note(trace.Record{Kind: trace.SyncLoop, Cause: cause, Pod: podName(pod), Reason: "PLEG",
			Message: string(e.typ) + " " + e.id}, cause))
		k.workers.updatePod(podUpdate{typ: syncSync, pod: pod})
	}
	if e.typ == containerDied {
		k.deletor.cleanUpContainersInPod(e.uid, e.id)
	}
}

// nothingToSync reports whether handleSyncTick will do nothing at the time at, which is not in the
// past, if nothing changes until then.
func (k *Kubelet) nothingToSync(at virtual.Time) bool {
	if k.workQueue.ready(at) || !k.runtimeHealthy(at) {
		return false
	}
	return len(k.podManager.limited) == 0 || !k.anyPastActiveDeadline(k.now().Add(at.Sub(k.sim.Now())))
}

// nothingToSyncUntil returns the last time at which handleSyncTick will do nothing if nothing
// changes until then but the times of the relists and the checks of the runtime.
func (k *Kubelet) nothingToSyncUntil() virtual.Time {
	if !k.nothingToSync(k.sim.Now()) || len(k.podManager.limited) > 0 {
		return virtual.Min
	}
	until := k.pleg.relistTime.Add(relistThreshold)
	// else each check finds the runtime ready
	if k.sim.Now() > k.lastReady.Add(runtimeCheckPeriod) || k.runtimeStaysUp() < virtual.Max {
		until = min(until, k.lastReady.Add(runtimeThreshold)-1)
	}
	if _, due, ok := k.workQueue.times.Next(); ok {
		until = min(until, due) // a pod becomes due a nanosecond after its time
	}
	return until
}

// handleSyncTick hands the pods that are due to their workers, in any order (HandlePodSyncs in
// pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) handleSyncTick(p *sim.Proc) {
	due := k.getPodsToSync()
	choose.Guided(&k.sim.Asker, "sync tick", due, k.podManager.nameOf)
	choose.Shuffle(k.sim, "sync tick", due)
	k.sim.Turn("sync loop", "sync ticker")
	for _, uid := range due {
		if pod, ok := k.podManager.GetPodByUID(uid); ok {
			cause := k.causeOfLastSync(uid)
			p.SetCause(k.note(trace.Record{Kind: trace.SyncLoop, Cause: cause, Pod: podName(pod), Reason: "SYNC"},
				cause))
			k.workers.updatePod(podUpdate{typ: syncSync, pod: pod})
		}
	}
}

// getPodsToSync returns the pods whose time in the work queue has passed, and the pods past their
// active deadline, which are synced at every tick (getPodsToSync in pkg/kubelet/kubelet.go at
// v1.37.0).
func (k *Kubelet) getPodsToSync() []types.UID {
	due := k.workQueue.getWork(k.sim.Now())
	for _, uid := range k.podManager.limited {
		if !slices.Contains(due, uid) && k.pastActiveDeadline(k.podManager.pods[uid], k.now()) {
			due = append(due, uid)
		}
	}
	return due
}

// handleLiveness syncs a pod whose liveness probe has failed.
func (k *Kubelet) handleLiveness(p *sim.Proc, u results.Update) {
	if k.prober.IsResultCurrent(p, u, trace.Liveness) && u.Result == results.Failure {
		k.handleProbeSync(p, u, "liveness")
	}
}

// handleReadiness stores the result of a readiness probe in the pod's status and syncs the pod.
func (k *Kubelet) handleReadiness(p *sim.Proc, u results.Update) {
	if !k.prober.IsResultCurrent(p, u, trace.Readiness) {
		return
	}
	k.status.SetContainerReadiness(u.PodUID, u.ContainerID, u.Result == results.Success)
	k.handleProbeSync(p, u, "readiness")
}

// handleStartup stores the result of a startup probe in the pod's status and syncs the pod.
func (k *Kubelet) handleStartup(p *sim.Proc, u results.Update) {
	if !k.prober.IsResultCurrent(p, u, trace.Startup) {
		return
	}
	k.status.SetContainerStartup(u.PodUID, u.ContainerID, u.Result == results.Success)
	k.handleProbeSync(p, u, "startup")
}

// handleHousekeeping cleans up after pods that are gone. It does nothing until the sync loop has
// handled the first list of pods.
func (k *Kubelet) handleHousekeeping(p *sim.Proc) {
	if k.sourcesReady() {
		k.sim.Turn("sync loop", "housekeeping ticker")
		k.handlePodCleanups(p)
	}
}

// handleProbeSync syncs the pod of a probe result that has changed (function of that name in
// pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) handleProbeSync(p *sim.Proc, u results.Update, probe string) {
	if pod, ok := k.podManager.GetPodByUID(u.PodUID); ok {
		k.sim.Turn("sync loop", probe+" updates")
		p.SetCause(k.note(trace.Record{Kind: trace.SyncLoop, Cause: p.Cause(), Pod: podName(pod), Reason: probe,
			Message: u.Result.String()}, p.Cause()))
		k.workers.updatePod(podUpdate{typ: syncSync, pod: pod})
	}
}

// canAdmit reports whether a new pod may run, and whether it has a resize that waits. A pod that
// the node rejects fails (HandlePodAdditions in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) canAdmit(p *sim.Proc, pod *v1.Pod) (admitted, waits bool) {
	w, known := k.workers.workers[pod.UID]
	if known && w.terminating || status.IsTerminal(pod.Status.Phase) {
		return true, false
	}
	return k.allocations.add(p, pod)
}

// rejectPod sets the status of a pod to Failed (function of that name in pkg/kubelet/kubelet.go at
// v1.37.0).
func (k *Kubelet) rejectPod(pod *v1.Pod, r rejection) {
	k.rejected = append(k.rejected, pod.UID)
	k.podEvent(pod, v1.EventTypeWarning, r.reason, r.message)
	k.status.SetPodStatus(pod, &v1.PodStatus{
		QOSClass: pod.Status.QOSClass, Phase: v1.PodFailed, Reason: r.reason, Message: "Pod was rejected: " + r.message,
	})
}

// isNotAdmitted reports whether the kubelet ignores changes of a pod because it did not admit the
// pod (HandlePodUpdates and HandlePodReconcile in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) isNotAdmitted(pod *v1.Pod) bool {
	_, admitted := k.disk.allocated[pod.UID]
	return k.profile.UpdateNeedsAdmission && !admitted
}

// syncPod moves a pod toward its specification: it computes and stores the status, adds the probe
// workers, and then starts and stops containers. The first status of a pod is computed before its
// probe workers exist (SyncPod in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) syncPod(p *sim.Proc, w *podWorker, u podUpdate, s *podStatus) syncResult {
	k.ensureProbes(p, u.pod, s)
	k.checkPodResizeInProgress(u.pod, s)
	api, cause := k.generateAPIPodStatus(p, u, s, workSync)
	s.ips = ipsOf(api)
	terminal := status.IsTerminal(api.Phase)
	k.setPodStatus(p, u.pod, api, cause)
	if terminal {
		w.cause = cause
		return syncResult{terminal: true}
	}
	if !k.networkReady(u.pod) {
		return syncResult{err: true, network: true}
	}
	k.createPodCgroup(u.pod)
	k.tryReconcileMirrorPods(p, u)
	if !k.volumes.waitForAttachAndMount(p, w, u.pod) {
		return syncResult{err: true}
	}
	if k.profile.ActuatedAtEachSync {
		k.initializeActuated(u.pod)
	}
	if k.reconcileProbes(p, w, u.pod) {
		api, cause = k.generateAPIPodStatus(p, u, s, workSync)
		k.setPodStatus(p, u.pod, api, cause)
	}
	restarting := status.FindCondition(api, podutil.AllContainersRestarting)
	did := k.syncPodContainers(p, u, s, restarting != nil && restarting.Status == v1.ConditionTrue)
	if did.reset && !did.err {
		// the next sync starts the containers
		k.workers.updatePod(podUpdate{typ: syncUpdate, pod: u.pod, mirror: u.mirror, again: true})
	}
	if did.resize != nil {
		k.failedToResize(u.pod, did.resize)
	}
	return did
}

// tryReconcileMirrorPods creates the mirror pod of a static pod if there is none. It replaces a
// mirror pod that is being deleted, or that shows an earlier manifest. Without the API server, the
// next sync tries again (function of that name in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) tryReconcileMirrorPods(p *sim.Proc, u podUpdate) {
	if !podutil.IsStatic(u.pod) {
		return
	}
	missing := u.mirror == nil
	if !missing && (u.mirror.DeletionTimestamp != nil || !podutil.IsMirrorOf(u.mirror, u.pod)) {
		missing = k.api.DeleteMirror(p, u.pod.Namespace, u.pod.Name, u.mirror.UID)
	}
	if missing {
		k.api.CreateMirror(p, u.pod)
	}
}

// registrationPeriod is the time between two looks for the node (fastStaticPodsRegistration in
// pkg/kubelet/kubelet.go at v1.37.0).
const registrationPeriod = 100 * time.Millisecond

// fastStaticPodsRegistration creates the mirror pods of the static pods that the kubelet knows as
// soon as the kubelet knows its node. That takes one period, after which the sync loop, too, takes
// its first work, in any order (function of that name in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) fastStaticPodsRegistration(p *sim.Proc) {
	p.Sleep(registrationPeriod)
	known := slices.Sorted(maps.Keys(k.podManager.static))
	choose.Shuffle(k.sim, "registered static pods", known)
	var updates []podUpdate
	for _, name := range known {
		updates = append(updates, podUpdate{pod: k.podManager.static[name], mirror: k.podManager.mirrors[name]})
	}
	for _, u := range updates {
		p.SetCause(cmp.Or(k.podManager.wanted[u.pod.UID], k.started))
		k.tryReconcileMirrorPods(p, u)
	}
}

// ensureProbes compares the probe workers of a pod with its running containers. A sync must do so
// before it computes the status, which would show a restart of the kubelet otherwise (SyncPod in
// pkg/kubelet/kubelet.go of kubernetes/kubernetes#140704, from its tests).
func (k *Kubelet) ensureProbes(p *sim.Proc, pod *v1.Pod, s *podStatus) {
	var running []prober.Instance
	for _, c := range s.running().containers {
		running = append(running, prober.Instance{Name: c.Name, ContainerID: containerIDPrefix + c.ID,
			StartedAt: k.wall(c.StartedAt)})
	}
	k.prober.EnsureProbes(p, pod, probeIP(pod, s.ip()), running)
}

// reconcileProbes starts the missing probe workers of a pod, and reports whether the status must be
// computed again because the pod got or lost probes. With MutableContainerProbes, a pod that
// terminates gets no workers (SyncPod in pkg/kubelet/kubelet.go at v1.37.0 and in
// kubernetes/kubernetes#142096 at 7862f4b).
func (k *Kubelet) reconcileProbes(p *sim.Proc, w *podWorker, pod *v1.Pod) (statusChanged bool) {
	return !(k.profile.MutableContainerProbes && w.terminating) && k.prober.ReconcilePod(p, pod)
}

// probeIP returns the address that the probes of a pod connect to.
func probeIP(pod *v1.Pod, ip string) string {
	if ip == "" && pod.Spec.HostNetwork {
		return hostIP
	}
	return ip
}

// networkReady reports whether the network of a pod is ready, and records an event if it is not.
// Pods in the network of the host are always ready (SyncPod in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) networkReady(pod *v1.Pod) bool {
	why := k.runtimeState.networkError
	if why == "" || pod.Spec.HostNetwork {
		return true
	}
	k.podEvent(pod, v1.EventTypeWarning, "NetworkNotReady", networkNotReady+": "+why)
	return false
}

// setPodStatus stores a status with a cause that differs from the cause of the sync.
func (k *Kubelet) setPodStatus(p *sim.Proc, pod *v1.Pod, api *v1.PodStatus, cause int64) {
	k.status.WaitToStore(p, pod)
	p.WithCause(cause, func() { k.status.SetPodStatus(pod, api) })
}

// ipsOf returns the IP addresses in a pod status.
func ipsOf(s *v1.PodStatus) []string {
	var ips []string
	for _, ip := range s.PodIPs {
		ips = append(ips, ip.IP)
	}
	return ips
}

// syncTerminatingPod stops the containers of a pod and stores their final states. It reports false
// if a container could not be stopped or inspected. Readiness probes continue until the containers
// have stopped (SyncTerminatingPod in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) syncTerminatingPod(p *sim.Proc, w *podWorker, u podUpdate, s *podStatus) bool {
	p.SetCause(w.cause)
	api, cause := k.generateAPIPodStatus(p, u, s, workTerminating)
	mark := w.mark // an eviction that comes later is not the reason
	if mark != nil {
		mark(u.pod, api)
	}
	k.setPodStatus(p, u.pod, api, cause)
	k.prober.StopLivenessAndStartup(p, u.pod)
	if err := k.killPod(p, u, s.running(), u.grace); err != nil {
		k.failedToKill(u, err)
		return false
	}
	k.prober.RemovePod(p, u.pod)
	stopped := k.getPodStatusNow(p, u.pod.UID)
	if stopped.err != nil {
		return false
	}
	stopped.ips = s.ips
	api, cause = k.generateAPIPodStatus(p, u, stopped, workTerminated)
	if mark != nil && k.profile.FailureIsKept {
		mark(u.pod, api)
	}
	k.setPodStatus(p, u.pod, api, cause)
	return true
}

// failedToKill records the event of a pod that could not be stopped.
func (k *Kubelet) failedToKill(u podUpdate, err error) {
	k.podEvent(u.pod, v1.EventTypeWarning, "FailedKillPod", fmt.Sprintf("error killing pod: %v", err))
}

// orphanGrace is the grace period, in seconds, of a pod that only the runtime knows
// (SyncTerminatingRuntimePod in pkg/kubelet/kubelet.go at v1.37.0).
const orphanGrace = int64(1)

// syncTerminatingRuntimePod stops a pod that only the runtime knows, and removes its worker. If
// this fails, it returns false and the next housekeeping tries again (SyncTerminatingRuntimePod in
// pkg/kubelet/kubelet.go at v1.37.0).
func (p *podWorkers) syncTerminatingRuntimePod(proc *sim.Proc, w *podWorker) bool {
	grace := orphanGrace
	u, _ := p.startPodSync(proc, w)
	if err := p.k.killPod(proc, u, *w.orphan, &grace); err != nil {
		p.k.failedToKill(u, err)
		p.completeWork(proc, w, workTerminating, syncResult{err: true})
		return false
	}
	p.forget(w)
	p.order = slices.DeleteFunc(p.order, func(uid types.UID) bool { return uid == w.uid })
	return true
}

// syncTerminatedPod stores the final status of a pod without running containers. The status manager
// can sync the pod between the two writes (SyncTerminatedPod in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) syncTerminatedPod(p *sim.Proc, w *podWorker, u podUpdate, s *podStatus) {
	p.SetCause(cmp.Or(w.cause, p.Cause()))
	api, cause := k.generateAPIPodStatus(p, u, s, workTerminated)
	k.setPodStatus(p, u.pod, api, cause)
	p.Preempt("pod status stored, not terminated")
	k.volumes.waitForUnmount(p, u.pod)
	k.volumes.forget(u.pod)
	k.status.TerminatePod(u.pod)
}

// onPodSandboxReady sets the condition PodReadyToStartContainers in the stored status. It reads and
// writes the status without a lock around both, so a status that is stored in between is lost until
// the next sync (OnPodSandboxReady in pkg/kubelet/kubelet.go at v1.37.0).
func (k *Kubelet) onPodSandboxReady(p *sim.Proc, u podUpdate) {
	stored, ok := k.status.GetPodStatus(u.pod.UID)
	if !ok {
		stored = &u.pod.Status
	}
	s := stored.DeepCopy()
	ready := v1.PodCondition{Type: v1.PodReadyToStartContainers, Status: v1.ConditionTrue,
		ObservedGeneration: u.pod.Generation}
	replaced := false
	for i := range s.Conditions {
		if s.Conditions[i].Type == ready.Type {
			s.Conditions[i], replaced = ready, true
		}
	}
	if !replaced {
		s.Conditions = append(s.Conditions, ready)
	}
	p.Preempt("pod status read, not written back")
	k.status.SetPodStatus(u.pod, s)
}

// Checks of the container runtime.
const (
	// runtimeCheckPeriod is the time between two checks. The runtime is unhealthy when the last
	// check that found it ready is older than runtimeThreshold (pkg/kubelet/kubelet.go at v1.37.0).
	runtimeCheckPeriod = 5 * time.Second
	runtimeThreshold   = 30 * time.Second
	// networkNotReady begins the messages of pods that wait for the network (pkg/kubelet/errors.go
	// at v1.37.0).
	networkNotReady = "network is not ready"
)

// updateRuntimeUp checks the status of the container runtime now and every five seconds. If the
// call fails, the previous status stays (updateRuntimeUp in pkg/kubelet/kubelet.go at v1.37.0). The
// call takes no virtual time, so a timer is enough.
func (k *Kubelet) updateRuntimeUp() {
	var timer *sim.Timer
	check := func() {
		op := k.runtime.Answer(fakeruntime.Call{Method: fakeruntime.Status})
		if op.Err == nil {
			k.runtimeState.update(k.sim.Now(), op.Conditions)
		}
		k.runtime.Release(op)
		k.sim.Set(timer, k.sim.Now().Add(runtimeCheckPeriod))
	}
	timer = k.sim.NewTimer("runtime check", check)
	k.sim.FastForward(timer, sim.Idle{Until: k.runtimeStaysUp, Period: runtimeCheckPeriod, AnyOrder: true,
		Fire: func(_ int64, at, _ virtual.Time) {
			k.lastReady = at
			k.sim.Set(timer, at.Add(runtimeCheckPeriod))
		}})
	check()
}

// runtimeStaysUp returns virtual.Max if a check would find what the last one found as long as
// nothing changes: the runtime is ready.
func (k *Kubelet) runtimeStaysUp() virtual.Time {
	if k.notReady || k.networkError != "" || k.listsEnd(k.sim.Now()) == virtual.Max {
		return virtual.Min
	}
	if !k.runtime.Healthy() {
		return virtual.Min
	}
	return virtual.Max
}

// monotonic returns the time of the node's monotonic clock, which clock steps do not change.
func (k *Kubelet) monotonic() time.Time { return k.wall(virtual.Wall(k.sim.Now())) }

// since returns the time that has passed since a timestamp of the runtime. Runtime timestamps have
// no monotonic reading, so the result follows the wall clock and is negative after the clock was
// set back.
func (k *Kubelet) since(t virtual.Wall) time.Duration { return k.now().Sub(k.wall(t)) }

// note writes an internal record about the present instant and returns its step. If the recorder
// does not include records of this kind, note returns otherwise, or 0 if it is missing.
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

// ContainerEvent records an event about a container of a pod. Like all events it has the cause of
// the running process.
func (k *Kubelet) ContainerEvent(pod *v1.Pod, container, eventType, reason, message string) int64 {
	if reason != trace.ProbeChanged {
		return k.event(pod, container, eventType, reason, message)
	}
	var step int64
	k.sim.WithCause(k.causeOfChange(pod.UID), func() { step = k.event(pod, container, eventType, reason, message) })
	return step
}

// event records an event about a container, or about the whole pod if container is empty, and
// returns the step of the record.
func (k *Kubelet) event(pod *v1.Pod, container, eventType, reason, message string) int64 {
	return k.trace.Add(trace.Record{
		T: k.sim.Now(), Kind: trace.Event, Cause: k.sim.Cause(), Pod: pod.Namespace + "/" + pod.Name,
		Container: container,
		Instance:  k.runtime.EventInstance(string(pod.UID), container, reason), Type: eventType, Reason: reason,
		Message: message,
	})
}

// podEvent records an event about a pod and returns the step of the record.
func (k *Kubelet) podEvent(pod *v1.Pod, eventType, reason, message string) int64 {
	return k.event(pod, "", eventType, reason, message)
}

// podName returns NAMESPACE/NAME of a pod.
func podName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// formatPod returns the name of a pod as messages show it (pkg/kubelet/util/format/pod.go at
// v1.37.0).
func formatPod(pod *v1.Pod) string { return fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID) }
