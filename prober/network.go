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

// Protocol is what a probe speaks to a container over the network.
type Protocol string

const (
	HTTPGet   Protocol = "httpGet"
	TCPSocket Protocol = "tcpSocket"
	GRPC      Protocol = "grpc"
)

// Connection is a request that a probe or a lifecycle hook makes of a container over the network: what listens
// there may be a newer instance than the one that the status knows.
type Connection struct {
	PodUID    types.UID
	Container string
	Probe     trace.Probe // empty for a hook
	Hook      string      // postStart or preStop, if it is a hook
	Protocol  Protocol
	Request   *http.Request // of HTTPGet
	HTTP2     bool          // it is made over HTTP/2 without TLS
	Timeout   time.Duration // 0 for none
	Retry     bool          // it belongs to the probe run of the one before it
	Followed  bool          // it follows what answered the one before it, such as a redirect
	Handshake time.Duration // how long the handshake may take; 0 for no limit
}

// Reply is what became of a connection. Without any of the first five it was answered.
type Reply struct {
	TimedOut       bool
	Refused        bool
	HungUp         bool   // accepted, then closed without an answer
	NoHandshake    bool   // accepted, but the time for a handshake was over; with TimedOut at the same instant
	TransportError string // why it failed; with HungUp that was after it had been accepted
	Silent         bool   // it was not accepted, or nothing was said: beside the others

	Code      int // of HTTP
	Location  string
	Status    string // of a gRPC health check: a serving status or the name of a code
	Body      string // of HTTP; the message of a gRPC error
	BreaksOff bool   // the body does
}

// Network connects to containers and waits for what becomes of it.
type Network interface {
	Connect(p *sim.Proc, c Connection) Reply
}

// connect asks the container of the worker's probe.
func (w *worker) connect(p *sim.Proc, c Connection) Reply {
	c.PodUID, c.Container, c.Probe = w.podUID, w.name, w.probeType
	return w.manager.network.Connect(p, c)
}

func (w *worker) timeout() time.Duration { return time.Duration(w.spec.TimeoutSeconds) * time.Second }

// joinHostPort is what package net makes of both.
func joinHostPort(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

// Why a connection cannot be made, as package net says it of a TCP socket.
const (
	connectionRefused = "connect: connection refused"
	ioTimeout         = "i/o timeout"
)

// dialError is the error of package net for a host that can be dialed.
func dialError(host string, port int, why string) error {
	ip, err := resolve(host)
	if err != nil {
		return err
	}
	return fmt.Errorf("dial tcp %s: %s", joinHostPort(ip, port), why)
}

// resolve returns the IP of a host, which package net dials. The node has a hosts file with one name in it, localhost, and
// no name server; with a dot at its end it is another name. Whether there is a server shows in the error: it would be
// named there (lookupStaticHost in hosts.go and goLookupIPCNAMEOrder in dnsclient_unix.go of Go 1.26). No host, for want of
// the pod's IP, is the node itself.
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
