package realkubelet

import (
	"bytes"
	"reflect"
	"runtime"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/kubelet/status"

	"probesim.dev/conformance/kubelet/release"
)

// workers knows the goroutines of a kubelet's pod workers. A call about an image does not say for which pod it is,
// but it is made on the goroutine of the pod's worker.
type workers struct {
	conn *connection
	mu   sync.Mutex
	pods map[string]string // pod UID by goroutine
}

// stopped reports whether this goroutine is one of them, of a kubelet that was stopped.
func (w *workers) stopped() bool { return w.pod() != "" && w.conn.isCut() }

// pod returns the UID of the pod whose worker this goroutine is, or nothing.
func (w *workers) pod() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pods[goroutine()]
}

// watch has the pod workers of a kubelet that does not run yet make themselves known: with each sync a pod worker
// stores a status in the status manager.
func (w *workers) watch(k *runningKubelet) {
	f := field(reflect.ValueOf(k.Kubelet).Elem(), "statusManager")
	f.Set(reflect.ValueOf(release.WatchStatus(f.Interface().(status.Manager), w.notice)))
}

// notice notes that this goroutine is the worker of a pod.
func (w *workers) notice(pod *v1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pods[goroutine()] = string(pod.UID)
}

// goroutine returns the number of this goroutine.
func goroutine() string {
	buf := make([]byte, 32)
	fields := bytes.Fields(buf[:runtime.Stack(buf, false)]) // goroutine 7 [running]:
	return string(fields[1])
}
