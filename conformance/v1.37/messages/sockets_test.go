package messages

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health/grpc_health_v1"
)

// seen is what a socket has seen of a probe: a connection, and whether it has sent anything on it.
type seen struct{ connected, answered bool }

// socket is an address on the loopback interface, and what happens there.
type socket struct {
	t                *testing.T
	addr, host       string
	port             int
	accepted, writes atomic.Int64
}

func newSocket(t *testing.T) *socket { return &socket{t: t} }

func (s *socket) saw() seen { return seen{s.accepted.Load() > 0, s.writes.Load() > 0} }

func (s *socket) fill(line string) string {
	return strings.NewReplacer("ADDR", s.addr, "HOST", s.host, "PORT", strconv.Itoa(s.port)).Replace(line)
}

func (s *socket) at(addr string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr, s.host = addr, host
	s.port, _ = strconv.Atoi(port)
}

// listen opens the socket.
func (s *socket) listen() net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { l.Close() })
	s.at(l.Addr().String())
	return &listener{l, s}
}

// accept handles each connection.
func (s *socket) accept(handle func(c *conn)) {
	l := s.listen()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go handle(c.(*conn))
		}
	}()
}

type listener struct {
	net.Listener
	s *socket
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.s.accepted.Add(1)
	return &conn{c, l.s}, nil
}

type conn struct {
	net.Conn
	s *socket
}

func (c *conn) Write(b []byte) (int, error) {
	c.s.writes.Add(1)
	return c.Conn.Write(b)
}

// reset closes the connection with a reset.
func (c *conn) reset() {
	c.Conn.(*net.TCPConn).SetLinger(0)
	c.Close()
}

func (c *conn) request() { c.Read(make([]byte, 4096)) }

func (c *conn) wait() { io.Copy(io.Discard, c.Conn) }

// full opens a socket whose backlog is full: the kernel drops each further SYN.
func (s *socket) full() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		s.t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		s.t.Fatal(err)
	}
	s.at(fmt.Sprint("127.0.0.1:", name.(*syscall.SockaddrInet4).Port))
	for {
		c, err := net.DialTimeout("tcp", s.addr, 200*time.Millisecond)
		if err != nil {
			return
		}
		s.t.Cleanup(func() { c.Close() })
	}
}

// serve opens a socket with an HTTP server, which answers with a code after some time.
func (s *socket) serve(start func(*httptest.Server), code int, after time.Duration) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(after):
			w.WriteHeader(code)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}))
	server.Listener.Close()
	server.Listener, server.Config.ErrorLog = s.listen(), log.New(io.Discard, "", 0)
	start(server)
	s.t.Cleanup(server.CloseClientConnections)
}

// health is the health service of gRPC.
type health struct {
	grpchealth.UnimplementedHealthServer
	status grpchealth.HealthCheckResponse_ServingStatus
	after  time.Duration
}

func (h *health) Check(ctx context.Context, _ *grpchealth.HealthCheckRequest) (*grpchealth.HealthCheckResponse, error) {
	select {
	case <-time.After(h.after):
	case <-ctx.Done():
	}
	return &grpchealth.HealthCheckResponse{Status: h.status}, nil
}

func (s *socket) rpc(h *health) {
	server := grpc.NewServer()
	if h != nil {
		grpchealth.RegisterHealthServer(server, h)
	}
	l := s.listen()
	go server.Serve(l)
	s.t.Cleanup(server.Stop)
}

// late is longer than all timeouts.
const late = 5 * time.Second

// sockets are the ways in which a socket fails.
var sockets = []struct {
	name string
	open func(s *socket)
}{
	{"drops SYN", (*socket).full},
	{"refuses", func(s *socket) { s.listen().Close() }},
	{"never accepts", func(s *socket) { s.listen(); s.accepted.Add(1) }}, // the kernel connects
	{"stays silent", func(s *socket) { s.accept((*conn).wait) }},
	{"closes", func(s *socket) { s.accept(func(c *conn) { c.request(); c.Close() }) }},
	{"resets", func(s *socket) { s.accept(func(c *conn) { c.Read(make([]byte, 1)); c.reset() }) }},
	{"resets at once", func(s *socket) { s.accept((*conn).reset) }},
	{"speaks something else", func(s *socket) {
		s.accept(func(c *conn) { fmt.Fprint(c, "220 mail ready\r\n"); c.wait() })
	}},
	{"stops in its answer", func(s *socket) { s.accept(func(c *conn) { c.request(); half(c); c.wait() }) }},
	{"closes in its answer", func(s *socket) { s.accept(func(c *conn) { c.request(); half(c); c.Close() }) }},
	{"speaks TLS", func(s *socket) { s.serve((*httptest.Server).StartTLS, 200, 0) }},
	{"answers 200", func(s *socket) { s.serve((*httptest.Server).Start, 200, 0) }},
	{"answers 401", func(s *socket) { s.serve((*httptest.Server).Start, 401, 0) }},
	{"answers 404", func(s *socket) { s.serve((*httptest.Server).Start, 404, 0) }},
	{"answers 503", func(s *socket) { s.serve((*httptest.Server).Start, 503, 0) }},
	{"answers late", func(s *socket) { s.serve((*httptest.Server).Start, 200, late) }},
	{"is not serving", func(s *socket) { s.rpc(&health{status: grpchealth.HealthCheckResponse_NOT_SERVING}) }},
	{"serves gRPC late", func(s *socket) { s.rpc(&health{after: late}) }},
	{"has no health service", func(s *socket) { s.rpc(nil) }},
}

func half(c *conn) { fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") }
