package realkubelet

import (
	"bytes"
	"reflect"
	"runtime"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/status"

	"probesim.dev/conformance/kubeletapi"
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
