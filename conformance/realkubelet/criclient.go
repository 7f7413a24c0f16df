package realkubelet

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path"
	"reflect"
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
	"k8s.io/kubernetes/pkg/kubelet"
	internal "k8s.io/kubernetes/pkg/kubelet/apis/config"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/fakeruntime"
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

// criServer is the other end of the CRI clients of one kubelet.
type criServer struct {
	driver  *connection
	runtime *runtimeServer
	images  *imageServer
}

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

// intercept answers a call. The response is encoded and decoded as on a connection.
func (s *criServer) intercept(ctx context.Context, method string, req, reply any, channel *grpc.ClientConn,
	invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if ctx.Err() != nil {
		s.driver.blockIfCut()
		return status.FromContextError(ctx.Err()).Err()
	}
	if channel.GetState() != connectivity.Ready && !s.driver.isCut() {
		if err := invoke(ctx, method, req, reply, channel, opts...); status.Code(err) != codes.Unimplemented {
			return err
		}
	}
	var service any = s.runtime
	if strings.Contains(method, "ImageService") {
		service = s.images
	}
	result := reflect.ValueOf(service).MethodByName(path.Base(method)).
		Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(req)})
	if err, _ := result[1].Interface().(error); err != nil {
		return status.Convert(err).Err()
	}
	codec := encoding.GetCodecV2("proto")
	data, err := codec.Marshal(result[0].Interface())
	if err != nil {
		return err
	}
	return codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data.Materialize())}, reply)
}
