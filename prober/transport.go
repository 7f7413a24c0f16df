package prober

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// Transport is an http.RoundTripper that connects in virtual time. It serves the requests of one
// try of a probe or one run of a lifecycle hook, which a process makes one after the other.
type Transport struct {
	Network   Network
	Proc      *sim.Proc
	Requester Connection    // template of the connections: the pod, the container, the probe or hook, and Retry
	Deadline  virtual.Time  // virtual time at which all requests must have ended; 0 for none
	Handshake time.Duration // limit of a TLS handshake; 0 for none
	HTTP2     bool          // over HTTP/2 without TLS

	followed bool // the next request is not the first
}

// The error messages of requests that reach their deadline.
const (
	errDeadline   = "context deadline exceeded"
	clientTimeout = " (Client.Timeout exceeded while awaiting headers)"
)

// timeoutError returns the error of a request that reaches its deadline. For https, several timers
// of the client fire at the same instant and race: the deadline of the context, the timer that
// cancels the request, and possibly the handshake timeout. The error depends on the winner
// (setRequestCancel in net/http/client.go of Go 1.26).
func (t *Transport) timeoutError(scheme string, reply *Reply) error {
	canceled := "net/http: request canceled"
	if reply.Unanswered {
		canceled += " while waiting for connection"
	}
	ends := []string{errDeadline, canceled + clientTimeout, errDeadline + clientTimeout}
	if scheme != "https" {
		return errors.New(ends[2])
	}
	if reply.HandshakeTimeout {
		ends = append(ends, errHandshake)
	}
	t.sortAsLogged(ends)
	return t.end(ends[t.Proc.Sim().Race("timeout of "+t.Proc.Name(), len(ends))])
}

// TimeoutOf returns the name of the race of the timers that end an https request of a probe worker.
// Its points are the errors.
func TimeoutOf(worker string) string { return "timeout of " + worker }

// sortAsLogged puts the error first that the log of a real run has.
func (t *Transport) sortAsLogged(ends []string) {
	choose.Guided(&t.Proc.Sim().Asker, TimeoutOf(t.Proc.Name()), ends, func(end string) string { return end })
}

// end returns the error of a request that has ended.
func (t *Transport) end(message string) error {
	t.Proc.Sim().Turn(TimeoutOf(t.Proc.Name()), message)
	return errors.New(message)
}

// bodyTimeoutError returns the error of a body that has not ended at the deadline. For https the
// same timers race as in timeoutError (cancelTimerBody in net/http/client.go of Go 1.26).
func (t *Transport) bodyTimeoutError(scheme string) error {
	const suffix = " (Client.Timeout or context cancellation while reading body)"
	ends := []string{errDeadline, "net/http: request canceled" + suffix, errDeadline + suffix}
	if scheme != "https" {
		return errors.New(ends[2])
	}
	t.sortAsLogged(ends)
	return t.end(ends[t.Proc.Sim().Race("body at its timeout: "+t.Proc.Name(), len(ends))])
}

const errHandshake = "net/http: TLS handshake timeout"

// errNoFinalResponse is the error of a connection that ends after an informational response.
var errNoFinalResponse = errors.New("net/http: HTTP/1.x transport connection broken: unexpected EOF")

// RoundTrip makes a request and waits for the response. It implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == "" { // for example of the path mailto:somebody
		return nil, errors.New("http: no Host in request URL")
	}
	if _, err := resolve(req.URL.Hostname()); err != nil {
		return nil, err
	}
	if t.expired() { // the body of a redirect has taken the whole time
		return nil, t.expiredError(req.URL.Scheme)
	}
	reply := t.Network.Connect(t.Proc, t.connection(req))
	t.followed = true
	switch {
	case reply.TimedOut:
		return nil, t.timeoutError(req.URL.Scheme, &reply)
	case reply.HandshakeTimeout:
		return nil, errors.New(errHandshake)
	case reply.Refused:
		return nil, dialError(req.URL.Hostname(), portOf(req.URL), connectionRefused)
	case reply.TransportError != "":
		return nil, errors.New(reply.TransportError)
	case reply.HungUp && t.HTTP2, t.HTTP2 && reply.Code < 200:
		return nil, io.ErrUnexpectedEOF
	case reply.HungUp:
		return nil, io.EOF
	case reply.Code < 200 && reply.Code != http.StatusSwitchingProtocols:
		return nil, errNoFinalResponse
	}
	return t.response(req, &reply), nil
}

func (t *Transport) expired() bool { return t.Deadline > 0 && t.Proc.Now() >= t.Deadline }

// expiredError returns the error of a request that begins after the deadline: the client makes no
// connection. For https, the timer of the client races with the error of the context.
func (t *Transport) expiredError(scheme string) error {
	if scheme != "https" {
		return errors.New(errDeadline + clientTimeout)
	}
	ends := []string{errDeadline, errDeadline + clientTimeout}
	t.sortAsLogged(ends)
	return t.end(ends[t.Proc.Sim().Race("timeout of "+t.Proc.Name(), len(ends))])
}

// connection returns the connection for a request.
func (t *Transport) connection(req *http.Request) Connection {
	c := t.Requester
	c.Protocol, c.Request, c.HTTP2, c.Followed = HTTPGet, req, t.HTTP2, t.followed
	if t.Deadline > 0 {
		c.Timeout = t.Deadline.Sub(t.Proc.Now())
	}
	if req.URL.Scheme == "https" {
		c.Handshake = t.Handshake
	}
	return c
}

func (t *Transport) response(req *http.Request, reply *Reply) *http.Response {
	res := &http.Response{StatusCode: reply.Code, Body: http.NoBody, Request: req}
	if reply.Location != "" {
		res.Header = http.Header{"Location": {reply.Location}}
	}
	switch {
	case reply.BodyTruncated:
		res.Body = io.NopCloser(truncatedBody{})
	case reply.Rest != nil:
		res.ContentLength = -1
		res.Body = io.NopCloser(io.MultiReader(strings.NewReader(reply.Body),
			&pendingBody{t: t, req: req, rest: reply.Rest}))
	case reply.Body != "" && reply.Code >= 200 && reply.Code != http.StatusNoContent &&
		reply.Code != http.StatusNotModified:
		res.Body = io.NopCloser(strings.NewReader(reply.Body))
	}
	return res
}

// truncatedBody is a body that ends before its Content-Length.
type truncatedBody struct{}

func (truncatedBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// pendingBody is the rest of a body that ends after its header. A read waits for its end.
type pendingBody struct {
	t    *Transport
	req  *http.Request
	rest any
	err  error // of all reads, once the body has ended
}

func (b *pendingBody) Read([]byte) (int, error) {
	if b.err == nil {
		b.err = b.end()
	}
	return 0, b.err
}

func (b *pendingBody) end() error {
	c := b.t.connection(b.req)
	c.Rest = b.rest
	switch reply := b.t.Network.Connect(b.t.Proc, c); {
	case reply.TimedOut:
		return b.t.bodyTimeoutError(b.req.URL.Scheme)
	case reply.HungUp:
		return io.ErrUnexpectedEOF
	}
	return io.EOF
}

func portOf(u *url.URL) int {
	if port, err := strconv.Atoi(u.Port()); err == nil {
		return port
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}
