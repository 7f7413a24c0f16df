package realkubelet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	remote "k8s.io/cri-client/pkg"
	kubetypes "k8s.io/kubelet/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet"
	internal "k8s.io/kubernetes/pkg/kubelet/apis/config"
	utilexec "k8s.io/utils/exec"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/trace"
)

// The kubelet reaches the runtime through its own CRI clients (k8s.io/cri-client), which give each
// call a deadline and change some errors. The channels of the clients are real: they connect to a
// server that has no methods, fail while the runtime is down, and reconnect with their back-off. An
// interceptor answers the calls of a channel that is connected, on the goroutine of the caller, so
// that the order of calls stays as it is. It comes from a global dial option, as with the probes
// (grpc.go).

// criEndpoint is the prefix of the endpoints of runtimes.
const criEndpoint = "/probesim-cri/"

var (
	criServers   shared[string, *criServer] // by endpoint
	criCount     atomic.Int64
	interceptCRI = sync.OnceFunc(func() { addDialOption.(func(any))(criOption{}) })
)

// dialCRI creates the kubelet's CRI clients for a runtime.
func dialCRI(ctx context.Context, s *criServer, settings *internal.KubeletConfiguration,
	deps *kubelet.Dependencies) error {
	interceptCRI()
	endpoint := criEndpoint + fmt.Sprint(criCount.Add(1))
	criServers.set(endpoint, s)
	defer criServers.remove(endpoint)
	settings.ContainerRuntimeEndpoint = "unix://" + endpoint
	tracers := deps.TracerProvider
	deps.TracerProvider = noop.NewTracerProvider() // the clients ask for a tracer too, too early for tracerProvider
	err := kubeletapi.PreInitRuntimeService(ctx, settings, deps)
	deps.TracerProvider = tracers
	return err
}

type criOption struct{}

// criParams are the parameters of the clients (k8s.io/cri-client pkg/remote_runtime.go) without the
// jitter of the back-off, which is the jitter's middle value.
var criParams = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, MaxDelay: 3 * time.Second},
	MinConnectTimeout: 5 * time.Second,
}

// DialOptionForTarget returns the options of a CRI client, and no option for other clients.
func (criOption) DialOptionForTarget(target url.URL) grpc.DialOption {
	_, endpoint, _ := strings.Cut(target.Path, criEndpoint)
	s := criServers.get(criEndpoint + endpoint)
	if s == nil {
		return grpc.EmptyDialOption{}
	}
	return joinDialOptions.(func(...grpc.DialOption) grpc.DialOption)(
		grpc.WithChainUnaryInterceptor(s.intercept),
		grpc.WithContextDialer(s.dial),
		grpc.WithConnectParams(criParams),
	)
}

// dial connects a channel, unless the runtime is down. The connection ends with the next outage.
func (s *criServer) dial(context.Context, string) (net.Conn, error) {
	client, server := net.Pipe()
	if !s.driver.connect(server) {
		return nil, fakeruntime.ErrDial
	}
	go func() { _ = grpc.NewServer().Serve(&onlyListener{conn: server, stopped: make(chan struct{})}) }()
	return client, nil
}

// turn adds the turn of a process that a call shows.
func (s *criServer) turn(req any) {
	switch q := req.(type) {
	case *runtimeapi.ListPodSandboxRequest:
		if calledBy("GenericPLEG).Relist") {
			s.driver.turn("relist", "begin")
		}
	case *runtimeapi.PodSandboxStatusRequest:
		if calledBy("GenericPLEG).Relist") {
			s.driver.turn("relist", s.configs.sandboxes.get(q.PodSandboxId).GetMetadata().GetUid())
		}
	case *runtimeapi.StopPodSandboxRequest:
		if calledBy("containerGC).evictSandboxes") {
			s.driver.turn("sandbox GC", s.configs.sandboxes.get(q.PodSandboxId).GetMetadata().GetUid())
		}
	case *runtimeapi.ContainerStatusRequest:
		if calledBy("containerGC).evictContainers") {
			config := s.configs.containers.get(q.ContainerId)
			s.driver.turn("container GC",
				config.GetLabels()[kubetypes.KubernetesPodUIDLabel]+"/"+config.GetMetadata().GetName())
		}
	}
}

// intercept answers a call. The response is encoded and decoded as on a connection.
func (s *criServer) intercept(ctx context.Context, method string, req, reply any, channel *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	s.turn(req)
	if ctx.Err() != nil {
		s.driver.blockIfCut()
		return status.FromContextError(ctx.Err()).Err()
	}
	if channel.GetState() != connectivity.Ready && !s.driver.isCut() {
		if err := invoke(ctx, method, req, reply, channel, opts...); status.Code(err) != codes.Unimplemented {
			return err
		}
	}
	response, err := s.answer(ctx, req)
	if err != nil {
		return status.Convert(err).Err()
	}
	codec := encoding.GetCodecV2("proto")
	data, err := codec.Marshal(response)
	if err != nil {
		return err
	}
	return codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data.Materialize())}, reply)
}

// recordingRuntime wraps the kubelet's client of the runtime. It writes records of the commands of
// probes.
type recordingRuntime struct {
	cri.RuntimeService
	driver  *connection
	configs *configs
	probes  *probeRuns
}

// ExecSync removes the tag from the command.
func (r *recordingRuntime) ExecSync(ctx context.Context, id string, command []string,
	timeout time.Duration) ([]byte, []byte, error) {
	whose, command := splitTag(command)
	who := execution{key: whose}
	if slices.Contains(podutil.HookKeys, whose) {
		return r.RuntimeService.ExecSync(context.WithValue(ctx, execution{}, who), id, command, timeout)
	}
	key := probeKey{id, trace.Probe(whose)}
	who.retry = r.probes.begin(key, r.about(id))
	stdout, stderr, err := r.RuntimeService.ExecSync(context.WithValue(ctx, execution{}, who), id, command, timeout)
	result, message := execResult(stdout, err)
	r.probes.end(key, result, message)
	return stdout, stderr, err
}

// about returns a record with the names and the instance of the container.
func (r *recordingRuntime) about(id string) trace.Record {
	config := r.configs.containers.get(id)
	labels := config.GetLabels()
	return trace.Record{
		Pod:       labels[kubetypes.KubernetesPodNamespaceLabel] + "/" + labels[kubetypes.KubernetesPodNameLabel],
		Container: config.GetMetadata().GetName(),
		Instance:  r.driver.instance(id),
	}
}

// maxOutput is the part of a command's output that the prober reads, in bytes
// (pkg/probe/exec/exec.go, maxReadLength).
const maxOutput = 10 << 10

// execResult returns the prober's result for a command (pkg/probe/exec/exec.go).
func execResult(stdout []byte, err error) (trace.Result, string) {
	output := string(stdout[:min(len(stdout), maxOutput)])
	switch {
	case err == nil:
		return trace.Success, output
	case errors.Is(err, remote.ErrCommandTimedOut):
		return trace.Failure, err.Error()
	case errors.As(err, &utilexec.CodeExitError{}):
		return trace.Failure, output
	}
	return trace.Error, err.Error()
}

// recordingImages wraps the kubelet's client of the image service, and writes records of the pulls.
type recordingImages struct {
	cri.ImageManagerService
	events *eventRecorder
}

func (i *recordingImages) PullImage(ctx context.Context, image *runtimeapi.ImageSpec, auth *runtimeapi.AuthConfig,
	sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	rec := i.events.pulls.get(sandbox.GetMetadata().GetUid())
	rec.Kind, rec.Message = trace.ImagePullStarted, image.Image
	i.events.driver.blockIfCut()
	i.events.driver.recorder.add(rec)
	start := i.events.driver.recorder.now()
	ref, err := i.ImageManagerService.PullImage(ctx, image, auth, sandbox)
	rec.Kind, rec.Message, rec.Result = trace.ImagePullEnded, "", resultOf(err)
	rec.Took = i.events.driver.recorder.now().Sub(start)
	if err != nil {
		rec.Message = err.Error()
	}
	i.events.driver.recorder.add(rec)
	return ref, err
}
