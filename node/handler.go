package node

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/trace"
)

// DefaultHandlerTimeout is the default limit of the real time in which a handler must respond.
const DefaultHandlerTimeout = 10 * time.Second

// guarded returns a program whose handlers cannot crash or block the run: a handler that panics or
// does not return ends the run with an error. Pods can share a program, so the function copies what
// it changes.
func (n *Node) guarded(pod *v1.Pod, program fakeruntime.Pod) fakeruntime.Pod {
	program.Containers = maps.Clone(program.Containers)
	for _, name := range slices.Sorted(maps.Keys(program.Containers)) {
		config, c := program.Containers[name], podutil.Find(pod, name)
		hooks := cmp.Or(c.Lifecycle, &v1.Lifecycle{})
		httpGet := func(p *v1.Probe) *v1.HTTPGetAction { return cmp.Or(p, &v1.Probe{}).HTTPGet }
		timeout := func(p *v1.Probe) time.Duration {
			return time.Duration(cmp.Or(p, &v1.Probe{}).TimeoutSeconds) * time.Second
		}
		hookGet := func(h *v1.LifecycleHandler) *v1.HTTPGetAction { return cmp.Or(h, &v1.LifecycleHandler{}).HTTPGet }
		config.Program.Rules = slices.Clone(config.Program.Rules)
		for i := range config.Program.Rules {
			r := &config.Program.Rules[i]
			for _, s := range []struct {
				series **fakeruntime.Series
				sender string
				get    *v1.HTTPGetAction
				within time.Duration // the timeout; 0: none
			}{
				{&r.Liveness, "liveness probe", httpGet(c.LivenessProbe), timeout(c.LivenessProbe)},
				{&r.Readiness, "readiness probe", httpGet(c.ReadinessProbe), timeout(c.ReadinessProbe)},
				{&r.Startup, "startup probe", httpGet(c.StartupProbe), timeout(c.StartupProbe)},
				{&r.Probes, "probe", nil, 0},
				{&r.PostStart, "postStart hook", hookGet(hooks.PostStart), 0},
				{&r.PreStop, "preStop hook", hookGet(hooks.PreStop), 0},
			} {
				if *s.series == nil {
					continue
				}
				w := watchdog{node: n, container: trace.PodName(pod.Namespace+"/"+pod.Name) + "/" + name,
					sender: s.sender, scheme: "http", within: s.within}
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

// watchdog is the handler that the container runtime calls in place of a handler of the user.
type watchdog struct {
	handler   http.Handler // of the user
	node      *Node
	container string // such as "web/app"
	sender    string // such as "liveness probe"
	scheme    string
	within    time.Duration // the timeout of the probe; 0: none
}

// watch returns a series with a watchdog around each of its handlers.
func (w watchdog) watch(s *fakeruntime.Series) *fakeruntime.Series {
	watched := *s
	watched.Items = slices.Clone(s.Items)
	copies := map[*fakeruntime.Answer]*fakeruntime.Answer{}
	for i := range watched.Items {
		watched.Items[i].Answer = *w.around(&watched.Items[i].Answer, copies)
	}
	return &watched
}

// around returns a copy of an answer, and of those that it leads to, with a watchdog around each
// handler. Answers can lead to each other in a cycle.
func (w watchdog) around(a *fakeruntime.Answer,
	copies map[*fakeruntime.Answer]*fakeruntime.Answer) *fakeruntime.Answer {
	if a == nil || copies[a] != nil {
		return copies[a]
	}
	watched := *a
	copies[a] = &watched
	if a.Handler != nil {
		w := w
		w.handler = a.Handler
		watched.Handler = &w
	}
	watched.Then = w.around(a.Then, copies)
	return &watched
}

// ServeHTTP serves a request with the handler of the user. A handler that panics, hangs or ends its
// goroutine ends the run. http.ErrAbortHandler closes the connection, as in a server of net/http.
func (w *watchdog) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var aborted bool
	w.node.call(&use{kind: listener, name: "the handler of the container " + w.container}, func() {
		var failure error
		if aborted, failure = w.run(rw, r); failure != nil {
			w.node.sim.Fail(failure)
		}
	})
	if aborted {
		panic(http.ErrAbortHandler)
	}
}

// run serves a request on a goroutine, since nothing can interrupt a handler that hangs. The
// simulation waits for the goroutine, so both never run at the same time, and runs stay
// deterministic. Only the failure of a handler that hangs depends on real time. Nobody reads what
// it writes later. It reports whether the handler aborted the response, and why the run must end,
// if so.
func (w *watchdog) run(rw http.ResponseWriter, r *http.Request) (aborted bool, failure error) {
	type outcome struct {
		returned bool
		failure  error
	}
	request := w.request(r) // now: a handler can change the request, and can end after its limit
	id := make(chan string, 1)
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if !o.returned {
				o.failure = w.unreturned(recover(), request)
			}
			done <- o
		}()
		id <- goroutineID()
		w.handler.ServeHTTP(rw, r)
		o.returned = true
	}()
	var expired <-chan time.Time // never, if nil
	if limit := w.node.handlerTimeout; limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		expired = timer.C
	}
	began := time.Now()
	select {
	case o := <-done:
		if w.within > 0 && time.Since(began) >= w.within && w.node.slowHandler != nil {
			w.node.slowHandler(w.slow())
		}
		return !o.returned, o.failure
	case <-expired:
		return true, w.hung(<-id, request)
	}
}

// unreturned describes the end of a handler that did not return. It must be called while the
// handler panics. The result is nil for http.ErrAbortHandler, which closes the connection.
func (w *watchdog) unreturned(panicked any, request string) error {
	switch panicked {
	case http.ErrAbortHandler:
		return nil
	case nil:
		return fmt.Errorf("the handler of the container %s ended its goroutine, as t.FailNow and t.Fatal do.\n%s",
			w.container, request)
	}
	return fmt.Errorf("the handler of the container %s panicked: %w\n%s\n\n%s", w.container, errorOf(panicked), request,
		panicFrames(own))
}

// hung describes a handler that has not returned in time.
func (w *watchdog) hung(goroutine, request string) error {
	return fmt.Errorf(`the handler of the container %s did not respond within %s of real time.
%s

A handler must respond without waiting: virtual time stands still until it returns. To simulate a program that
responds late or never, use answers such as "ok in 3s" or "hang" in a rule. To allow a handler more real time,
set HandlerTimeout in the options of the node. The handler is here:

%s`, w.container, w.node.handlerTimeout, request, handlerStack(goroutine))
}

// slow says that a handler responds later than its probe waits.
func (w *watchdog) slow() string {
	return fmt.Sprintf("the handler of the container %s took longer for its %s than the timeout of %s, in real time. "+
		"In virtual time it responds at once, so the probe did not time out: use an answer such as \"ok in 3s\"",
		w.container, w.sender, w.within)
}

// request describes the request: who sent it, when, and what it asks for.
func (w *watchdog) request(r *http.Request) string {
	return fmt.Sprintf("The request is from its %s at %s of virtual time: %s %s://%s%s",
		w.sender, trace.FormatTime(w.node.Now()), r.Method, w.scheme, r.Host, r.URL.RequestURI())
}

// own is the prefix of the functions of watchdog in stacks.
const own = "probesim.dev/node.(*watchdog)."

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
