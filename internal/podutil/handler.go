package podutil

import (
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Handler describes how the kubelet asks a program. HandlerOf knows all kinds of handlers: only the
// code that sends, answers or validates a request needs to know more about a kind.
type Handler struct {
	Field  string              // the field in a probe, such as httpGet
	Scheme string              // exec, http, https, tcp or grpc
	Port   *intstr.IntOrString // nil: a command asks no port
	Host   string              // in place of the IP of the pod; may be empty
	Path   string              // of an HTTP request, or the service of a gRPC health check; may be empty
}

// HandlerOf returns the handler of a probe or a hook, which may be nil or have none: the Field is
// then empty. If there are several, the kubelet uses the first (pkg/kubelet/prober/prober.go at
// v1.37.0).
func HandlerOf(h *v1.ProbeHandler) Handler {
	switch {
	case h == nil:
	case h.Exec != nil:
		return Handler{Field: "exec", Scheme: "exec"}
	case h.HTTPGet != nil:
		get := h.HTTPGet
		return Handler{"httpGet", strings.ToLower(string(get.Scheme)), &get.Port, get.Host, get.Path}
	case h.TCPSocket != nil:
		return Handler{"tcpSocket", "tcp", &h.TCPSocket.Port, h.TCPSocket.Host, ""}
	case h.GRPC != nil:
		service := ""
		if h.GRPC.Service != nil {
			service = *h.GRPC.Service
		}
		return Handler{"grpc", "grpc", new(intstr.FromInt32(h.GRPC.Port)), "", service}
	}
	return Handler{}
}

// Asks describes what a handler asks, such as http :8080/healthz or exec cat /tmp/healthy. It is
// empty without a handler.
func Asks(h *v1.ProbeHandler) string {
	of := HandlerOf(h)
	switch {
	case of.Field == "":
		return ""
	case of.Port == nil:
		return "exec " + strings.Join(h.Exec.Command, " ")
	case of.Field == "httpGet":
		return of.Scheme + " :" + of.Port.String() + of.Path
	}
	return of.Scheme + " :" + of.Port.String()
}

// Endpoint returns what a handler asks, in the notation of rules, such as http:8080/healthz.
func Endpoint(h *v1.ProbeHandler) string {
	of := HandlerOf(h)
	switch path := strings.TrimPrefix(of.Path, "/"); {
	case of.Port == nil:
		return "exec:" + strings.Join(strings.Fields(strings.Join(h.Exec.Command, " ")), " ")
	case path == "" && of.Field != "httpGet":
		return of.Scheme + ":" + of.Port.String()
	default:
		return of.Scheme + ":" + of.Port.String() + "/" + path
	}
}

// Probe is a probe of a container.
type Probe struct {
	Key   string // the name in rules, such as liveness
	Field string // in the container, such as livenessProbe
	*v1.Probe
}

// Probes returns the probes of a container.
func Probes(c *v1.Container) []Probe {
	var list []Probe
	for _, p := range []Probe{
		{"liveness", "livenessProbe", c.LivenessProbe},
		{"readiness", "readinessProbe", c.ReadinessProbe},
		{"startup", "startupProbe", c.StartupProbe},
	} {
		if p.Probe != nil {
			list = append(list, p)
		}
	}
	return list
}

// HookKeys are the names of the lifecycle hooks, in rules and in containers.
var HookKeys = []string{"postStart", "preStop"}

// Hook returns a lifecycle hook of a container, or nil.
func Hook(c *v1.Container, key string) *v1.LifecycleHandler {
	switch {
	case c.Lifecycle == nil:
		return nil
	case key == "postStart":
		return c.Lifecycle.PostStart
	}
	return c.Lifecycle.PreStop
}

// RequestOf returns the request that a hook sends to the program, or nil if it sends none. The
// kubelet does not support TCP sockets in hooks (pkg/kubelet/lifecycle/handlers.go at v1.37.0).
func RequestOf(hook *v1.LifecycleHandler) *v1.ProbeHandler {
	if hook == nil || hook.Exec == nil && hook.HTTPGet == nil {
		return nil
	}
	return &v1.ProbeHandler{Exec: hook.Exec, HTTPGet: hook.HTTPGet}
}

// Request is a probe or hook that asks the program in a container.
type Request struct {
	Key    string // the name in rules, such as liveness or preStop
	Field  string // in the container, such as livenessProbe or lifecycle.preStop
	IsHook bool
	*v1.ProbeHandler
}

// Requests returns the probes and then the hooks of a container that ask its program.
func Requests(c *v1.Container) []Request {
	var list []Request
	for _, p := range Probes(c) {
		if HandlerOf(&p.ProbeHandler).Field != "" {
			list = append(list, Request{p.Key, p.Field, false, &p.ProbeHandler})
		}
	}
	for _, key := range HookKeys {
		if h := RequestOf(Hook(c, key)); h != nil {
			list = append(list, Request{key, "lifecycle." + key, true, h})
		}
	}
	return list
}

// IsHTTP2 reports whether a handler uses HTTP/2 without TLS. The handler can be nil. IsHTTP2 finds
// the field by reflection: the releases of k8s.io/api that older kubelets are built with do not
// have it.
func IsHTTP2(get *v1.HTTPGetAction) bool {
	if get == nil {
		return false
	}
	protocol := reflect.ValueOf(get).Elem().FieldByName("Protocol")
	return protocol.IsValid() && !protocol.IsNil() && protocol.Elem().String() == "HTTP2"
}
