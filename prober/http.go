package prober

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"probesim.dev/kube/podutil"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// Like the kubelet's, this prober leaves redirects to the client of package net/http, so that both follow
// what they follow for the same reasons. Its transport is no network: a process waits for the runtime.

// maxRedirects is how many requests are made to be redirected from (pkg/probe/http/http.go at v1.37.0).
const maxRedirects = 10

// A handshake has a timeout of its own, which is shorter than that of some probes (SetTransportDefaults in
// k8s.io/apimachinery v0.37.0 pkg/util/net/http.go, transport.go of Go 1.26).
const tlsHandshakeTimeout = 10 * time.Second

// NewClient returns the client that makes the requests of one try of a probe or one run of a lifecycle hook.
func NewClient(t *Transport) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: checkRedirect}
}

// runHTTP makes an httpGet probe (pkg/probe/http/http.go at v1.37.0).
func (w *worker) runHTTP(p *sim.Proc, podIP string, retry bool) verdict {
	if w.request == nil || w.requestIP != podIP {
		req, err := NewRequest(w.spec.HTTPGet, w.container, podIP, "probe", w.manager.profile)
		if err != nil {
			return broken(err)
		}
		w.request, w.requestIP = req, podIP
	}
	client := NewClient(&Transport{
		Network: w.manager.network, Proc: p, Deadline: p.Now() + w.timeout(), Handshake: tlsHandshakeTimeout,
		HTTP2: podutil.IsHTTP2(w.spec.HTTPGet),
		Asker: Connection{PodUID: w.podUID, Container: w.name, Probe: w.probeType, Retry: retry},
	})
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
