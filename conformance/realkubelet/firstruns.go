package realkubelet

import (
	"reflect"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
	"k8s.io/kubernetes/pkg/kubelet/status"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/proof/search"
	"probesim.dev/prober"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// firstRuns records when each probe worker of a kubelet runs for the first time. It identifies
// workers by goroutine: a worker starts each run by getting the status of its pod, and later probes
// or sets a result, which shows its probe and container (pkg/kubelet/prober/worker.go). A worker
// that never does has no effect on the trace.
type firstRuns struct {
	now   func() virtual.Time
	pods  *podSource
	turns *turnLog

	mu   sync.Mutex
	runs map[string]*workerRun // by goroutine
}

type workerRun struct {
	search.FirstRun
	status v1.PodStatus // the last status that the worker got
}

// watch wraps the managers of a probe manager that has no workers yet, to observe the workers.
func (f *firstRuns) watch(manager reflect.Value) {
	s := field(manager, "statusManager")
	s.Set(reflect.ValueOf(watchedStatus{s.Interface().(status.Manager), f}))
	for name, probe := range map[string]trace.Probe{
		"livenessManager": trace.Liveness, "readinessManager": trace.Readiness, "startupManager": trace.Startup,
	} {
		r := field(manager, name)
		r.Set(reflect.ValueOf(watchedResults{r.Interface().(results.Manager), f, probe}))
	}
}

type watchedStatus struct {
	status.Manager
	runs *firstRuns
}

func (s watchedStatus) GetPodStatus(uid types.UID) (v1.PodStatus, bool) {
	return s.runs.begin(func() (v1.PodStatus, bool) { return s.Manager.GetPodStatus(uid) })
}

type watchedResults struct {
	results.Manager
	runs  *firstRuns
	probe trace.Probe
}

func (r watchedResults) Set(id kubecontainer.ContainerID, result results.Result, pod *v1.Pod) {
	r.runs.set(r.probe, pod, id.String())
	r.Manager.Set(id, result, pod)
}

// begin reads the status with which a worker starts a run, and records the run. No other turn can
// come between the two.
func (f *firstRuns) begin(read func() (v1.PodStatus, bool)) (status v1.PodStatus, ok bool) {
	me := goroutine()
	f.turns.appendAfter(turn{Turn: search.Turn{Point: workerRuns}, goroutine: me}, func() { status, ok = read() })
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.runs[me] == nil {
		f.runs[me] = &workerRun{FirstRun: search.FirstRun{T: f.now()}}
	}
	f.runs[me].status = status
	return status, ok
}

// isWorker reports whether a goroutine is a probe worker.
func (f *firstRuns) isWorker(goroutine string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs[goroutine] != nil
}

// set records that a worker sets a result of a container.
func (f *firstRuns) set(probe trace.Probe, pod *v1.Pod, containerID string) {
	f.identify(probe, pod, func(r *workerRun, container string) bool { return r.hasContainer(container, containerID) })
}

// probed records that a worker has run its probe.
func (f *firstRuns) probed(rec *trace.Record) {
	f.turns.addMine(workerProbed)
	if pod := f.pods.byName(rec.Pod); pod != nil {
		f.identify(rec.Probe, pod, func(_ *workerRun, container string) bool { return container == rec.Container })
	}
}

// identify records which probe this goroutine's worker runs: the one of the pod's container for
// which matches returns true.
func (f *firstRuns) identify(probe trace.Probe, pod *v1.Pod, matches func(r *workerRun, container string) bool) {
	me := goroutine()
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[me]
	if run == nil || run.Worker != "" {
		return
	}
	for c := range podutil.Containers(&pod.Spec) {
		spec := map[trace.Probe]*v1.Probe{
			trace.Liveness: c.LivenessProbe, trace.Readiness: c.ReadinessProbe, trace.Startup: c.StartupProbe,
		}[probe]
		if spec != nil && matches(run, c.Name) {
			run.Worker = prober.WorkerName(probe, pod.Namespace+"/"+pod.Name, c.Name)
			run.Period = time.Duration(spec.PeriodSeconds) * time.Second
			f.turns.name(me, run.Worker)
		}
	}
}

// hasContainer reports whether the worker's status has this ID for the container.
func (r *workerRun) hasContainer(container, id string) bool {
	for _, list := range [][]v1.ContainerStatus{r.status.ContainerStatuses, r.status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == container && list[i].ContainerID == id {
				return true
			}
		}
	}
	return false
}

// all returns the first runs of all identified workers.
func (f *firstRuns) all() []search.FirstRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []search.FirstRun
	for _, r := range f.runs {
		if r.Worker != "" {
			all = append(all, r.FirstRun)
		}
	}
	return all
}
