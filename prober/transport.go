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
)

// Transport is the http.RoundTripper of the requests of one try of a probe or one run of a lifecycle hook, which a
// process makes one after the other.
type Transport struct {
	Network   Network
	Proc      *sim.Proc
	Asker     Connection    // who asks: the pod and the container, the probe or hook, and whether it is a Retry
	Deadline  time.Duration // the virtual time at which all must be over; 0 for none
	Handshake time.Duration // how long a handshake may take; 0 for no limit
	HTTP2     bool          // without TLS: a connection that ends early says so in other words

	followed bool // there was a request before
}

// errDeadline is how a request ends when its time is over, whatever it waits for.
const (
	errDeadline   = "context deadline exceeded"
	clientTimeout = " (Client.Timeout exceeded while awaiting headers)"
)

// timeoutError is what the client of package net/http says of its own timeout. With https it has two timers
// for it, of which any goes off first: the one of the context, or the one that cancels the request and that
// it asks whether that was a timeout. The transport of golang.org/x/net/http2 is none that it knows
// (setRequestCancel in client.go of Go 1.26). That of the handshake may go off at the same instant.
func (t *Transport) timeoutError(scheme string, reply *Reply) error {
	canceled := "net/http: request canceled"
	if reply.Silent {
		canceled += " while waiting for connection"
	}
	ends := []string{errDeadline, canceled + clientTimeout, errDeadline + clientTimeout}
	if scheme != "https" {
		return errors.New(ends[2])
	}
	if reply.NoHandshake {
		ends = append(ends, errHandshake)
	}
	return errors.New(ends[t.Proc.Sim().Race("timeout of "+t.Proc.Name(), len(ends))])
}

const errHandshake = "net/http: TLS handshake timeout"

// errNoFinal is the error of an informational response after which the connection ends.
var errNoFinal = errors.New("net/http: HTTP/1.x transport connection broken: unexpected EOF")

// RoundTrip is that of an http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == "" { // of a path such as mailto:somebody
		return nil, errors.New("http: no Host in request URL")
	}
	if _, err := resolve(req.URL.Hostname()); err != nil {
		return nil, err
	}
	reply := t.Network.Connect(t.Proc, t.connection(req))
	t.followed = true
	switch {
	case reply.TimedOut:
		return nil, t.timeoutError(req.URL.Scheme, &reply)
	case reply.NoHandshake:
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
		return nil, errNoFinal
	}
	return response(req, &reply), nil
}

// connection returns what the network is to do for a request.
func (t *Transport) connection(req *http.Request) Connection {
	c := t.Asker
	c.Protocol, c.Request, c.HTTP2, c.Followed = HTTPGet, req, t.HTTP2, t.followed
	if t.Deadline > 0 {
		c.Timeout = t.Deadline - t.Proc.Now()
	}
	if req.URL.Scheme == "https" {
		c.Handshake = t.Handshake
	}
	return c
}

func response(req *http.Request, reply *Reply) *http.Response {
	res := &http.Response{StatusCode: reply.Code, Header: http.Header{}, Body: http.NoBody, Request: req}
	if reply.Location != "" {
		res.Header.Set("Location", reply.Location)
	}
	switch {
	case reply.BreaksOff:
		res.Body = io.NopCloser(brokenBody{})
	case reply.Code >= 200 && reply.Code != http.StatusNoContent && reply.Code != http.StatusNotModified:
		res.Body = io.NopCloser(strings.NewReader(reply.Body))
	}
	return res
}

// brokenBody is a body that ends before its Content-Length.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func portOf(u *url.URL) int {
	if port, err := strconv.Atoi(u.Port()); err == nil {
		return port
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}
