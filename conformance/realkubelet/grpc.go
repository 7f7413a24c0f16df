package realkubelet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "unsafe" // for linkname

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/fakeruntime"
)

// grpcProber is what is around the kubelet's prober. That makes a client for each probe, on the goroutine
// that calls it; that is where the client is given another dialer.
type grpcProber struct{ network *network }

// grpcTries are the tries under way by their goroutines.
var grpcTries sync.Map

func newGRPCProber(n *network, real grpcprobe.Prober) grpcprobe.Prober {
	dialPipes()
	return release.AroundGRPC(real, grpcProber{n}.around)
}

// around has the real prober ask. Its service begins with a tag.
func (g grpcProber) around(service string, timeout time.Duration, ask func(service string) (probe.Result, string, error)) (probe.Result, string, error) {
	tag, service, _ := strings.Cut(service, tagEnd)
	return g.network.try(parseAsker(tag), timeout, func(t try) (probe.Result, string, error) {
		me := goroutine()
		grpcTries.Store(me, &t)
		defer grpcTries.Delete(me)
		return ask(service)
	})
}

// What the client's package keeps for its own modules (google.golang.org/grpc internal/internal.go): addDialOption
// adds an option to all clients of the process that is made for each, and comes after the client's own;
// joinDialOptions makes one option of several.
//
//go:linkname addDialOption google.golang.org/grpc/internal.AddGlobalPerTargetDialOptions
var addDialOption any

//go:linkname joinDialOptions google.golang.org/grpc/internal.JoinDialOptions
var joinDialOptions any

// dialPipes has the clients of probes dial pipes.
var dialPipes = sync.OnceFunc(func() { addDialOption.(func(any))(pipeOption{}) })

type pipeOption struct{}

// DialOptionForTarget returns the option of a client that a probe makes; others have none. The back-off between
// two connections has no jitter, which is its middle.
func (pipeOption) DialOptionForTarget(url.URL) grpc.DialOption {
	t, ok := grpcTries.Load(goroutine())
	if !ok {
		return grpc.EmptyDialOption{}
	}
	exact := backoff.DefaultConfig
	exact.Jitter = 0
	return joinDialOptions.(func(...grpc.DialOption) grpc.DialOption)(
		grpc.WithContextDialer((&grpcConnections{try: t.(*try)}).dial),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: exact, MinConnectTimeout: minConnectTimeout}),
	)
}

// minConnectTimeout is what clients have that say nothing (google.golang.org/grpc clientconn.go).
const minConnectTimeout = 20 * time.Second

// grpcConnections are those of one try, one after the other.
type grpcConnections struct {
	*try
	made int
}

// dial connects to the program.
func (c *grpcConnections) dial(_ context.Context, addr string) (net.Conn, error) {
	op := c.request(fakeruntime.Call{Method: fakeruntime.GRPC, Retry: c.made > 0})
	c.made++
	if op.accepted {
		client, server := net.Pipe()
		go serveGRPC(server, op)
		return breaking{client, op}, nil
	}
	done := op.wait()
	if done.Err != nil {
		return nil, done.Err
	}
	if done.Answer != nil && done.Answer.TransportError != "" {
		return nil, errors.New(done.Answer.TransportError)
	}
	return nil, dialError(addr, errRefused)
}

// serveGRPC is a server of one connection. One that is frozen does not even greet.
func serveGRPC(conn net.Conn, op *pending) {
	if !op.thaws() {
		conn.Close()
		return
	}
	secure, r := serveTLS(conn, op, "h2")
	server := grpc.NewServer()
	health.RegisterHealthServer(server, &healthServer{op: op, conn: conn})
	go func() {
		if op.wait().Reply == fakeruntime.Answered {
			server.GracefulStop()
		} else { // a program that is gone says no goodbye
			server.Stop()
		}
	}()
	_ = server.Serve(&onlyListener{conn: peeked{secure, r}, stopped: make(chan struct{})})
}

// onlyListener accepts one connection.
type onlyListener struct {
	conn    net.Conn
	once    sync.Once
	stopped chan struct{}
}

func (l *onlyListener) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		l.conn = nil
		return conn, nil
	}
	<-l.stopped
	return nil, io.EOF
}

func (l *onlyListener) Close() error {
	l.once.Do(func() { close(l.stopped) })
	return nil
}

func (l *onlyListener) Addr() net.Addr { return &net.TCPAddr{} }

// healthServer answers a health check.
type healthServer struct {
	health.UnimplementedHealthServer
	op   *pending
	conn net.Conn
}

func (h *healthServer) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	done := h.op.wait()
	if done.Reply != fakeruntime.Answered {
		h.conn.Close()
		return nil, status.Error(codes.Unavailable, "")
	}
	word, message := done.Answer.Health()
	if serving, known := health.HealthCheckResponse_ServingStatus_value[word]; known {
		return &health.HealthCheckResponse{Status: health.HealthCheckResponse_ServingStatus(serving)}, nil
	}
	var code codes.Code
	if err := code.UnmarshalJSON([]byte(strconv.Quote(word))); err != nil {
		return nil, err
	}
	return nil, status.Error(code, message)
}
