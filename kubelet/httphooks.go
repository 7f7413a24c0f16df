package kubelet

import (
	"errors"
	"net/http"
	"strings"

	"probesim.dev/fakeruntime"
	"probesim.dev/prober"
	"probesim.dev/sim"
)

// runHTTPHook makes the request of a hook: whatever the response is, it is a success. A server that speaks plain
// HTTP where HTTPS is meant is asked again in plain HTTP (runHTTPHandler in pkg/kubelet/lifecycle/handlers.go at v1.37.0).
// The client has no timeouts (NewMainKubelet in pkg/kubelet/kubelet.go). The event LifecycleHTTPFallback, which is about the
// pod, never leaves the kubelet: its recorder takes only those about containers (FilterEventRecorder in
// pkg/kubelet/container/helpers.go).
func (k *Kubelet) runHTTPHook(p *sim.Proc, h hookRun) error {
	req, err := k.hookRequest(p, h)
	if err != nil {
		return err
	}
	client := prober.NewClient(&prober.Transport{
		Network: k, Proc: p, Requester: prober.Connection{PodUID: h.pod.UID, Container: h.container.Name, Hook: h.hook},
	})
	if _, err = client.Do(req); err == nil || !strings.Contains(err.Error(), fakeruntime.HTTPToHTTPS) {
		return err
	}
	if _, again := client.Do(inPlainHTTP(req)); again != nil {
		return err
	}
	return nil
}

// hookRequest makes the request. Without a host it is for the IP that the runtime says the pod has: none if it has
// that of the node.
func (k *Kubelet) hookRequest(p *sim.Proc, h hookRun) (*http.Request, error) {
	podIP := ""
	if h.handler.HTTPGet.Host == "" {
		s := k.inspectNow(p, h.pod.UID)
		if len(s.ips) == 0 {
			return nil, errors.New("failed to find networking container")
		}
		podIP = s.ips[0]
	}
	return prober.NewRequest(h.handler.HTTPGet, h.container, podIP, "lifecycle", k.profile)
}

// inPlainHTTP returns a copy of a request that is not encrypted and gives away no credentials.
func inPlainHTTP(req *http.Request) *http.Request {
	again := req.Clone(req.Context())
	again.URL.Scheme = "http"
	again.Header.Del("Authorization")
	return again
}
