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

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/fakeruntime"
)

// grpcProber wraps the kubelet's gRPC prober, which creates a client for each probe on the calling
// goroutine. That goroutine identifies the attempt when the client asks for its dialer.
type grpcProber struct{ network *network }

// grpcAttempts has the attempts in progress by goroutine.
var grpcAttempts sync.Map

func newGRPCProber(n *network, real grpcprobe.Prober) grpcprobe.Prober {
	dialPipes()
	return kubeletapi.InterceptGRPC(real, grpcProber{n}.intercept)
}

// intercept runs the real prober for a service whose name starts with a tag.
func (g grpcProber) intercept(service string, timeout time.Duration,
	run func(service string) (probe.Result, string, error)) (probe.Result, string, error) {
	tag, service, _ := strings.Cut(service, tagEnd)
	return g.network.attempt(parseRequester(tag), timeout, func(t attempt) (probe.Result, string, error) {
		me := goroutine()
		grpcAttempts.Store(me, &t)
		defer grpcAttempts.Delete(me)
		return run(service)
	})
}

// Functions that google.golang.org/grpc keeps for its own modules (internal/internal.go).
// addDialOption adds a global option, which is created for each client and applied after the
// client's own options. joinDialOptions combines several options.
//
//go:linkname addDialOption google.golang.org/grpc/internal.AddGlobalPerTargetDialOptions
var addDialOption any

//go:linkname joinDialOptions google.golang.org/grpc/internal.JoinDialOptions
var joinDialOptions any

// dialPipes makes the clients of probes dial pipes.
var dialPipes = sync.OnceFunc(func() { addDialOption.(func(any))(pipeOption{}) })

type pipeOption struct{}

// DialOptionForTarget returns the option of a probe's client, and no option for other clients. The
// back-off between two connections has no jitter, which is the jitter's middle value.
func (pipeOption) DialOptionForTarget(url.URL) grpc.DialOption {
	t, ok := grpcAttempts.Load(goroutine())
	if !ok {
		return grpc.EmptyDialOption{}
	}
	exact := backoff.DefaultConfig
	exact.Jitter = 0
	return joinDialOptions.(func(...grpc.DialOption) grpc.DialOption)(
		grpc.WithContextDialer((&grpcConnections{attempt: t.(*attempt)}).dial),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: exact, MinConnectTimeout: minConnectTimeout}),
	)
}

// minConnectTimeout is the default of gRPC clients (google.golang.org/grpc clientconn.go).
const minConnectTimeout = 20 * time.Second

// grpcConnections are the successive connections of one attempt.
type grpcConnections struct {
	*attempt
	made int
}

// dial connects to the program. A back-off that ends at the deadline ends after it, because the
// probe run begins before its first connection; under virtual time both are at one instant.
func (c *grpcConnections) dial(_ context.Context, addr string) (net.Conn, error) {
	if c.made > 0 && c.driver.now() >= c.deadline {
		return nil, dialError(addr, errRefused)
	}
	op := c.request(fakeruntime.Call{Method: fakeruntime.GRPC, Retry: c.made > 0})
	c.made++
	if op.accepted {
		client, server := net.Pipe()
		go serveGRPC(server, op)
		return grpcConn{&kubeletConn{client, op}}, nil
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

// grpcConn is a pipe with the error of a TCP connection that its own end has closed. That of a node
// has the addresses of both ends, too.
type grpcConn struct{ *kubeletConn }

func (c grpcConn) Read(b []byte) (int, error) {
	n, err := c.kubeletConn.Read(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = &net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}
	}
	return n, err
}

// serveGRPC serves one connection. A frozen program does not even send the server preface.
func serveGRPC(conn net.Conn, op *pending) {
	if !op.waitThawed() {
		conn.Close()
		return
	}
	secure, r := serveTLS(conn, op, "h2")
	server := grpc.NewServer()
	health.RegisterHealthServer(server, &healthServer{op: op, conn: conn})
	go func() {
		if op.wait().Reply == fakeruntime.Answered {
			server.GracefulStop()
		} else { // a program that has exited does not close the connection gracefully
			server.Stop()
		}
	}()
	_ = server.Serve(&onlyListener{conn: peeked{secure, r}, stopped: make(chan struct{})})
}

// onlyListener accepts a single connection.
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
