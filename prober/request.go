package prober

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/podutil"
	"probesim.dev/kube/profile"
)

// NewRequest returns the request of an httpGet handler of a container. The request goes to the
// handler's host, or to the pod's IP if the handler has none. The purpose, "probe" or "lifecycle",
// is part of the User-Agent. An unknown port name and an invalid header are errors
// (pkg/probe/http/request.go at v1.37.0).
func NewRequest(get *v1.HTTPGetAction, c *v1.Container, podIP, purpose string, p profile.Profile) (*http.Request,
	error) {
	port, err := resolvePort(get.Port, c, p)
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
	req.Header = httpHeader(get.HTTPHeaders, userAgent(purpose, p))
	req.Host = req.Header.Get("Host")
	return req, nil
}

// httpHeader returns the headers of a handler with the kubelet's defaults. An empty Accept header
// removes the default.
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

// userAgent returns the User-Agent of the kubelet (pkg/probe/http/request.go at v1.37.0).
func userAgent(purpose string, p profile.Profile) string {
	release, _, _ := strings.Cut(strings.TrimPrefix(p.Version, "v"), "-") // of a preview
	return "kube-" + purpose + "/" + release
}

// ProbePort returns the port of the container that a probe asks, or 0: a command asks none, and a
// name may be that of no port.
func ProbePort(c *v1.Container, p *v1.Probe) int32 {
	if p == nil {
		return 0
	}
	h := podutil.HandlerOf(&p.ProbeHandler)
	if h.Port == nil {
		return 0
	}
	for _, named := range c.Ports {
		if h.Port.Type == intstr.String && named.Name == h.Port.StrVal {
			return named.ContainerPort
		}
	}
	return h.Port.IntVal
}

// resolvePort returns a port's number. It looks up a port's name among the ports of the container
// (pkg/probe/util.go at v1.37.0).
func resolvePort(port intstr.IntOrString, c *v1.Container, p profile.Profile) (int, error) {
	if port.Type == intstr.Int {
		return port.IntValue(), nil
	}
	for _, named := range c.Ports {
		if named.Name == port.StrVal {
			return int(named.ContainerPort), nil
		}
	}
	if p.UnknownPortNotFound {
		return 0, fmt.Errorf("port %q not found", port.StrVal)
	}
	return strconv.Atoi(port.StrVal)
}
