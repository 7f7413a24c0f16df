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
	"probesim.dev/prober"
)

// httpProber wraps the kubelet's HTTP prober.
type httpProber struct {
	httpprobe.Prober // the real one
	network          *network
}

func newHTTPProber(n *network, real httpprobe.Prober) *httpProber {
	for _, field := range []string{"transport", "h2cTransport"} {
		transport := reflect.ValueOf(real).FieldByName(field)
		if !transport.IsValid() && field == "h2cTransport" { // releases before v1.37 do not have it
			break
		}
		if transport.Type() != reflect.TypeFor[*http.Transport]() {
			panic("the HTTP prober has another transport")
		}
		(*http.Transport)(unsafe.Pointer(transport.Pointer())).DialContext = dialHTTP
	}
	return &httpProber{real, n}
}

// connections are the successive connections of one attempt, one for each request.
type connections struct {
	attempt
	follows bool     // the next request follows an answer
	last    *pending // the last request
	arrived bool     // the program has the last request
}

type connectionsKey struct{}

// arrive returns the request that arrives at the program.
func (c *connections) arrive() *pending {
	c.arrived, c.follows = true, true
	return c.last
}

// Probe makes the request with the real prober, and passes the requester to the transport.
func (h *httpProber) Probe(req *http.Request, timeout time.Duration) (probe.Result, string, error) {
	r := parseRequester(req.Header.Get(tagHeader))
	req.Header.Del(tagHeader)
	return h.run(r, req, timeout, h.Prober.Probe)
}

// ProbeH2C is like Probe, over HTTP/2 without TLS. The kubelet calls it since v1.37. The request
// keeps its tag on its way to serveH2.
func (h *httpProber) ProbeH2C(req *http.Request, timeout time.Duration) (probe.Result, string, error) {
	return h.run(parseRequester(req.Header.Get(tagHeader)), req, timeout, h.Prober.(interface {
		ProbeH2C(*http.Request, time.Duration) (probe.Result, string, error)
	}).ProbeH2C)
}

func (h *httpProber) run(r requester, req *http.Request, timeout time.Duration,
	run func(*http.Request, time.Duration) (probe.Result, string, error)) (probe.Result, string, error) {
	return h.network.attempt(r, timeout, func(t attempt) (probe.Result, string, error) {
		c := &connections{attempt: t}
		h.network.http2.Store(r, c)
		defer h.network.http2.CompareAndDelete(r, c)
		ctx := context.WithValue(req.Context(), connectionsKey{}, c)
		result, message, err := run(req.WithContext(ctx), timeout)
		message, err = t.restoreTimeout(message), c.restoreBodyTimeout(err)
		t.logTimeout(message, err)
		return result, message, err
	})
}

// logTimeout adds the turn of an attempt that ends at its deadline. Its point is the error without
// the URL, which depends on the timer that fires first.
func (t *attempt) logTimeout(message string, err error) {
	if t.driver.now() != t.deadline {
		return
	}
	if err != nil {
		message = err.Error()
	} else if end := strings.LastIndex(message, `": `); end >= 0 {
		message = message[end+len(`": `):]
	}
	t.first.turns.add(prober.TimeoutOf(prober.WorkerName(t.probe, t.pod, t.container)), message)
}

// clientTimeout is the suffix that the client adds to the error of a request that it timed out
// itself.
const clientTimeout = " (Client.Timeout exceeded while awaiting headers)"

// errDeadline is the error of a request whose context timed out.
var errDeadline = context.DeadlineExceeded.Error()

// restoreTimeout adds the suffix that a timeout has on a node. When the client's timer ends a
// request of scheme http, the client checks whether the deadline has passed (setRequestCancel in
// client.go of Go 1.26). On a node some time has passed since the timer fired, but in the bubble
// none has.
func (t *attempt) restoreTimeout(message string) string {
	if t.driver.now() == t.deadline && strings.HasPrefix(message, `Get "http:`) &&
		strings.HasSuffix(message, ": "+errDeadline) {
		return message + clientTimeout
	}
	return message
}

// restoreBodyTimeout does the same for the error of a body that has not ended at the deadline.
func (c *connections) restoreBodyTimeout(err error) error {
	if err != nil && c.driver.now() == c.deadline && !c.last.secure && err.Error() == errDeadline {
		return errors.New(errDeadline + " (Client.Timeout or context cancellation while reading body)")
	}
	return err
}

// dialHTTP is the DialContext of the transport. The client connects again for a request over HTTP/2
// whose connection it drops (see serveH2).
func dialHTTP(ctx context.Context, _, addr string) (net.Conn, error) {
	if _, err := resolve(addr); err != nil {
		return nil, err
	}
	c := ctx.Value(connectionsKey{}).(*connections)
	if c.last == nil || c.arrived {
		c.last, c.arrived = c.request(fakeruntime.Call{Method: fakeruntime.HTTPGet, Followed: c.follows}), false
	}
	op := c.last
	if op.accepted {
		client, server := net.Pipe()
		conn := &kubeletConn{client, op}
		go serveHTTP(server, c, conn)
		return conn, nil
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

// serveHTTP answers one request. client is the other end of the connection.
func serveHTTP(conn net.Conn, c *connections, client *kubeletConn) {
	defer conn.Close()
	conn, r := serveTLS(conn, client.op)
	if start, _ := r.Peek(len(h2Preface)); string(start) == h2Preface {
		serveH2(peeked{conn, r}, c.network, client)
		return
	}
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	op := c.arrive()
	done := op.wait()
	if done.Reply == fakeruntime.Answered {
		_ = respond(conn, req, done.Answer.Respond(req), op)
	}
}

// pendingBody is the rest of a body that ends after its header. A read waits for its end.
type pendingBody struct{ op *pending }

func (b pendingBody) Read([]byte) (int, error) {
	if b.op.waitForBody() {
		return 0, io.EOF
	}
	return 0, io.ErrUnexpectedEOF
}

// respond writes the program's response.
func respond(conn net.Conn, req *http.Request, r fakeruntime.Response, op *pending) error {
	if r.HangsUp {
		return nil
	}
	missing := 0
	if r.BreaksOff {
		missing = 1
	}
	// an informational response has no content (RFC 9110, 15.2): the client would read a body as
	// the next response
	if r.Code < http.StatusOK {
		r.Body, missing = "", 0
	}
	res := &http.Response{
		StatusCode: r.Code, ProtoMajor: 1, ProtoMinor: 1, Request: req, Header: http.Header{}, Close: true,
		Body: io.NopCloser(strings.NewReader(r.Body)), ContentLength: int64(len(r.Body) + missing),
	}
	if r.Location != "" {
		res.Header.Set("Location", r.Location)
	}
	if r.BodyPending {
		res.Body, res.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(r.Body), pendingBody{op})), -1
		res.TransferEncoding = []string{"chunked"}
		return res.Write(conn) // without a buffer: the client gets the header first
	}
	w := bufio.NewWriter(conn)
	if err := res.Write(w); err != nil && missing == 0 {
		return err
	}
	return w.Flush()
}
