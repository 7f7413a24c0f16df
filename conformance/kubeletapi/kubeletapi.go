// Package kubeletapi hides the differences between the Go APIs of the kubelets of all releases, and
// compiles with each of them. If the parameters of a function differ, the package calls it by
// reflection. If the methods of an interface differ, the package has a type for each form. What
// only some releases can name is in package kubelet/release of each release.
package kubeletapi

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cadvisor"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/config"
	_ "k8s.io/kubernetes/pkg/kubelet/eviction" // for linkname
	"k8s.io/kubernetes/pkg/kubelet/metrics/collectors"
	"k8s.io/kubernetes/pkg/kubelet/status"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"

	"probesim.dev/conformance/kubelet/release"
)

// call calls a function of the kubelet. It leaves off the last arguments if the function takes
// fewer. Nil is the zero value of any type.
func call(function any, args ...any) []reflect.Value {
	f := reflect.ValueOf(function)
	in := make([]reflect.Value, f.Type().NumIn())
	for i := range in {
		in[i] = reflect.Zero(f.Type().In(i))
		if args[i] != nil {
			in[i] = reflect.ValueOf(args[i]).Convert(in[i].Type())
		}
	}
	return f.Call(in)
}

// result calls a function of the kubelet like call, and returns its only result.
func result[T any](function any, args ...any) T { return call(function, args...)[0].Interface().(T) }

// oneOf returns the form that implements T in this release.
func oneOf[T any](forms ...any) T {
	for _, f := range forms {
		if t, ok := f.(T); ok {
			return t
		}
	}
	panic(fmt.Sprintf("no form of %v for %s", reflect.TypeFor[T](), release.Version))
}

// NewKubelet creates a kubelet for a node, with the garbage collection defaults of
// cmd/kubelet/app/options/options.go.
func NewKubelet(ctx context.Context, c *kubeletconfig.KubeletConfiguration, deps *kubelet.Dependencies, node string,
	ip net.IP, root string) (*kubelet.Kubelet, error) {
	ips, logs := []net.IP{ip}, filepath.Join(root, "logs")
	args := []any{ctx, c, deps, nil, node, node, ips, "", "external", "", root, logs, "", "", false, nil, nil, "",
		false, false,
		metav1.Duration{}, 1, -1, nil, 50, false}
	if release.Version < "v1.34" {
		args = []any{c, deps, nil, node, false, node, ips, "", "external", "", root, logs, "", "", false, nil, nil, "",
			false, false,
			metav1.Duration{}, 1, -1, true, nil, 50, false}
	}
	results := call(kubelet.NewMainKubelet, args...)
	err, _ := results[1].Interface().(error)
	return results[0].Interface().(*kubelet.Kubelet), err
}

// PreInitRuntimeService creates the CRI clients of a kubelet. Since v1.36 it has a context.
func PreInitRuntimeService(ctx context.Context, c *kubeletconfig.KubeletConfiguration,
	deps *kubelet.Dependencies) error {
	args := []any{ctx, c, deps}
	if reflect.TypeOf(kubelet.PreInitRuntimeService).NumIn() == 2 {
		args = args[1:]
	}
	err, _ := call(kubelet.PreInitRuntimeService, args...)[0].Interface().(error)
	return err
}

// WithLogger returns a context whose logger a kubelet uses. Up to v1.35 it also sets the logger of
// the process, which the probe workers of these releases use instead.
func WithLogger(ctx context.Context, logger logr.Logger) context.Context {
	if release.Version < "v1.36" {
		klog.SetLogger(logger)
		var verbosity klog.Level
		if err := verbosity.Set("4"); err != nil {
			panic(err)
		}
	}
	return klog.NewContext(ctx, logger)
}

// Run starts the kubelet, which runs until ctx is done. Up to v1.35 it never ends.
func Run(ctx context.Context, k *kubelet.Kubelet, pods *config.PodConfig) {
	until135, ok := any(k).(interface {
		StartGarbageCollection()
		Run(<-chan kubetypes.PodUpdate)
	})
	if ok {
		until135.StartGarbageCollection()
		go until135.Run(pods.Updates())
		return
	}
	since136 := any(k).(interface {
		StartGarbageCollection(context.Context)
		Run(context.Context, <-chan kubetypes.PodUpdate)
	})
	since136.StartGarbageCollection(ctx)
	go since136.Run(ctx, pods.Updates())
}

// NewPodConfig returns the PodConfig that merges the sources of pods.
func NewPodConfig(recorder record.EventRecorderLogger, latency util.PodStartupLatencyTracker) *config.PodConfig {
	args := []any{recorder, latency}
	if release.Version < "v1.36" {
		args = []any{3, recorder, latency} // PodConfigNotificationIncremental
	}
	return result[*config.PodConfig](config.NewPodConfig, args...)
}

// PodUpdate returns a value for the channel of a source in PodConfig, with all pods of the source.
// elem is the element type of the channel, which is not exported. Up to v1.35 it is any.
func PodUpdate(elem reflect.Type, pods []*v1.Pod) reflect.Value {
	if elem.Kind() == reflect.Interface {
		return reflect.ValueOf(kubetypes.PodUpdate{Pods: pods, Source: kubetypes.ApiserverSource}) // the zero Op is SET
	}
	update := reflect.New(elem).Elem()
	update.FieldByName("Pods").Set(reflect.ValueOf(pods))
	return update
}

// Collectors returns the collectors that a kubelet registers in the metrics registries of the
// process.
func Collectors() []metrics.StableCollector {
	return append(release.Collectors(), collectors.NewVolumeStatsCollector(nil), collectors.NewLogMetricsCollector(nil))
}

// PodCgroup returns the cgroup configuration that a kubelet with default settings writes for a pod.
// Since v1.36 the settings include the policy for memory reservations.
func PodCgroup(pod *v1.Pod) *cm.ResourceConfig {
	return result[*cm.ResourceConfig](cm.ResourceConfigForPod, pod, true, cm.QuotaPeriod, false, "None")
}

// NewNodeStartupLatencyTracker returns a tracker for the kubelet's metrics. Since v1.37 it has a
// logger.
func NewNodeStartupLatencyTracker(ctx context.Context) util.NodeStartupLatencyTracker {
	return result[util.NodeStartupLatencyTracker](util.NewNodeStartupLatencyTracker, klog.FromContext(ctx))
}

// ImageOfSize sets the size of an image in bytes, and returns the image.
func ImageOfSize(bytes uint64, image *runtimeapi.Image) *runtimeapi.Image {
	name := "Size"
	if release.Version < "v1.34" {
		name = "Size_"
	}
	reflect.ValueOf(image).Elem().FieldByName(name).SetUint(bytes)
	return image
}

// NewCAdvisor returns a cAdvisor that reports the size of the machine to the kubelet.
func NewCAdvisor(cores int, memoryBytes uint64) cadvisor.Interface {
	m := &release.MachineInfo{NumCores: cores, MemoryCapacity: memoryBytes}
	return oneOf[cadvisor.Interface](&machineUntil136{info: m}, &machineSince137{info: m})
}

// CAdvisors of the releases, which differ in MachineInfo.
type (
	machineUntil136 struct {
		cadvisortest.Fake
		info *release.MachineInfo
	}
	machineSince137 machineUntil136
)

func (c *machineUntil136) MachineInfo() (*release.MachineInfo, error) { return c.info, nil }

func (c *machineSince137) MachineInfo(klog.Logger) (*release.MachineInfo, error) { return c.info, nil }

// WatchStatus returns a status manager that calls stored before each status that a pod worker
// stores in m.
func WatchStatus(m status.Manager, stored func(*v1.Pod)) status.Manager {
	w := watchedStatus{m, stored}
	return oneOf[status.Manager](statusUntil133{w}, statusUntil135{w}, statusSince136{w})
}

type watchedStatus struct {
	status.Manager
	stored func(*v1.Pod)
}

// Status managers of the releases, which differ in SetPodStatus. It calls stored, and stores the
// status.
type (
	statusUntil133 struct{ watchedStatus }
	statusUntil135 struct{ watchedStatus }
	statusSince136 struct{ watchedStatus }
)

func (m statusUntil133) SetPodStatus(pod *v1.Pod, s v1.PodStatus) {
	m.stored(pod)
	any(m.Manager).(interface{ SetPodStatus(*v1.Pod, v1.PodStatus) }).SetPodStatus(pod, s)
}

func (m statusUntil135) SetPodStatus(logger klog.Logger, pod *v1.Pod, s v1.PodStatus) {
	m.stored(pod)
	any(m.Manager).(interface {
		SetPodStatus(klog.Logger, *v1.Pod, v1.PodStatus)
	}).SetPodStatus(logger, pod, s)
}

func (m statusSince136) SetPodStatus(logger klog.Logger, pod *v1.Pod, s v1.PodStatus) (v1.PodStatus, bool) {
	m.stored(pod)
	return any(m.Manager).(interface {
		SetPodStatus(klog.Logger, *v1.Pod, v1.PodStatus) (v1.PodStatus, bool)
	}).SetPodStatus(logger, pod, s)
}

// GRPCInterceptor runs instead of a gRPC prober. It can call run, which runs the real prober for a
// service.
type GRPCInterceptor func(service string, timeout time.Duration,
	run func(service string) (probe.Result, string, error)) (probe.Result, string, error)

// InterceptGRPC returns a prober that passes each probe to intercept.
func InterceptGRPC(real grpcprobe.Prober, intercept GRPCInterceptor) grpcprobe.Prober {
	return oneOf[grpcprobe.Prober](proberUntil136{real, intercept}, proberSince137{real, intercept})
}

// Probers of the releases, which pass the probe to the interceptor.
type (
	proberUntil136 struct {
		real      any
		intercept GRPCInterceptor
	}
	proberSince137 proberUntil136
)

func (p proberUntil136) Probe(host, service string, port int, timeout time.Duration) (probe.Result, string, error) {
	return p.intercept(service, timeout, func(service string) (probe.Result, string, error) {
		return p.real.(interface {
			Probe(host, service string, port int, timeout time.Duration) (probe.Result, string, error)
		}).Probe(host, service, port, timeout)
	})
}

func (p proberSince137) Probe(host, service string, port int, timeout time.Duration,
	o release.ProbeOptions) (probe.Result, string, error) {
	return p.intercept(service, timeout, func(service string) (probe.Result, string, error) {
		return p.real.(interface {
			Probe(host, service string, port int, timeout time.Duration, o release.ProbeOptions) (probe.Result, string,
				error)
		}).Probe(host, service, port, timeout, o)
	})
}

// EvictPod runs evictPod of an eviction manager for a pod, and returns when the pod is gone
// (pkg/kubelet/eviction/eviction_manager.go).
func EvictPod(manager unsafe.Pointer, pod *v1.Pod, grace int64, message string, condition *v1.PodCondition) {
	if release.Version < "v1.35" {
		evictPodUntil134(manager, pod, grace, message, nil, condition)
	} else {
		evictPod(manager, klog.Logger{}, pod, grace, message, nil, condition)
	}
}

//go:linkname evictPod k8s.io/kubernetes/pkg/kubelet/eviction.(*managerImpl).evictPod
func evictPod(manager unsafe.Pointer, logger klog.Logger, pod *v1.Pod, gracePeriodOverride int64, message string,
	annotations map[string]string, condition *v1.PodCondition) bool

//go:linkname evictPodUntil134 k8s.io/kubernetes/pkg/kubelet/eviction.(*managerImpl).evictPod
func evictPodUntil134(manager unsafe.Pointer, pod *v1.Pod, gracePeriodOverride int64, message string,
	annotations map[string]string, condition *v1.PodCondition) bool
