package scenarios

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
)

// handler is a way to ask a program, and what the program can answer to it.
type handler struct {
	name   string // of such a probe in messages
	words  map[string]fakeruntime.Answer
	code   func(*fakeruntime.Answer, value.Code) error // sets the code; nil: there are none
	fields map[string]bool                             // of named answers
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

// elsewhere is where the word warn redirects to: a host that is not the pod.
const elsewhere = "http://0.0.0.0/"

var httpHandler = &handler{
	name: "an httpGet handler",
	words: map[string]fakeruntime.Answer{
		value.OK:    {Word: fakeruntime.Answers, Code: 200},
		value.Fail:  {Word: fakeruntime.Answers, Code: 500},
		value.Down:  {Word: fakeruntime.Refuses},
		value.Hang:  {Word: fakeruntime.Hangs},
		value.Stall: {Word: fakeruntime.Stalls},
		value.Warn:  {Word: fakeruntime.Answers, Code: 302, Location: elsewhere},
		value.Break: {Word: fakeruntime.Breaks},
	},
	code: func(a *fakeruntime.Answer, c value.Code) (err error) {
		a.Code, err = c.StatusCode()
		return err
	},
	fields: map[string]bool{"code": true, "body": true, "location": true, "then": true, "transportError": true},
}

// A socket is open or not; the kernel of the node accepts for a program that is frozen.
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

// handlerOf returns the handler of a probe, nil if there is none that is known. The kubelet takes the
// first (pkg/kubelet/prober/prober.go at v1.37.0).
func handlerOf(p *v1.Probe) *handler {
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

// handlersOf returns the different handlers of a container's probes.
func handlersOf(c *v1.Container) []*handler {
	var list []*handler
	seen := map[*handler]bool{}
	for _, p := range probesOf(c) {
		if h := handlerOf(p.probe); h != nil && !seen[h] {
			seen[h] = true
			list = append(list, h)
		}
	}
	return list
}

// answerersOf returns the different handlers of what may ask a container's program: its probes, then its hooks. A
// container that has none is asked as by a command.
func answerersOf(c *v1.Container) []*handler {
	list := handlersOf(c)
	for _, key := range hookKeys {
		if h := hookHandler(hookOf(c, key)); h != nil && !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	if len(list) == 0 {
		list = append(list, execHandler)
	}
	return list
}

// setCode sets the code of an answer, or says why it cannot have it.
func (h *handler) setCode(a *fakeruntime.Answer, c value.Code) error {
	if h.code == nil {
		return fmt.Errorf("%s has no codes", h.name)
	}
	return h.code(a, c)
}

// probeOf is a probe of a container with the names it goes by.
type probeOf struct {
	key   string // in a rule
	field string // in the container
	probe *v1.Probe
}

// probesOf returns the probes that a container has.
func probesOf(c *v1.Container) []probeOf {
	var has []probeOf
	for _, p := range []probeOf{
		{"liveness", "livenessProbe", c.LivenessProbe},
		{"readiness", "readinessProbe", c.ReadinessProbe},
		{"startup", "startupProbe", c.StartupProbe},
	} {
		if p.probe != nil {
			has = append(has, p)
		}
	}
	return has
}

var probeKeys = []string{"liveness", "readiness", "startup"}

func hasProbe(probes []probeOf, key string) bool {
	for _, p := range probes {
		if p.key == key {
			return true
		}
	}
	return false
}

// hookKeys are the lifecycle hooks as rules and containers name them.
var hookKeys = []string{"postStart", "preStop"}

// hookOf returns a lifecycle hook of a container, or nil.
func hookOf(c *v1.Container, key string) *v1.LifecycleHandler {
	switch {
	case c.Lifecycle == nil:
		return nil
	case key == "postStart":
		return c.Lifecycle.PostStart
	}
	return c.Lifecycle.PreStop
}

// hookHandler returns the handler of a hook that asks the program, nil if it asks nothing. The kubelet takes the
// first, and knows no TCP sockets (pkg/kubelet/lifecycle/handlers.go at v1.37.0).
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
