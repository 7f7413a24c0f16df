package program

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
)

// handler is a kind of request to a program, with the answers that the program can give.
type handler struct {
	name   string // name in messages
	words  map[string]fakeruntime.Answer
	code   func(*fakeruntime.Answer, value.Code) error // sets the code; nil: answers have no code
	fields map[string]bool                             // supported fields of named answers
}

var execHandler = &handler{
	name: "a command",
	words: map[string]fakeruntime.Answer{
		value.OK:    {Word: fakeruntime.Answers, Code: 0},
		value.Fail:  {Word: fakeruntime.Answers, Code: 1},
		value.Down:  {Word: fakeruntime.Answers, Code: 1},
		value.Hang:  {Word: fakeruntime.Hangs},
		value.Stall: {Word: fakeruntime.Stalls},
		value.Break: {Word: fakeruntime.Breaks},
	},
	code: func(a *fakeruntime.Answer, c value.Code) (err error) {
		a.Code, err = c.ExitCode()
		return err
	},
	fields: map[string]bool{"code": true, "body": true, "ignoreTimeout": true},
}

// redirectTarget is the target of the redirect of warn: a host that is not the pod.
const redirectTarget = "http://0.0.0.0/"

var httpHandler = &handler{
	name: "an httpGet handler",
	words: map[string]fakeruntime.Answer{
		value.OK:    {Word: fakeruntime.Answers, Code: 200},
		value.Fail:  {Word: fakeruntime.Answers, Code: 500},
		value.Down:  {Word: fakeruntime.Refuses},
		value.Hang:  {Word: fakeruntime.Hangs},
		value.Stall: {Word: fakeruntime.Stalls},
		value.Warn:  {Word: fakeruntime.Answers, Code: 302, Location: redirectTarget},
		value.Break: {Word: fakeruntime.Breaks},
	},
	code: func(a *fakeruntime.Answer, c value.Code) (err error) {
		a.Code, err = c.StatusCode()
		return err
	},
	fields: map[string]bool{"code": true, "body": true, "location": true, "then": true, "transportError": true,
		"bodyEnd": true},
}

// A TCP probe only connects. The kernel of the node accepts connections even while the program
// stalls.
var tcpHandler = &handler{
	name: "a tcpSocket probe",
	words: map[string]fakeruntime.Answer{
		value.OK:    {Word: fakeruntime.Answers},
		value.Fail:  {Word: fakeruntime.Refuses},
		value.Down:  {Word: fakeruntime.Refuses},
		value.Hang:  {Word: fakeruntime.Hangs},
		value.Stall: {Word: fakeruntime.Answers},
	},
}

var grpcHandler = &handler{
	name: "a grpc probe",
	words: map[string]fakeruntime.Answer{
		value.OK:    {Word: fakeruntime.Answers, Status: "SERVING"},
		value.Fail:  {Word: fakeruntime.Answers, Status: "NOT_SERVING"},
		value.Down:  {Word: fakeruntime.Refuses},
		value.Hang:  {Word: fakeruntime.Hangs},
		value.Stall: {Word: fakeruntime.Stalls},
	},
	code: func(a *fakeruntime.Answer, c value.Code) (err error) {
		a.Status, err = c.HealthStatus()
		return err
	},
	fields: map[string]bool{"code": true, "transportError": true},
}

// HandlerOf returns the handler of a probe, or nil if the probe has none. If a probe has several,
// the kubelet uses the first (pkg/kubelet/prober/prober.go at v1.37.0).
func HandlerOf(p *v1.Probe) *handler {
	switch {
	case p.Exec != nil:
		return execHandler
	case p.HTTPGet != nil:
		return httpHandler
	case p.TCPSocket != nil:
		return tcpHandler
	case p.GRPC != nil:
		return grpcHandler
	}
	return nil
}

// handlersOf returns the different handlers of the probes of a container.
func handlersOf(c *v1.Container) []*handler {
	var list []*handler
	seen := map[*handler]bool{}
	for _, p := range ProbesOf(c) {
		if h := HandlerOf(p.Probe); h != nil && !seen[h] {
			seen[h] = true
			list = append(list, h)
		}
	}
	return list
}

// requestHandlersOf returns the different handlers of the probes and hooks of a container, or the
// exec handler if there are none.
func requestHandlersOf(c *v1.Container) []*handler {
	list := handlersOf(c)
	for _, key := range HookKeys {
		if h := hookHandler(HookOf(c, key)); h != nil && !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	if len(list) == 0 {
		list = append(list, execHandler)
	}
	return list
}

// setCode sets the code of an answer, or returns why the answer cannot have it.
func (h *handler) setCode(a *fakeruntime.Answer, c value.Code) error {
	if h.code == nil {
		return fmt.Errorf("%s has no codes", h.name)
	}
	return h.code(a, c)
}

// ProbeOf is a probe of a container.
type ProbeOf struct {
	Key   string // field name in a rule
	Field string // field name in the container
	Probe *v1.Probe
}

// ProbesOf returns the probes of a container.
func ProbesOf(c *v1.Container) []ProbeOf {
	var has []ProbeOf
	for _, p := range []ProbeOf{
		{"liveness", "livenessProbe", c.LivenessProbe},
		{"readiness", "readinessProbe", c.ReadinessProbe},
		{"startup", "startupProbe", c.StartupProbe},
	} {
		if p.Probe != nil {
			has = append(has, p)
		}
	}
	return has
}

// ProbeNamed returns the probe of a container with this key, or nil.
func ProbeNamed(c *v1.Container, key string) *v1.Probe {
	for _, p := range ProbesOf(c) {
		if p.Key == key {
			return p.Probe
		}
	}
	return nil
}

// probeFields returns the field names of probes in their container.
func probeFields(probes []ProbeOf) []string {
	var list []string
	for _, p := range probes {
		list = append(list, p.Field)
	}
	return list
}

// HookKeys are the field names of the lifecycle hooks, in rules and in containers.
var HookKeys = []string{"postStart", "preStop"}

// HookOf returns a lifecycle hook of a container, or nil.
func HookOf(c *v1.Container, key string) *v1.LifecycleHandler {
	switch {
	case c.Lifecycle == nil:
		return nil
	case key == "postStart":
		return c.Lifecycle.PostStart
	}
	return c.Lifecycle.PreStop
}

// hookHandler returns the handler of a hook, or nil if the hook sends no request. If a hook has
// several, the kubelet uses the first, and it does not support TCP sockets
// (pkg/kubelet/lifecycle/handlers.go at v1.37.0).
func hookHandler(h *v1.LifecycleHandler) *handler {
	switch {
	case h == nil:
		return nil
	case h.Exec != nil:
		return execHandler
	case h.HTTPGet != nil:
		return httpHandler
	}
	return nil
}
