package probetest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/podutil"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// guarded returns a program whose handlers cannot crash or block the test: a handler that panics or does not
// return ends the run with a message. The pods of a workload share their program, so the function
// copies what it changes.
func (n *Node) guarded(pod *Pod, program fakeruntime.Pod) fakeruntime.Pod {
	program.Containers = maps.Clone(program.Containers)
	for _, name := range slices.Sorted(maps.Keys(program.Containers)) {
		config, c := program.Containers[name], podutil.Find(pod.Object, name)
		if c == nil {
			continue
		}
		config.Program.Rules = slices.Clone(config.Program.Rules)
		for i := range config.Program.Rules {
			r := &config.Program.Rules[i]
			for _, s := range []struct {
				series **fakeruntime.Series
				sender string
				get    *v1.HTTPGetAction
			}{
				{&r.Liveness, "liveness probe", ofProbe(c.LivenessProbe)},
				{&r.Readiness, "readiness probe", ofProbe(c.ReadinessProbe)},
				{&r.Startup, "startup probe", ofProbe(c.StartupProbe)},
				{&r.Probes, "probe", nil},
				{&r.PostStart, "postStart hook", ofHook(hooks(c).PostStart)},
				{&r.PreStop, "preStop hook", ofHook(hooks(c).PreStop)},
			} {
				w := watchdog{node: n, container: pod.Container(name), sender: s.sender, scheme: "http"}
				if s.get != nil && s.get.Scheme == v1.URISchemeHTTPS {
					w.scheme = "https"
				}
				*s.series = w.watch(*s.series)
			}
		}
		program.Containers[name] = config
	}
	return program
}

// watchdog is the handler that the container runtime calls in place of a handler of the test.
type watchdog struct {
	handler   http.Handler // of the test
	node      *Node
	container *Container
	sender    string // such as "liveness probe"
	scheme    string
}

// watch returns a series with a watchdog around each of its handlers.
func (w watchdog) watch(s *fakeruntime.Series) *fakeruntime.Series {
	if s == nil {
		return nil
	}
	watched := *s
	watched.Items = slices.Clone(s.Items)
	for i := range watched.Items {
		if h := watched.Items[i].Answer.Handler; h != nil {
			w := w // a handler per item
			w.handler = h
			watched.Items[i].Answer.Handler = &w
		}
	}
	return &watched
}

// ServeHTTP serves a request with the handler of the test. When the handler panics or hangs, the server
// closes the connection, as net/http does after a panic, and the run ends.
func (w *watchdog) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if w.node.failure != "" { // a handler that hangs may still hold locks or use shared state
		panic(http.ErrAbortHandler)
	}
	response := &buffered{header: http.Header{}}
	if w.run(response, r) {
		response.copyTo(rw)
		return
	}
	panic(http.ErrAbortHandler)
}

// run serves a request on a goroutine, since nothing can interrupt a handler that hangs on the goroutine of
// the test. The simulation waits for the goroutine, so both never run at the same time, and runs stay
// deterministic. Only the failure of a handler that hangs depends on real time. It reports whether there is a
// response.
func (w *watchdog) run(response *buffered, r *http.Request) bool {
	var failure string
	id := make(chan string, 1)
	done := make(chan bool, 1)
	go func() {
		returned := false
		defer func() {
			if !returned {
				failure = w.ended(recover(), r)
			}
			done <- returned
		}()
		id <- goroutineID()
		w.handler.ServeHTTP(response, r)
		returned = true
	}()
	var expired <-chan time.Time // never, if nil
	if limit := w.limit(); limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case returned := <-done:
		if failure != "" {
			w.node.fail("%s", failure)
		}
		return returned
	case <-expired:
		w.node.fail("%s", w.hung(<-id, r))
		return false
	}
}

// limit returns the real time that a handler may take. A negative limit means any time.
func (w *watchdog) limit() time.Duration {
	if t := w.node.options.HandlerTimeout; t != 0 {
		return t
	}
	return DefaultHandlerTimeout
}

// ended describes the panic of a handler. It must be called while the handler panics. http.ErrAbortHandler is
// not a failure: it closes the connection.
func (w *watchdog) ended(panicked any, r *http.Request) string {
	switch panicked {
	case http.ErrAbortHandler:
		return ""
	case nil:
		return fmt.Sprintf("The handler of the container %s ended its goroutine, as t.FailNow and t.Fatal do.\n%s", w.container, w.request(r))
	}
	return fmt.Sprintf("The handler of the container %s panicked: %v\n%s\n\n%s", w.container, panicked, w.request(r), panicFrames())
}

// hung describes a handler that has not returned in time.
func (w *watchdog) hung(goroutine string, r *http.Request) string {
	return fmt.Sprintf(`The handler of the container %s did not respond within %s of real time.
%s

A handler must respond without waiting: virtual time stands still until it returns. To simulate a program that
responds late or never, use answers such as "ok in 3s" or "hang" in a Rule. To allow a handler more real time,
set NodeOptions.HandlerTimeout. The handler is here:

%s`, w.container, w.limit(), w.request(r), handlerStack(goroutine))
}

// request describes the request: who sent it, when, and what it asks for.
func (w *watchdog) request(r *http.Request) string {
	return fmt.Sprintf("The request is from its %s at %s of virtual time: %s %s://%s%s",
		w.sender, trace.FormatTime(virtual.At(w.node.Now())), r.Method, w.scheme, r.Host, r.URL.RequestURI())
}

// own is the prefix of the functions of watchdog in stacks.
const own = "probesim.dev/probetest.(*watchdog)."

// panicFrames returns the frames of the handler, from the statement that panicked up. It must be called while
// the handler panics.
func panicFrames() string {
	callers := make([]uintptr, 200)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	var b strings.Builder
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			b.Reset() // of several panics, the first is the lowest
			panicking = true
		case !panicking || b.Len() == 0 && strings.HasPrefix(f.Function, "runtime."): // such as sigpanic
		case strings.HasPrefix(f.Function, own):
			return b.String()
		default:
			fmt.Fprintf(&b, "    %s\n        %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

// goroutineID returns the name of the current goroutine in stacks, such as "goroutine 7 ".
func goroutineID() string {
	text := make([]byte, 64)
	text = text[:runtime.Stack(text, false)]
	return string(text[:bytes.IndexByte(text, '[')])
}

// handlerStack returns the stack of a goroutine without the frames of this package.
func handlerStack(goroutine string) string {
	text := make([]byte, 1<<20)
	text = text[:runtime.Stack(text, true)]
	for _, stack := range strings.Split(string(text), "\n\n") {
		if !strings.HasPrefix(stack, goroutine) {
			continue
		}
		stack, _, _ = strings.Cut(stack, "\n"+own)
		return "    " + strings.ReplaceAll(stack, "\n", "\n    ")
	}
	return "    (the handler returned in the meantime)"
}

// buffered keeps a response until the handler returns, so that a handler that hangs cannot write later.
type buffered struct {
	header http.Header
	codes  []int
	body   bytes.Buffer
}

func (b *buffered) Header() http.Header { return b.header }

func (b *buffered) WriteHeader(code int) { b.codes = append(b.codes, code) }

func (b *buffered) Write(data []byte) (int, error) {
	if len(b.codes) == 0 {
		b.WriteHeader(http.StatusOK)
	}
	return b.body.Write(data)
}

func (b *buffered) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), b.header)
	for _, code := range b.codes {
		w.WriteHeader(code)
	}
	if b.body.Len() > 0 {
		w.Write(b.body.Bytes())
	}
}

func ofProbe(p *v1.Probe) *v1.HTTPGetAction {
	if p == nil {
		return nil
	}
	return p.HTTPGet
}

func ofHook(h *v1.LifecycleHandler) *v1.HTTPGetAction {
	if h == nil {
		return nil
	}
	return h.HTTPGet
}

func hooks(c *v1.Container) v1.Lifecycle {
	if c.Lifecycle == nil {
		return v1.Lifecycle{}
	}
	return *c.Lifecycle
}
