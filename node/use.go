package node

import (
	"bytes"
	"cmp"
	"errors"
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

// Errors of methods that a node refuses. Methods without an error result panic with them.
var (
	// ErrClosed is the error of a method after Close.
	ErrClosed = errors.New("the node is closed")
	// ErrInUse is the error of a method while another call uses the node: a call from another
	// goroutine, or a call from a handler, a function of At or an observer that must not call the
	// method.
	ErrInUse = errors.New("the node is in use")
)

// use is one use of a node: a call of a method, or a call of a function of the user by the node.
// Uses nest.
type use struct {
	kind    useKind
	name    string      // of a listener; the others have theirs in their frames
	callers [12]uintptr // frames of the call of the method, or of the registration of the function
	outer   *use
	root    *use // the outermost use
}

type useKind int

const (
	method   useKind = iota // nothing else may use the node
	function                // of At: may call all methods except RunUntil and Close
	listener                // a handler or an observer: may call At, Now and Trace
)

// demand is what a method does, and so which functions may call it.
type demand int

const (
	schedule demand = iota
	change
	passTime
)

// within makes a use the innermost one, inside another one or nil.
func (u *use) within(outer *use) {
	if u.outer, u.root = outer, u; outer != nil {
		u.root = outer.root
	}
}

// begin begins a call of a method. It returns an error if the node is closed, or if a call that is
// in progress does not allow the method. RunUntil reports the latter error too, because the caller
// may ignore it.
func (n *Node) begin(d demand) (*use, error) {
	u := &use{kind: method}
	isNode := n != nil && n.sim != nil
	if !isNode || n.use.Load() == nil { // a use inside another one needs its place only if the node refuses it
		u.locate()
	}
	if !isNode {
		panic(fmt.Sprintf("node: %s: this is not a node: create it with node.New", u))
	}
	err := n.refuses(u, d)
	if err != nil && u.callers[0] == 0 {
		u.locate()
		err = n.refuses(u, d)
	}
	if err != nil {
		if errors.Is(err, ErrInUse) {
			n.misuse.CompareAndSwap(nil, &err)
		}
		return nil, err
	}
	return u, nil
}

// locate notes the frames of the call of a method. That takes longer than most methods do, and few
// frames are nearly always enough to find the caller.
func (u *use) locate() {
	const few = 5
	runtime.Callers(2, u.callers[:few])
	if last := runtime.FuncForPC(u.callers[few-1]); last != nil && isAPI(last.Name()) {
		runtime.Callers(2, u.callers[:])
	}
}

// refuses begins a use, or returns the reason why the node refuses it.
func (n *Node) refuses(u *use, d demand) error {
	if by := n.closed.Load(); by != nil {
		return fmt.Errorf("%s: %w, by %s", u, ErrClosed, by)
	}
	u.within(n.use.Load())
	switch o := u.outer; {
	case o == nil:
	case o.kind == method:
		return fmt.Errorf("%s: %w by %s: use a node from one goroutine", u, ErrInUse, o.root)
	case d == passTime:
		return fmt.Errorf("%s: %w by %s: return from that function first", u, ErrInUse, o)
	case d == change && o.kind == listener:
		return fmt.Errorf("%s: %w by %s, which can only call At: schedule the change with At, for the present time", u,
			ErrInUse, o)
	}
	if !n.use.CompareAndSwap(u.outer, u) {
		return fmt.Errorf("%s: %w by another call at the same time: use a node from one goroutine", u, ErrInUse)
	}
	return nil
}

// change makes a change in a method with an error result.
func (n *Node) change(do func() error) error {
	u, err := n.begin(change)
	if err != nil {
		return err
	}
	defer n.end(u)
	return do()
}

// mustBegin is begin for methods without an error result.
func (n *Node) mustBegin(d demand) *use {
	u, err := n.begin(d)
	if err != nil {
		panic(err)
	}
	return u
}

// end ends a use. If another one has begun in the meantime, two goroutines use the node.
func (n *Node) end(u *use) {
	if n.use.CompareAndSwap(u, u.outer) {
		return
	}
	err := fmt.Errorf("%s: %w", u, ErrInUse)
	if o := n.use.Load(); o != nil && o.kind == method {
		err = fmt.Errorf("%s: %w by %s: use a node from one goroutine", u, ErrInUse, o)
	}
	n.misuse.CompareAndSwap(nil, &err)
}

// Usable returns nil if you can call At now, and otherwise ErrClosed or ErrInUse.
func (n *Node) Usable() error {
	u, err := n.begin(schedule)
	if err == nil {
		n.end(u)
	}
	return err
}

// call calls a function of the user. It ends the run if the function panics, ends its goroutine, or
// misuses the node. An observer that adds a record to the trace observes it at once.
func (n *Node) call(u *use, f func()) {
	if n.use.Load() == u {
		f()
		return
	}
	u.within(n.use.Load())
	began, returned := n.use.CompareAndSwap(u.outer, u), false
	defer func() {
		if !returned {
			n.sim.Fail(unreturned(u, recover()))
		}
		n.end(u)
		if misuse := n.misuse.Load(); misuse != nil {
			n.sim.Fail(*misuse)
		}
	}()
	if began {
		f()
	}
	returned = true
}

// unreturned describes the end of a function that did not return. It must be called while the
// function panics.
func unreturned(u *use, panicked any) error {
	if panicked == nil {
		return fmt.Errorf("%s ended its goroutine, as t.FailNow and t.Fatal do", u)
	}
	return fmt.Errorf("%s panicked: %w\n\n%s", u, errorOf(panicked), panicFrames("probesim.dev/node.(*Node).call"))
}

// errorOf returns the value of a panic as an error, such as ErrInUse.
func errorOf(panicked any) error {
	if err, ok := panicked.(error); ok {
		return err
	}
	return fmt.Errorf("%v", panicked)
}

// String describes the use and its place, such as "Advance at /src/web_test.go:12".
func (u *use) String() string {
	if u.callers[0] == 0 {
		if u.name == "" && u.root != nil && u.root != u {
			return u.root.String()
		}
		return u.name
	}
	name, place := origin(u.callers[:])
	switch {
	case u.kind == function:
		name = "the function of " + name
	case u.name != "":
		name = u.name
	}
	return name + " at " + place
}

// api are the prefixes of the functions of the Go API. Its caller is the first function without
// such a prefix, or in a test.
var api = []string{"probesim.dev/node.", "probesim.dev/probetest."}

func inAPI(f runtime.Frame) bool {
	return !strings.HasSuffix(f.File, "_test.go") && isAPI(f.Function)
}

func isAPI(function string) bool {
	return slices.ContainsFunc(api, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// origin returns the name of the function of the Go API that the user called, and the place of that
// call.
func origin(callers []uintptr) (name, place string) {
	frames := runtime.CallersFrames(callers)
	for {
		f, more := frames.Next()
		if !inAPI(f) {
			if f.File != "" {
				place = fmt.Sprintf("%s:%d", f.File, f.Line)
			}
			return name, place
		}
		name = f.Function[strings.LastIndexByte(f.Function, '/')+1:] // such as node.(*Node).At or node.New
		_, name, _ = strings.Cut(name, ".")
		if _, of, ok := strings.Cut(name, ")."); ok {
			name = of
		}
		name, _, _ = strings.Cut(name, ".") // the function around a function literal
		if !more {
			return name, ""
		}
	}
}

// panicFrames returns the frames of a function of the user, from the statement that panicked up to
// the function end of this package, without the frames of the Go API. It must be called while the
// function panics.
func panicFrames(end string) string {
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
		case strings.HasPrefix(f.Function, end):
			return b.String()
		case !inAPI(f):
			fmt.Fprintf(&b, "    %s\n        %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}

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
