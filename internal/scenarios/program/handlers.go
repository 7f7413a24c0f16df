package program

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/value"
)

// handler is a kind of request to a program, with the answers that the program can give.
type handler struct {
	name   string // name in messages
	words  map[string]fakeruntime.Answer
	code   func(*fakeruntime.Answer, value.Code) error // sets the code; nil: answers have no code
	codes  []string                                    // the codes that are words; nil: only numbers are codes
	fields map[string]bool                             // supported fields of named answers
	// succeeds reports whether a probe can succeed with an answer, which is not the lack of one
	succeeds func(*fakeruntime.Answer) bool
	// Healthy and Failing are the usual answers of a program that works, with the default delay,
	// and of one that cannot work at the moment.
	Healthy, Failing string
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
	fields:   map[string]bool{"code": true, "body": true, "ignoreTimeout": true},
	succeeds: func(a *fakeruntime.Answer) bool { return a.Code == 0 },
	Healthy:  "0 in 20ms", Failing: "1",
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
	succeeds: func(a *fakeruntime.Answer) bool {
		return a.TransportError == "" && a.Code >= 200 && a.Code < 400 && !a.BodyOpen
	},
	Healthy: "200 in 9ms", Failing: "503",
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
	succeeds: func(*fakeruntime.Answer) bool { return true },
	Healthy:  "ok in 2ms", Failing: "down",
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
	fields:   map[string]bool{"code": true, "transportError": true},
	codes:    value.HealthStatuses(),
	succeeds: func(a *fakeruntime.Answer) bool { return a.TransportError == "" && a.Status == "SERVING" },
	Healthy:  "SERVING in 11ms", Failing: "NOT_SERVING",
}

// handlers are the handlers by their field in a probe.
var handlers = map[string]*handler{"exec": execHandler, "httpGet": httpHandler, "tcpSocket": tcpHandler,
	"grpc": grpcHandler}

// HandlerOf returns the handler of a probe or a hook, or nil if there is none.
func HandlerOf(h *v1.ProbeHandler) *handler { return handlers[podutil.HandlerOf(h).Field] }

// handlersOf returns the different handlers of the probes and hooks of a container, or the exec
// handler if there are none.
func handlersOf(c *v1.Container) []*handler {
	var list []*handler
	for _, r := range podutil.Requests(c) {
		if h := HandlerOf(r.ProbeHandler); !slices.Contains(list, h) {
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
