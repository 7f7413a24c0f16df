package realkubelet

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unsafe"

	"k8s.io/kubernetes/pkg/probe"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"

	"probesim.dev/fakeruntime"
)

// httpProber is the kubelet's prober over the network.
type httpProber struct {
	httpprobe.Prober // the real one
	network          *network
}

func newHTTPProber(n *network, real httpprobe.Prober) *httpProber {
	for _, field := range []string{"transport", "h2cTransport"} {
		transport := reflect.ValueOf(real).FieldByName(field)
		if !transport.IsValid() && field == "h2cTransport" { // before 1.37
			break
		}
		if transport.Type() != reflect.TypeFor[*http.Transport]() {
			panic("the HTTP prober has another transport")
		}
		(*http.Transport)(unsafe.Pointer(transport.Pointer())).DialContext = dialHTTP
	}
	return &httpProber{real, n}
}

// connections are those of one try, one for each request.
type connections struct {
	try
	made int
}

type connectionsKey struct{}

// Probe has the real prober make the request, and the transport know on whose behalf it dials.
func (h *httpProber) Probe(req *http.Request, timeout time.Duration) (probe.Result, string, error) {
	return h.ask(req, timeout, h.Prober.Probe)
}

// ProbeH2C does the same over HTTP/2 without TLS; a prober before 1.37 cannot.
func (h *httpProber) ProbeH2C(req *http.Request, timeout time.Duration) (probe.Result, string, error) {
	return h.ask(req, timeout, h.Prober.(interface {
		ProbeH2C(*http.Request, time.Duration) (probe.Result, string, error)
	}).ProbeH2C)
}

func (h *httpProber) ask(req *http.Request, timeout time.Duration, ask func(*http.Request, time.Duration) (probe.Result, string, error)) (probe.Result, string, error) {
	a := parseAsker(req.Header.Get(tagHeader))
	req.Header.Del(tagHeader)
	return h.network.try(a, timeout, func(t try) (probe.Result, string, error) {
		ctx := context.WithValue(req.Context(), connectionsKey{}, &connections{try: t})
		result, message, err := ask(req.WithContext(ctx), timeout)
		return result, t.late(message), err
	})
}

// clientTimeout is what the client adds to the error of a request that it has ended itself.
const clientTimeout = " (Client.Timeout exceeded while awaiting headers)"

// errDeadline is how a request ends that its context ends.
var errDeadline = context.DeadlineExceeded.Error()

// late says of a timeout what the client says of it on a node. When the client's timer has ended a
// request of scheme http, it looks whether the deadline is past (setRequestCancel in client.go of Go 1.26);
// on a node some time has passed since, in the bubble none has.
func (t *try) late(message string) string {
	if t.driver.now() == t.deadline && strings.HasPrefix(message, `Get "http:`) && strings.HasSuffix(message, ": "+errDeadline) {
		return message + clientTimeout
	}
	return message
}

// dialHTTP is the DialContext of the transport.
func dialHTTP(ctx context.Context, _, addr string) (net.Conn, error) {
	if _, err := resolve(addr); err != nil {
		return nil, err
	}
	c := ctx.Value(connectionsKey{}).(*connections)
	op := c.request(fakeruntime.Call{Method: fakeruntime.HTTPGet, Followed: c.made > 0})
	c.made++
	if op.accepted {
		client, server := net.Pipe()
		go serveHTTP(server, op)
		return breaking{client, op}, nil
	}
	done := op.wait()
	switch {
	case done.Err != nil:
		return nil, done.Err
	case done.TimedOut:
		return nil, dialError(addr, errTimedOut)
	case done.Answer != nil && done.Answer.TransportError != "":
		return nil, errors.New(done.Answer.TransportError)
	}
	return nil, dialError(addr, errRefused)
}

// serveHTTP answers one request.
func serveHTTP(conn net.Conn, op *pending) {
	defer conn.Close()
	conn, r := serveTLS(conn, op)
	if start, _ := r.Peek(len(h2Preface)); string(start) == h2Preface {
		serveH2(peeked{conn, r}, op)
		return
	}
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	done := op.wait()
	if done.Reply == fakeruntime.Answered {
		_ = respond(conn, req, done.Answer.Respond(req))
	}
}

// respond writes the response that a program gives.
func respond(conn net.Conn, req *http.Request, r fakeruntime.Response) error {
	if r.HangsUp {
		return nil
	}
	missing := 0
	if r.BreaksOff {
		missing = 1
	}
	if r.Code < http.StatusOK { // has no content (RFC 9110, 15.2): what follows is the next response
		r.Body, missing = "", 0
	}
	res := &http.Response{
		StatusCode: r.Code, ProtoMajor: 1, ProtoMinor: 1, Request: req, Header: http.Header{}, Close: true,
		Body: io.NopCloser(strings.NewReader(r.Body)), ContentLength: int64(len(r.Body) + missing),
	}
	if r.Location != "" {
		res.Header.Set("Location", r.Location)
	}
	w := bufio.NewWriter(conn)
	if err := res.Write(w); err != nil && missing == 0 {
		return err
	}
	return w.Flush()
}
