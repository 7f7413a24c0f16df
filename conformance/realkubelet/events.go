package realkubelet

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/events"
	"k8s.io/kubernetes/pkg/kubelet/eviction"

	"probesim.dev/trace"
)

// eventRecorder writes the kubelet's events about pods to the trace at the instant when the kubelet
// emits them. The kubelet's own recorder would send them to the API server from another goroutine.
type eventRecorder struct {
	driver   *connection
	recorder *recorder
	network  *network
	pods     *podSource

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
		if probe, why, unsent := unsentProbe(message); unsent {
			e.network.recordUnsent(requester{uid: about.UID, pod: rec.Pod, container: c, probe: probe}, why)
		}
		if reason == events.PullingImage {
			e.pulls.set(string(about.UID), trace.Record{Pod: rec.Pod, Container: c, Instance: rec.Instance})
		}
		if reason == events.KillingContainer {
			e.kills.set(containerKey{string(about.UID), c}, e.stopReason(about, message))
		}
	}
	e.recorder.add(rec)
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
