package realkubelet

import (
	"fmt"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/kubernetes/pkg/kubelet/eviction"

	simulator "probesim.dev/kubelet"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// eventRecorder writes the kubelet's events about pods to the trace at the instant when the kubelet
// emits them. The kubelet's own recorder would send them to the API server from another goroutine.
type eventRecorder struct {
	driver  *connection
	network *network
	pods    *podSource

	// The reason of the last Killing event. It precedes the preStop hook, the wait for other
	// containers and StopContainer (pkg/kubelet/kuberuntime/kuberuntime_container.go,
	// killContainer).
	kills   shared[containerKey, string]
	evicted shared[string, bool] // by pod UID
	// The pod, the container and the instance of the last Pulling event, by pod UID. A pod pulls
	// one image at a time, and the event precedes each pull (pkg/kubelet/images/image_manager.go,
	// pullImage).
	pulls shared[string, trace.Record]
}

// containerKey identifies a container across its restarts.
type containerKey struct{ podUID, name string }

var _ record.EventRecorderLogger = (*eventRecorder)(nil)

func (e *eventRecorder) WithLogger(klog.Logger) record.EventRecorderLogger { return e }

func (e *eventRecorder) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	e.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

func (e *eventRecorder) AnnotatedEventf(object runtime.Object, _ map[string]string, eventtype, reason, format string,
	args ...any) {
	e.Event(object, eventtype, reason, fmt.Sprintf(format, args...))
}

func (e *eventRecorder) Event(object runtime.Object, eventtype, reason, message string) {
	about, ok := podReference(object)
	if !ok || e.driver.isCut() {
		return
	}
	if reason == eviction.Reason {
		e.evicted.set(string(about.UID), true)
	}
	rec := trace.Record{
		Kind: trace.Event, Pod: about.Namespace + "/" + about.Name,
		Type: eventtype, Reason: reason, Message: untagged(message),
	}
	if c := containerOf(about.FieldPath); c != "" {
		rec.Container = c
		rec.Instance = e.driver.eventInstance(string(about.UID), c, reason)
		if key, why, unsent := unsentProbe(message); unsent {
			e.network.recordUnsent(requester{key, about.UID, rec.Pod, c}, why)
		}
		if reason == events.PullingImage {
			e.pulls.set(string(about.UID), trace.Record{Pod: rec.Pod, Container: c, Instance: rec.Instance})
		}
		if reason == events.KillingContainer {
			e.kills.set(containerKey{string(about.UID), c}, e.stopReason(about, message))
		}
	}
	e.driver.recorder.add(rec)
}

// podReference returns the reference to the pod or container that an event is about.
func podReference(object runtime.Object) (*v1.ObjectReference, bool) {
	switch o := object.(type) {
	case *v1.Pod:
		return &v1.ObjectReference{Kind: "Pod", Namespace: o.Namespace, Name: o.Name, UID: o.UID}, true
	case *v1.ObjectReference:
		return o, o != nil && o.Kind == "Pod"
	}
	return nil, false
}

// containerOf returns the container name in a field path such as spec.containers{name}.
func containerOf(fieldPath string) string {
	_, rest, found := strings.Cut(fieldPath, "{")
	if !found || !strings.HasPrefix(fieldPath, "spec.") {
		return ""
	}
	return strings.TrimSuffix(rest, "}")
}

// stopReason returns why the kubelet stops a container. It derives the reason from the message of
// the Killing event and from the kubelet's version of the pod.
func (e *eventRecorder) stopReason(about *v1.ObjectReference, message string) string {
	pod := e.pods.byUID(about.UID)
	switch reason := simulator.StopReason(message); {
	case reason != "":
		return reason
	case pod == nil || pod.DeletionTimestamp != nil:
		return "Deleted"
	case e.evicted.get(string(about.UID)):
		return "Evicted"
	}
	return "Stopped"
}

// recorder keeps the trace of a run. The kubelet's goroutines write to it concurrently.
type recorder struct {
	now func() virtual.Time

	mu     sync.Mutex
	trace  trace.Recorder
	closed bool
}

// add sets the time of a record and keeps the record. It calls observers while it holds the lock.
func (r *recorder) add(rec trace.Record) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0
	}
	rec.T = r.now()
	return r.trace.Add(rec)
}

func (r *recorder) wantsDetails() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trace.Details
}

func (r *recorder) observe(f func(*trace.Record)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace.Observe(f)
}

// fold adds the records of the requests that are lost. Later observers see them after the record
// that ends or begins a loss.
func (r *recorder) fold(requests *traffic.Fold) {
	r.observe(func(rec *trace.Record) {
		for _, lost := range requests.Observe(rec) {
			r.trace.Add(lost)
		}
	})
}

// close ends the trace and returns the records. Later records, while the kubelet is torn down, are
// dropped.
func (r *recorder) close() []trace.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	records := r.trace.Records()
	r.trace = trace.Recorder{} // free the records: goroutines of the kubelet that never end refer to r
	return records
}
