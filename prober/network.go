package prober

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim"
	"probesim.dev/trace"
)

// Protocol is the protocol of a probe or a hook that reaches a container over the network.
type Protocol string

const (
	HTTPGet   Protocol = "httpGet"
	TCPSocket Protocol = "tcpSocket"
	GRPC      Protocol = "grpc"
)

// Connection is a network request of a probe or a lifecycle hook to a container. A newer instance
// of the container than the stored status shows can answer it.
type Connection struct {
	PodUID    types.UID
	Container string
	Probe     trace.Probe // empty for a hook
	Hook      string      // postStart or preStop; empty for a probe
	Protocol  Protocol
	Request   *http.Request // of HTTPGet
	HTTP2     bool          // over HTTP/2 without TLS
	Timeout   time.Duration // 0 for none
	Retry     bool          // a further try within one probe run
	Followed  bool          // follows the answer to the request before it, for example a redirect
	Handshake time.Duration // limit of the TLS or HTTP/2 handshake; 0 for none
	// Rest is the Rest of an earlier reply: the connection is that of the reply, and the outcome is
	// the end of its body.
	Rest any
}

// Reply is the outcome of a connection. The program answered if none of the first five fields is
// set.
type Reply struct {
	TimedOut bool
	Refused  bool
	HungUp   bool // accepted, then closed without an answer
	// accepted, but without a handshake in time; set together with TimedOut if both end at the same
	// instant
	HandshakeTimeout bool
	TransportError   string // why the transport failed; with HungUp, after the connection was accepted
	// Unanswered reports that the program did not accept the connection, or accepted it and sent
	// nothing. It accompanies the other fields.
	Unanswered bool

	Code          int // of HTTP
	Location      string
	Status        string // of a gRPC health check: the serving status, or the name of a status code
	Body          string // of HTTP; the message of a gRPC error
	BodyTruncated bool   // the connection ends before the body does
	Rest          any    // not nil if the body has not ended with Body
}

// Network connects to containers.
type Network interface {
	// Connect makes a request and waits for its outcome.
	Connect(p *sim.Proc, c Connection) Reply
}

// connect connects to the worker's container.
func (e *Execution) connect(p *sim.Proc, c Connection) Reply {
	c.PodUID, c.Container, c.Probe = e.podUID, e.name, e.ProbeType
	return e.Network.Connect(p, c)
}

// joinHostPort joins a host and a port as package net does.
func joinHostPort(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

// The reasons of failed TCP connections, in the words of package net.
const (
	connectionRefused = "connect: connection refused"
	ioTimeout         = "i/o timeout"
)

// dialError returns the error of package net for a failed connection to a host.
func dialError(host string, port int, why string) error {
	ip, err := resolve(host)
	if err != nil {
		return err
	}
	return fmt.Errorf("dial tcp %s: %s", joinHostPort(ip, port), why)
}

// resolve returns the IP address of a host. The node's hosts file has one name, localhost, and the
// node has no name server: the error of a failed lookup would name the server (lookupStaticHost in
// net/hosts.go and goLookupIPCNAMEOrder in net/dnsclient_unix.go of Go 1.26). An empty host, of a
// pod without an IP, is the node itself.
func resolve(host string) (string, error) {
	if strings.ToLower(host) == "localhost" {
		return "127.0.0.1", nil
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		return ip.Unmap().String(), nil
	case host == "":
		return "", nil
	}
	return "", fmt.Errorf("dial tcp: lookup %s: no such host", host)
}
