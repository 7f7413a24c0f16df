package prober

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim"
	"probesim.dev/sim/profile"
	"probesim.dev/sim/trace"
)

// Like the kubelet's, this prober leaves redirects to the client of package net/http, so that both follow
// what they follow for the same reasons. Its transport is no network: a process waits for the runtime.

// userAgent is how a kubelet names itself (pkg/probe/http/request.go at v1.37.0).
func userAgent(p profile.Profile) string {
	return "kube-probe/" + strings.TrimSuffix(strings.TrimPrefix(p.Version, "v"), path.Ext(p.Version))
}

// maxRedirects is how many requests a probe makes to be redirected from (pkg/probe/http/http.go at v1.37.0).
const maxRedirects = 10

// runHTTP makes an httpGet probe (pkg/probe/http/http.go at v1.37.0).
func (w *worker) runHTTP(p *sim.Proc, podIP string, retry bool) verdict {
	if w.request == nil || w.requestIP != podIP {
		req, err := w.newHTTPRequest(podIP)
		if err != nil {
			return broken(err)
		}
		w.request, w.requestIP = req, podIP
	}
	client := http.Client{
		Transport:     &transport{worker: w, proc: p, retry: retry, deadline: p.Now() + w.timeout()},
		CheckRedirect: checkRedirect,
	}
	res, err := client.Do(w.request)
	if err != nil {
		return verdict{result: trace.Failure, message: err.Error()}
	}
	return judgeHTTP(res)
}

// judgeHTTP says what a response means: 2xx is a success, a redirect that was not followed a warning, any
// other status a failure. A body that cannot be read breaks the probe.
func judgeHTTP(res *http.Response) verdict {
	body, err := io.ReadAll(io.LimitReader(res.Body, maxReadLength))
	switch code := res.StatusCode; {
	case err != nil:
		return verdict{result: trace.Error, message: err.Error(), state: trace.Failure}
	case code >= 200 && code < 300:
		return verdict{result: trace.Success, message: string(body)}
	case code >= 300 && code < 400:
		return verdict{result: trace.Warning, message: "Probe terminated redirects, Response body: " + string(body)}
	default:
		return verdict{result: trace.Failure, message: "HTTP probe failed with statuscode: " + strconv.Itoa(code)}
	}
}

// checkRedirect follows redirects to the same host, whatever its port, up to a limit.
func checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case req.URL.Hostname() != via[0].URL.Hostname():
		return http.ErrUseLastResponse
	case len(via) >= maxRedirects:
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

// newHTTPRequest makes the request of a probe (pkg/probe/http/request.go at v1.37.0).
func (w *worker) newHTTPRequest(podIP string) (*http.Request, error) {
	get := w.spec.HTTPGet
	port, err := w.resolvePort(get.Port)
	if err != nil {
		return nil, err
	}
	host := get.Host
	if host == "" {
		host = podIP
	}
	u, err := url.Parse(get.Path)
	if err != nil {
		u = &url.URL{Path: get.Path}
	}
	u.Scheme, u.Host = strings.ToLower(string(get.Scheme)), joinHostPort(host, port)
	req, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = httpHeader(get.HTTPHeaders, userAgent(w.manager.profile))
	req.Host = req.Header.Get("Host")
	return req, nil
}

// httpHeader adds what the kubelet adds to the headers of a probe. An Accept that is empty is left out.
func httpHeader(list []v1.HTTPHeader, userAgent string) http.Header {
	h := http.Header{}
	for _, header := range list {
		h.Add(header.Name, header.Value)
	}
	if _, ok := h["User-Agent"]; !ok {
		h.Set("User-Agent", userAgent)
	}
	if _, ok := h["Accept"]; !ok {
		h.Set("Accept", "*/*")
	} else if h.Get("Accept") == "" {
		h.Del("Accept")
	}
	return h
}

// transport has the requests of one try of a probe answered. All have one deadline.
type transport struct {
	worker   *worker
	proc     *sim.Proc
	retry    bool
	deadline time.Duration
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
// (setRequestCancel in client.go of Go 1.26).
func (t *transport) timeoutError(scheme string, silent bool) error {
	canceled := "net/http: request canceled"
	if silent {
		canceled += " while waiting for connection"
	}
	ends := []string{errDeadline, canceled + clientTimeout, errDeadline + clientTimeout}
	if scheme != "https" {
		return errors.New(ends[2])
	}
	return errors.New(ends[t.proc.Sim().Race("timeout of "+t.proc.Name(), len(ends))])
}

// A handshake has a timeout of its own, which is shorter than that of some probes (SetTransportDefaults in
// k8s.io/apimachinery v0.37.0 pkg/util/net/http.go, transport.go of Go 1.26).
const tlsHandshakeTimeout = 10 * time.Second

var errHandshake = errors.New("net/http: TLS handshake timeout")

// errNoFinal is the error of an informational response after which the connection ends.
var errNoFinal = errors.New("net/http: HTTP/1.x transport connection broken: unexpected EOF")

// RoundTrip is that of an http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == "" { // of a path such as mailto:somebody
		return nil, errors.New("http: no Host in request URL")
	}
	c := Connection{Protocol: HTTPGet, Request: req, Timeout: t.deadline - t.proc.Now(), Retry: t.retry, Followed: t.followed}
	if req.URL.Scheme == "https" {
		c.Handshake = tlsHandshakeTimeout
	}
	t.followed = true
	reply := t.worker.connect(t.proc, c)
	switch {
	case reply.TimedOut:
		return nil, t.timeoutError(req.URL.Scheme, reply.Silent)
	case reply.NoHandshake:
		return nil, errHandshake
	case reply.Refused:
		return nil, dialError(req.URL.Hostname(), portOf(req.URL), connectionRefused)
	case reply.TransportError != "":
		return nil, errors.New(reply.TransportError)
	case reply.HungUp:
		return nil, io.EOF
	case reply.Code < 200 && reply.Code != http.StatusSwitchingProtocols:
		return nil, errNoFinal
	}
	return response(req, &reply), nil
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
