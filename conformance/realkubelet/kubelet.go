package realkubelet

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/kubelet"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/kubernetes/pkg/kubelet/util"
	"k8s.io/kubernetes/pkg/util/oom"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/kube/kubeletconfig"
)

const (
	nodeIP     = "10.0.0.1"
	clusterDNS = "10.0.0.10"
)

// environment is everything that the kubelet works with.
type environment struct {
	root    string // directory for the kubelet's files
	mounter mount.Interface
	client  kubernetes.Interface
	runtime *runtimeServer
	events  *eventRecorder
	pods    *podSource
	network *network
	workers *workers
	waits   *waits
	config  kubeletconfig.Config
	conn    *connection
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
	if err := dialCRI(ctx, &criServer{o.conn, o.runtime, &imageServer{driver: o.conn, workers: o.workers}}, settings,
		deps); err != nil {
		return nil, err
	}
	deps.RemoteRuntimeService = &recordingRuntime{
		deps.RemoteRuntimeService, o.conn, o.runtime.configs, o.runtime.probes,
	}
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
	o.waits.watch(k)
	queueLogCleaning(k)
	o.workers.watch(running)
	go o.pods.run(ctx, pods, kubetypes.ApiserverSource)
	if o.pods.files != nil {
		go o.pods.files.run(ctx, pods, kubetypes.FileSource)
	}
	kubeletapi.Run(ctx, k, pods)
	return running, nil
}

// dependencies returns the replacements for the node.
func dependencies(ctx context.Context, o environment) *kubelet.Dependencies {
	deps := &kubelet.Dependencies{
		CAdvisorInterface:         newCAdvisor(o.root),
		ContainerManager:          newContainerManager(o.root, sizeOf(o.config)),
		KubeClient:                o.client,
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
