package realkubelet

import (
	"context"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"time"
	"unsafe"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/kubelet/config/v1beta1"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/kubelet"
	internal "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
	"k8s.io/kubernetes/pkg/kubelet/logs"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/utils/clock"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
)

const (
	nodeIP     = "10.0.0.1"
	clusterDNS = "10.0.0.10"
)

// environment is everything that the kubelet works with.
type environment struct {
	*node
	conn    *connection
	runtime *criServer
	events  *eventRecorder
	network *network
	workers *workers
}

// startKubelet creates a kubelet and runs it until ctx is done.
func startKubelet(ctx context.Context, o environment) (*runningKubelet, error) {
	unregisterCollectors()
	if err := os.RemoveAll(filepath.Join(o.root, pluginsRegistry)); err != nil { // cadvisor.Start creates it
		return nil, err
	}
	capabilities.Setup(true, 0)
	settings, err := kubeletConfiguration(o.config)
	if err != nil {
		return nil, err
	}
	shutdowns := make(chan bool, 1)
	kubeletapi.SetSystemBus(shutdowns)
	latency := util.NewPodStartupLatencyTracker()
	pods := kubeletapi.NewPodConfig(o.events, latency)
	deps := dependencies(ctx, o)
	if err := dialCRI(ctx, o.runtime, settings, deps); err != nil {
		return nil, err
	}
	deps.RemoteRuntimeService = &recordingRuntime{deps.RemoteRuntimeService, o.conn, o.runtime.configs, o.network.probes}
	deps.RemoteImageService = &recordingImages{deps.RemoteImageService, o.events}
	deps.PodConfig, deps.PodStartupLatencyTracker = pods, latency
	k, err := kubeletapi.NewKubelet(ctx, settings, deps, nodeName, net.ParseIP(nodeIP), o.root)
	if err != nil {
		return nil, err
	}
	running := &runningKubelet{Kubelet: k}
	if len(o.config.ShutdownPeriods()) > 0 {
		running.shutdowns = shutdowns
	}
	shiftPodWorkers(k)
	o.network.attach(k)
	(&waits{o.conn}).watch(k)
	queueLogCleaning(k)
	o.workers.watch(running)
	go o.events.pods.run(ctx, pods, kubetypes.ApiserverSource)
	if static := o.events.pods.files; static != nil {
		go static.run(ctx, pods, kubetypes.FileSource)
	}
	kubeletapi.Run(ctx, k, pods)
	return running, nil
}

// dependencies returns the replacements for the node.
func dependencies(ctx context.Context, o environment) *kubelet.Dependencies {
	deps := &kubelet.Dependencies{
		CAdvisorInterface:         newCAdvisor(o.root),
		ContainerManager:          newContainerManager(o.root, sizeOf(o.config)),
		KubeClient:                o.api.client(o.conn),
		Mounter:                   o.mounter,
		HostUtil:                  hostutil.NewFakeHostUtil(nil),
		OOMAdjuster:               oom.NewFakeOOMAdjuster(),
		OSInterface:               &logFiles{},
		Subpather:                 &subpath.FakeSubpath{},
		NodeStartupLatencyTracker: kubeletapi.NewNodeStartupLatencyTracker(ctx),
		// With this type of recorder the kubelet does not read the kernel log, which would be real
		// input (pkg/kubelet/oom/oom_watcher_linux.go, NewWatcher).
		Recorder:      &record.FakeRecorder{},
		VolumePlugins: volumePlugins(o.conn),
	}
	deps.TracerProvider = tracerProvider{deps: deps, recorder: o.events}
	return deps
}

// tracerProvider returns no-op tracers and replaces the event recorder. NewMainKubelet asks for a
// tracer after it has created the watcher of the kernel log, and before it uses the recorder for
// anything else (pkg/kubelet/kubelet.go), so this is the place to set the recorder that writes to
// the trace.
type tracerProvider struct {
	noop.TracerProvider
	deps     *kubelet.Dependencies
	recorder record.EventRecorderLogger
}

func (t tracerProvider) Tracer(name string, o ...trace.TracerOption) trace.Tracer {
	t.deps.Recorder = t.recorder
	return t.TracerProvider.Tracer(name, o...)
}

// kubeletConfiguration returns the defaults of KubeletConfiguration with the given settings. It
// disables features that need a real node: ports, cgroups, iptables, files of the node, evictions,
// and the collection of images and statistics.
func kubeletConfiguration(set kubeletconfig.Config) (*internal.KubeletConfiguration, error) {
	types, _, err := scheme.NewSchemeAndCodecs()
	if err != nil {
		return nil, err
	}
	// some defaults depend on them
	versioned := &v1beta1.KubeletConfiguration{FeatureGates: supportedGates(set.FeatureGates)}
	types.Default(versioned)
	c := &internal.KubeletConfiguration{}
	if err := types.Convert(versioned, c, nil); err != nil {
		return nil, err
	}
	c.EnableServer = false
	c.ReadOnlyPort = 0
	c.MakeIPTablesUtilChains = false
	c.CgroupsPerQOS = false
	c.EnforceNodeAllocatable = nil
	c.EvictionHard = map[string]string{}
	c.EnableControllerAttachDetach = false
	c.ImageGCHighThresholdPercent = 100
	c.ImageMaximumGCAge.Duration = 0
	c.VolumeStatsAggPeriod.Duration = -1
	c.ContainerLogMonitorInterval.Duration = 24 * time.Hour
	c.ResolverConfig = ""
	c.ClusterDNS = []string{clusterDNS} // without it the kubelet emits an event at every sync of a pod
	c.MaxPods = maxPods
	applySettings(set, c)
	return c, nil
}

// applySettings writes the settings to a configuration.
func applySettings(set kubeletconfig.Config, c *internal.KubeletConfiguration) {
	if set.SyncFrequency > 0 {
		c.SyncFrequency.Duration = set.SyncFrequency
	}
	if set.RuntimeRequestTimeout > 0 {
		c.RuntimeRequestTimeout.Duration = set.RuntimeRequestTimeout
	}
	if set.MaxContainerRestartPeriod > 0 {
		c.CrashLoopBackOff.MaxContainerRestartPeriod = &metav1.Duration{Duration: set.MaxContainerRestartPeriod}
	}
	if set.ParallelImagePulls {
		c.SerializeImagePulls = false
		if set.MaxParallelImagePulls > 0 {
			c.MaxParallelImagePulls = &set.MaxParallelImagePulls
		}
	}
	c.ShutdownGracePeriod.Duration = set.ShutdownGracePeriod
	c.ShutdownGracePeriodCriticalPods.Duration = set.ShutdownGracePeriodCriticalPods
	for _, p := range set.ShutdownByPriority {
		c.ShutdownGracePeriodByPodPriority = append(c.ShutdownGracePeriodByPodPriority,
			internal.ShutdownGracePeriodByPodPriority{
				Priority: p.Priority, ShutdownGracePeriodSeconds: p.Seconds,
			})
	}
}

// supportedGates returns the feature gates that the release has, without those that it locks to
// another value.
func supportedGates(gates map[string]bool) map[string]bool {
	has, kept := utilfeature.DefaultMutableFeatureGate.GetAll(), maps.Clone(gates)
	maps.DeleteFunc(kept, func(name string, on bool) bool {
		spec, ok := has[featuregate.Feature(name)]
		return !ok || spec.LockToDefault && spec.Default != on
	})
	return kept
}

// setGates sets the feature gates that the release has. They are global, so setGates also returns a
// function that resets them. It returns the simulator's profile of the release with these gates,
// for the fake API server.
func setGates(gates map[string]bool) (p profile.Profile, restore func(), err error) {
	p, ok := profile.Named(release.Version)
	if !ok {
		p = profile.Newest()
	}
	before, set := map[string]bool{}, map[string]bool{}
	for name, on := range gates {
		if with, err := p.SetGate(name, on); err == nil {
			p, set[name], before[name] = with, on, utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name))
		}
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(set); err != nil {
		return p, nil, err
	}
	return p, func() { _ = utilfeature.DefaultMutableFeatureGate.SetFromMap(before) }, nil
}

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

// logFiles ignores the kubelet's file operations, except that it finds and removes log files: the
// kubelet derives the restart count of a lost container from its logs
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, calcRestartCountByLogDir).
type logFiles struct{ containertest.FakeOS }

func (*logFiles) Glob(pattern string) ([]string, error) { return filepath.Glob(pattern) }

func (*logFiles) Remove(path string) error { return os.Remove(path) }
