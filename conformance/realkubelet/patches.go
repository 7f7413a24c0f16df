package realkubelet

import (
	"context"
	"reflect"
	"time"
	"unsafe"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/logs"
	"k8s.io/utils/clock"

	"probesim.dev/conformance/kubeletapi"
)

// shiftPodWorkers sets the clock of the pod workers back by one nanosecond. The kubelet strictly
// compares the end of a pod worker's sync with the start of the next relist
// (pkg/kubelet/container/cache.go, GetNewerThan). On a node some time passes between the two; in
// the bubble none does.
func shiftPodWorkers(k *kubelet.Kubelet) {
	// the values behind the interface and the pointer
	workers := field(reflect.ValueOf(k).Elem(), "podWorkers").Elem().Elem()
	field(workers, "clock").Set(reflect.ValueOf(shiftedClock{}))
}

type shiftedClock struct{ clock.RealClock }

func (c shiftedClock) Now() time.Time                  { return c.RealClock.Now().Add(-time.Nanosecond) }
func (c shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// queueLogCleaning makes goroutines that remove container logs wait for each other in a channel.
// The log manager's own mutex is held across a call to the runtime
// (pkg/kubelet/logs/container_log_manager.go, Clean), and a goroutine that waits for a mutex stops
// the clock of a bubble. Both the pod worker, which removes old init containers, and the deletor
// clean logs. The rotation of logs holds the mutex too, so the kubelet gets a manager that rotates
// nothing.
func queueLogCleaning(k *kubelet.Kubelet) {
	// the values behind the interface and the pointer
	runtime := field(reflect.ValueOf(k).Elem(), "containerRuntime").Elem().Elem()
	manager := field(runtime, "logManager")
	manager.Set(reflect.ValueOf(queuedLogs{manager.Interface().(logs.ContainerLogManager), make(chan struct{}, 1)}))
	field(reflect.ValueOf(k).Elem(), "containerLogManager").Set(reflect.ValueOf(logs.NewStubContainerLogManager()))
}

type queuedLogs struct {
	logs.ContainerLogManager
	turn chan struct{}
}

func (q queuedLogs) Clean(ctx context.Context, containerID string) error {
	q.turn <- struct{}{}
	defer func() { <-q.turn }()
	return q.ContainerLogManager.Clean(ctx, containerID)
}

// field returns a settable value of an unexported field of an addressable struct.
func field(of reflect.Value, name string) reflect.Value {
	f := of.FieldByName(name)
	if !f.IsValid() {
		panic("the kubelet has no field " + name)
	}
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

// unregisterCollectors removes an earlier kubelet's collectors from the metrics registries of the
// process. A kubelet panics if it finds them there.
func unregisterCollectors() {
	registry := legacyregistry.DefaultGatherer.(metrics.KubeRegistry)
	for _, c := range kubeletapi.Collectors() {
		c.Create(nil, c)
		registry.Unregister(c)
		prometheus.DefaultRegisterer.Unregister(c)
	}
}
