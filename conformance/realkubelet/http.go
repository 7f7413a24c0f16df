package realkubelet

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"k8s.io/client-go/util/cert"
	"k8s.io/kubernetes/pkg/probe"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"

	"probesim.dev/fakeruntime"
	"probesim.dev/prober"
	"probesim.dev/trace"
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
// keeps its tag on its way to serveHTTP.
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
	t.first.turns.add(prober.TimeoutOf(prober.WorkerName(trace.Probe(t.key), t.pod, t.container)), message)
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
// whose connection it drops (see serveHTTP).
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

// serveHTTP answers the request of a client, which is the other end of the connection.
//
// Over HTTP/2, the tag of the request says whose it is, and not the connection. All probes of a
// kubelet share one transport (pkg/probe/http/http.go). If two probes connect to one address at one
// instant, the transport may drop one of the connections, send either request over the other
// connection, and connect again for the request that is left (addConnIfNeeded in h2_bundle.go of Go
// 1.26, "Turns out we don't need this c"). It never sends two requests over one connection, because
// it disables keep-alives.
func serveHTTP(conn net.Conn, c *connections, client *kubeletConn) {
	defer conn.Close() // without a farewell of TLS: a program that hangs up says nothing
	secure, r := serveTLS(conn, client.op)
	listener := &onlyListener{conn: peeked{secure, r}, stopped: make(chan struct{})}
	server := &http.Server{Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				_ = listener.Close()
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asks := c
			if r.ProtoMajor == 1 {
				w.Header().Set("Connection", "close") // each request has its own connection
			} else {
				of, known := c.network.http2.Load(parseRequester(r.Header.Get(tagHeader)))
				if !known { // the client has given up
					conn.Close()
					return
				}
				r.Header.Del(tagHeader)
				asks = of.(*connections)
			}
			client.op = asks.arrive()
			done := client.op.wait()
			if done.Reply != fakeruntime.Answered || !respond(w, r, done.Answer.Respond(r), client.op) {
				conn.Close()
			}
		})}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	_ = server.Serve(listener) // returns when the connection is closed
}

// respond writes the program's response. It returns false if the connection ends before it.
func respond(w http.ResponseWriter, req *http.Request, r fakeruntime.Response, op *pending) bool {
	flush := http.NewResponseController(w).Flush
	switch {
	case r.HangsUp:
		return false
	case r.Location != "":
		w.Header().Set("Location", r.Location)
	}
	if r.BreaksOff {
		w.Header().Set("Content-Length", strconv.Itoa(len(r.Body)+1))
	}
	w.WriteHeader(r.Code)
	if r.Code < http.StatusOK { // it has no body, and the end of the handler would start the final response
		if r.Code == http.StatusSwitchingProtocols && req.ProtoMajor == 1 { // which is not informational there
			_ = flush()
		}
		return false
	}
	_, _ = w.Write([]byte(r.Body))
	if r.BodyPending || r.BreaksOff {
		_ = flush()
	}
	return !r.BreaksOff && (!r.BodyPending || op.waitForBody())
}

// recordHandshake is the first byte of a client that speaks TLS.
const recordHandshake = 0x16

// serveTLS detects whether the client speaks TLS, and returns the connection with its reader. It
// reads the client's first bytes immediately, like a node's kernel, but a frozen program makes no
// handshake. If the request ends while the program is frozen, the reader is empty. protocols are
// the protocols that the server offers over TLS.
func serveTLS(conn net.Conn, op *pending, protocols ...string) (net.Conn, *bufio.Reader) {
	r := bufio.NewReader(conn)
	first, err := r.Peek(1)
	if err != nil || first[0] != recordHandshake {
		return conn, r
	}
	if !op.waitThawed() {
		return conn, bufio.NewReader(strings.NewReader(""))
	}
	op.secure = true
	secure := tls.Server(peeked{conn, r},
		&tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: protocols})
	return secure, bufio.NewReader(secure)
}

// peeked is a connection with bytes that were read ahead.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// certificate returns a self-signed certificate. The kubelet does not verify it.
var certificate = sync.OnceValue(func() tls.Certificate {
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKey("program", nil, nil)
	if err != nil {
		panic(err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		panic(err)
	}
	return pair
})
