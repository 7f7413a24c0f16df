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

	"probesim.dev/conformance/kubelet/release"
)

// shiftPodWorkers sets the clock of the pod workers back by one nanosecond. A worker notes when its sync
// ended, and the relist that follows notes when it began; on a node some time passes between the two, in
// the bubble none does, and the comparison of both is strict (pkg/kubelet/container/cache.go, GetNewerThan).
func shiftPodWorkers(k *kubelet.Kubelet) {
	workers := field(reflect.ValueOf(k).Elem(), "podWorkers").Elem().Elem() // of the interface, of the pointer
	field(workers, "clock").Set(reflect.ValueOf(shiftedClock{}))
}

type shiftedClock struct{ clock.RealClock }

func (c shiftedClock) Now() time.Time                  { return c.RealClock.Now().Add(-time.Nanosecond) }
func (c shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// queueLogCleaning has those who remove the logs of containers wait for each other in a channel. The log manager
// itself has them wait for a mutex that it holds across a call to the runtime
// (pkg/kubelet/logs/container_log_manager.go, Clean), and who waits for a mutex keeps the clock of a bubble from
// moving. The pod worker, which removes old init containers, and the deletor meet there. The rotation of logs, which
// holds the mutex too when the kubelet starts, is outside of what is compared: the kubelet starts a manager that
// does nothing.
func queueLogCleaning(k *kubelet.Kubelet) {
	runtime := field(reflect.ValueOf(k).Elem(), "containerRuntime").Elem().Elem() // of the interface, of the pointer
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

// field returns a field of an addressable struct that can be set although it is not exported.
func field(of reflect.Value, name string) reflect.Value {
	f := of.FieldByName(name)
	if !f.IsValid() {
		panic("the kubelet has no field " + name)
	}
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

// unregisterCollectors takes the collectors of an earlier kubelet out of the process's registries of
// metrics: a kubelet that finds them there panics.
func unregisterCollectors() {
	registry := legacyregistry.DefaultGatherer.(metrics.KubeRegistry)
	for _, c := range release.Collectors() {
		c.Create(nil, c)
		registry.Unregister(c)
		prometheus.DefaultRegisterer.Unregister(c)
	}
}
