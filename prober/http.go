package prober

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"probesim.dev/internal/podutil"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// HTTP probes follow redirects with the client of package net/http as the kubelet does, so
// redirects follow exactly the same rules. Only the transport differs: it waits in virtual time for
// an answer of the simulated program.

// maxRedirects is the number of redirects that a probe follows (pkg/probe/http/http.go at v1.37.0).
const maxRedirects = 10

// TLSHandshakeTimeout is separate from the timeout of the probe, and can be the shorter one
// (SetTransportDefaults in pkg/util/net/http.go of k8s.io/apimachinery v0.37.0,
// net/http/transport.go of Go 1.26).
const TLSHandshakeTimeout = 10 * time.Second

// NewClient returns the HTTP client for one try of a probe or one run of a lifecycle hook.
func NewClient(t *Transport) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: checkRedirect}
}

// runHTTP runs an httpGet probe (pkg/probe/http/http.go at v1.37.0).
func (e *Execution) runHTTP(p *sim.Proc, podIP string, retry bool) outcome {
	if e.request == nil || e.requestIP != podIP {
		req, err := NewRequest(e.Spec.HTTPGet, e.Container, podIP, "probe", e.Profile)
		if err != nil {
			return probeError(err)
		}
		e.request, e.requestIP = req, podIP
	}
	res, err := get(&Transport{
		Network: e.Network, Proc: p, Deadline: p.Now().Add(e.timeout()), Handshake: TLSHandshakeTimeout,
		HTTP2:     podutil.IsHTTP2(e.Spec.HTTPGet),
		Requester: Connection{PodUID: e.podUID, Container: e.name, Probe: e.ProbeType, Retry: retry},
	}, e.request)
	if err != nil {
		return failure(err.Error())
	}
	return responseOutcome(res)
}

// get makes the request of a probe as a client of package net/http does. It does without one where
// the response is no redirect: the client copies all headers first, and most responses need none of
// the copies.
func get(t *Transport, req *http.Request) (*http.Response, error) {
	if req.URL.User != nil { // the client makes a header of it
		return NewClient(t).Do(req)
	}
	res, err := t.RoundTrip(req)
	if err != nil {
		return nil, &url.Error{Op: "Get", URL: req.URL.String(), Err: err}
	}
	if res.Header.Get("Location") == "" {
		return res, nil
	}
	return (&http.Client{Transport: &hasResponse{t, res}, CheckRedirect: checkRedirect}).Do(req)
}

// hasResponse is a transport that has the response to the first request.
type hasResponse struct {
	*Transport
	first *http.Response
}

func (t *hasResponse) RoundTrip(req *http.Request) (*http.Response, error) {
	if res := t.first; res != nil {
		t.first = nil
		return res, nil
	}
	return t.Transport.RoundTrip(req)
}

// responseOutcome returns the outcome of a response: a 2xx status is a success, a redirect that the
// client did not follow is a warning, and any other status is a failure. A body that cannot be read
// is an error of the probe.
func responseOutcome(res *http.Response) outcome {
	var body []byte
	var err error
	if res.Body != http.NoBody { // most programs answer without a body, and reading needs memory
		body, err = io.ReadAll(io.LimitReader(res.Body, maxReadLength))
	}
	switch code := res.StatusCode; {
	case err != nil:
		return outcome{result: trace.Error, message: err.Error(), errorState: trace.Failure}
	case code >= 200 && code < 300:
		return outcome{result: trace.Success, message: string(body)}
	case code >= 300 && code < 400:
		return outcome{result: trace.Warning, message: "Probe terminated redirects, Response body: " + string(body)}
	default:
		return failure("HTTP probe failed with statuscode: " + strconv.Itoa(code))
	}
}

// checkRedirect allows redirects to any port of the same host, up to maxRedirects.
func checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case req.URL.Hostname() != via[0].URL.Hostname():
		return http.ErrUseLastResponse
	case len(via) >= maxRedirects:
		return errors.New("stopped after 10 redirects")
	}
	return nil
}
