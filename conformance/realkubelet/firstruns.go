package realkubelet

import (
	"reflect"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
	"k8s.io/kubernetes/pkg/kubelet/status"

	"probesim.dev/prober"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// FirstRun is the first run of a probe worker.
type FirstRun struct {
	Worker string // such as "liveness worker default/web/app"
	T      virtual.Time
	Period time.Duration // of the probe
}

// firstRuns finds out when each probe worker of a kubelet ran first. A worker is known by its goroutine: it begins each
// run by getting the status of its pod, and has to probe or to set a result sooner or later, which says whose it is
// (pkg/kubelet/prober/worker.go). One that never does leaves no trace.
type firstRuns struct {
	now  func() virtual.Time
	pods *podSource

	mu   sync.Mutex
	runs map[string]*workerRun // by goroutine
}

type workerRun struct {
	FirstRun
	status v1.PodStatus // that the worker got last
}

// watch has the workers of a probe manager that has none yet make themselves known.
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
	status, ok := s.Manager.GetPodStatus(uid)
	s.runs.begin(status)
	return status, ok
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

// begin notes that a worker begins a run.
func (f *firstRuns) begin(status v1.PodStatus) {
	f.mu.Lock()
	defer f.mu.Unlock()
	me := goroutine()
	if f.runs[me] == nil {
		f.runs[me] = &workerRun{FirstRun: FirstRun{T: f.now()}}
	}
	f.runs[me].status = status
}

// has reports whether a goroutine is that of a worker.
func (f *firstRuns) has(goroutine string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs[goroutine] != nil
}

// set notes that a worker sets a result of a container.
func (f *firstRuns) set(probe trace.Probe, pod *v1.Pod, containerID string) {
	f.is(probe, pod, func(r *workerRun, container string) bool { return r.has(container, containerID) })
}

// probed notes that a worker has run its probe.
func (f *firstRuns) probed(rec *trace.Record) {
	if pod := f.pods.named(rec.Pod); pod != nil {
		f.is(rec.Probe, pod, func(_ *workerRun, container string) bool { return container == rec.Container })
	}
}

// is notes whose worker this goroutine is: that of a probe of a container of the pod.
func (f *firstRuns) is(probe trace.Probe, pod *v1.Pod, of func(r *workerRun, container string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[goroutine()]
	if run == nil || run.Worker != "" {
		return
	}
	for c, _ := range podutil.ContainerIter(&pod.Spec, podutil.AllContainers) {
		spec := map[trace.Probe]*v1.Probe{
			trace.Liveness: c.LivenessProbe, trace.Readiness: c.ReadinessProbe, trace.Startup: c.StartupProbe,
		}[probe]
		if spec != nil && of(run, c.Name) {
			run.Worker = prober.WorkerName(probe, pod.Namespace+"/"+pod.Name, c.Name)
			run.Period = time.Duration(spec.PeriodSeconds) * time.Second
		}
	}
}

// has reports whether the worker was given this ID for the container.
func (r *workerRun) has(container, id string) bool {
	for _, list := range [][]v1.ContainerStatus{r.status.ContainerStatuses, r.status.InitContainerStatuses} {
		if c, ok := podutil.GetContainerStatus(list, container); ok && c.ContainerID == id {
			return true
		}
	}
	return false
}

// all returns the first runs of the workers that are known.
func (f *firstRuns) all() []FirstRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []FirstRun
	for _, r := range f.runs {
		if r.Worker != "" {
			all = append(all, r.FirstRun)
		}
	}
	return all
}
