package realkubelet

import (
	"bytes"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/prober/results"
	"k8s.io/kubernetes/pkg/kubelet/status"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/proof/search"
	"probesim.dev/prober"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// workers maps the goroutines of a kubelet's pod workers to their pods. It finds the pod of a call
// about an image: such a call does not name the pod, but the pod's worker makes it on the worker's
// goroutine.
type workers struct {
	conn *connection
	pods shared[string, string] // pod UIDs by goroutine
}

// stopped reports whether the current goroutine is a pod worker of a stopped kubelet.
func (w *workers) stopped() bool { return w.pod() != "" && w.conn.isCut() }

// pod returns the UID of the pod whose worker runs on the current goroutine, or an empty string.
func (w *workers) pod() string { return w.pods.get(goroutine()) }

// watch wraps the status manager of a kubelet that does not run yet, to observe its pod workers: a
// pod worker stores a status with each sync.
func (w *workers) watch(k *runningKubelet) {
	f := field(reflect.ValueOf(k.Kubelet).Elem(), "statusManager")
	f.Set(reflect.ValueOf(kubeletapi.WatchStatus(f.Interface().(status.Manager), w.setWorker)))
}

// setWorker records that the current goroutine is the pod's worker.
func (w *workers) setWorker(pod *v1.Pod) {
	w.pods.set(goroutine(), string(pod.UID))
}

// goroutine returns the number of the current goroutine.
func goroutine() string {
	buf := make([]byte, 32)
	fields := bytes.Fields(buf[:runtime.Stack(buf, false)]) // goroutine 7 [running]:
	return string(fields[1])
}

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
	f.identify(probe, pod, func(r *workerRun, container string) bool { return idOf(r.status, container) == containerID })
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
		if spec := podutil.ProbeOf(c, string(probe)); spec != nil && matches(run, c.Name) {
			run.Worker = prober.WorkerName(probe, pod.Namespace+"/"+pod.Name, c.Name)
			run.Period = time.Duration(spec.PeriodSeconds) * time.Second
			f.turns.name(me, run.Worker)
		}
	}
}

// idOf returns the ID of a container in the status of a pod, or an empty string.
func idOf(s v1.PodStatus, container string) string {
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		if c.Name == container {
			return c.ContainerID
		}
	}
	return ""
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

// maxAttempts is how often the prober runs a probe that returns an error
// (pkg/kubelet/prober/prober.go, maxProbeRetries).
const maxAttempts = 3

// probeRuns writes ProbeExecuted records. The prober immediately repeats a probe that returns an
// error; all attempts are one run.
type probeRuns struct {
	recorder *recorder
	first    *firstRuns

	mu   sync.Mutex
	runs map[probeKey]*probeRun
}

// probeKey identifies a probe of a container. Its runs do not overlap.
type probeKey struct {
	container string
	probe     trace.Probe
}

type probeRun struct {
	attempts int
	began    virtual.Time
	about    trace.Record // the container that the worker knows when the run begins
}

// begin records the start of an attempt, and reports whether it is a retry. The record says which
// container the worker knows now; its status can change between two attempts.
func (p *probeRuns) begin(key probeKey, about trace.Record) (retry bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[key]
	if run == nil {
		run = &probeRun{began: p.recorder.now(), about: about}
		p.runs[key] = run
	}
	run.attempts++
	return run.attempts > 1
}

// end records the end of an attempt. If it is the last attempt of the run, end writes the record of
// the run.
func (p *probeRuns) end(key probeKey, result trace.Result, message string) {
	run := p.ended(key, result == trace.Error)
	if run == nil {
		return
	}
	rec := run.about
	rec.Result, rec.Message = result, message
	rec.Kind, rec.Probe, rec.Took = trace.ProbeExecuted, key.probe, p.recorder.now().Sub(run.began)
	p.first.probed(&rec)
	p.recorder.add(rec)
}

// ended returns the run if it is over with this attempt, otherwise nil.
func (p *probeRuns) ended(key probeKey, broken bool) *probeRun {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[key]
	if broken && run.attempts < maxAttempts {
		return nil
	}
	delete(p.runs, key)
	return run
}
