package node_test

import (
	"errors"
	"math"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// panicked returns the error or text that do panics with; empty: it does not panic.
func panicked(do func()) (text string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			text = p.Error()
			if _, runtimeError := p.(runtime.Error); runtimeError {
				text = "runtime error: " + text
			}
		case string:
			text = p
		default:
			text = "a panic with another value"
		}
	}()
	do()
	return ""
}

// methods calls each method that a closed node, or a node in use, refuses. The result of a method
// is its error or panic.
var methods = map[string]func(*node.Node) error{
	"AddPod":    func(n *node.Node) error { return n.AddPod(web(), fakeruntime.Pod{}) },
	"DeletePod": func(n *node.Node) error { return n.DeletePod("default", "web", nil) },
	"PatchPod":  func(n *node.Node) error { return n.PatchPod("default", "web", []byte(`{}`)) },
	"AddEphemeralContainer": func(n *node.Node) error {
		return n.AddEphemeralContainer("default", "web", v1.EphemeralContainer{}, fakeruntime.ContainerConfig{})
	},
	"PatchPodStatus": func(n *node.Node) error { return n.PatchPodStatus("default", "web", []byte(`{}`)) },
	"EvictPod":       func(n *node.Node) error { return n.EvictPod("default", "web") },
	"RunUntil":       func(n *node.Node) error { return n.RunUntil(virtual.At(time.Hour)) },

	"KillContainer":    func(n *node.Node) error { n.KillContainer(fakeruntime.Kill{}); return nil },
	"Occur":            func(n *node.Node) error { n.Occur(0); return nil },
	"OccurIn":          func(n *node.Node) error { n.OccurIn("", "", 0); return nil },
	"StopKubelet":      func(n *node.Node) error { n.StopKubelet(); return nil },
	"StartKubelet":     func(n *node.Node) error { n.StartKubelet(); return nil },
	"ShutDown":         func(n *node.Node) error { n.ShutDown(); return nil },
	"PowerOff":         func(n *node.Node) error { n.PowerOff(virtual.At(time.Hour)); return nil },
	"SetDelays":        func(n *node.Node) error { n.SetDelays(); return nil },
	"SetAPIDown":       func(n *node.Node) error { n.SetAPIDown(true); return nil },
	"SetRuntimeHealth": func(n *node.Node) error { n.SetRuntimeHealth(fakeruntime.Health{}); return nil },
	"StepClock":        func(n *node.Node) error { n.StepClock(time.Second); return nil },
	"Record":           func(n *node.Node) error { n.Record(trace.Record{Kind: trace.Step}); return nil },
	"At":               func(n *node.Node) error { n.At(0, func() {}); return nil },
	"Pause":            func(n *node.Node) error { n.Pause(); return nil },
	"Observe":          func(n *node.Node) error { n.Observe(func(*trace.Record) {}); return nil },
	"Usable":           func(n *node.Node) error { return n.Usable() },
}

// refusal returns the error or panic of a method.
func refusal(n *node.Node, do func(*node.Node) error) (text string) {
	var err error
	if text = panicked(func() { err = do(n) }); err != nil {
		text = err.Error()
	}
	return text
}

func TestClosed(t *testing.T) {
	n := node.New(node.Options{})
	if err := n.RunUntil(0); err != nil {
		t.Fatal(err)
	}
	n.Close()
	n.Close() // does nothing
	records, now := n.Trace().Len(), n.Now()
	for name, do := range methods {
		got := refusal(n, do)
		if !strings.HasPrefix(got, name+" at ") || !strings.Contains(got, "/misuse_test.go:") ||
			!strings.Contains(got, ": the node is closed, by Close at ") {
			t.Errorf("%s: %q", name, got)
		}
	}
	if err := n.RunUntil(virtual.At(time.Hour)); !errors.Is(err, node.ErrClosed) {
		t.Errorf("RunUntil: %v", err)
	}
	if n.Trace().Len() != records || n.Now() != now {
		t.Errorf("the closed node has %d records at %s, and had %d at %s", n.Trace().Len(), n.Now(), records, now)
	}
}

func TestNoNode(t *testing.T) {
	for _, n := range []*node.Node{nil, {}} {
		for name, do := range methods {
			if got, want := refusal(n, do), "node: "+name; !strings.HasPrefix(got, want) ||
				!strings.HasSuffix(got, "this is not a node: create it with node.New") {
				t.Errorf("%s of a nil or zero Node: %q", name, got)
			}
		}
		if got := panicked(n.Close); !strings.HasSuffix(got, "this is not a node: create it with node.New") {
			t.Errorf("Close of a nil or zero Node: %q", got)
		}
		for name, do := range map[string]func(){"Now": func() { n.Now() }, "Trace": func() { n.Trace() }} {
			if got := panicked(do); got != "node: "+name+": this is not a node: create it with node.New" {
				t.Errorf("%s of a nil or zero Node: %q", name, got)
			}
		}
	}
}

// inside runs a node until do runs: in a function of At, an observer, or a handler. It returns the
// error of RunUntil.
func inside(t *testing.T, where string, o node.Options, do func(*node.Node)) error {
	t.Helper()
	n := node.New(o)
	defer n.Close()
	var called atomic.Bool // a handler runs in a goroutine of its own
	once := func() {
		if called.CompareAndSwap(false, true) {
			do(n)
		}
	}
	pod, program := probed(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if where == "handler" {
			once()
		}
	}))
	n.At(0, func() {
		if err := n.AddPod(pod, program); err != nil {
			t.Error(err)
		}
	})
	if where == "observer" {
		n.Observe(func(r *trace.Record) {
			if r.Kind == trace.ContainerStarted {
				once()
			}
		})
	}
	if where == "At" {
		n.At(virtual.At(10*time.Second), once)
	}
	err := n.RunUntil(virtual.At(time.Minute))
	if !called.Load() {
		t.Fatalf("%s: the function was not called", where)
	}
	return err
}

// probed returns a pod whose readiness probe the handler answers.
func probed(handler http.Handler) (*v1.Pod, fakeruntime.Pod) {
	pod, program := healthy(0, 10)
	app := &pod.Spec.Containers[0]
	app.StartupProbe, app.LivenessProbe = nil, nil
	app.ReadinessProbe.ProbeHandler = v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt(80)}}
	program.Containers = map[string]fakeruntime.ContainerConfig{"app": {Program: fakeruntime.Program{
		Rules: []fakeruntime.Rule{{Probes: answers(fakeruntime.Answer{Word: fakeruntime.Answers, Handler: handler})}},
	}}}
	return pod, program
}

func answers(a fakeruntime.Answer) *fakeruntime.Series {
	return &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: a}}}
}

// TestInside checks which methods a function of At, an observer and a handler can call. RunUntil
// reports a refused call even if the function ignores its error.
func TestInside(t *testing.T) {
	names := map[string]string{"At": "the function of At at ", "observer": "the observer at ",
		"handler": "the handler of the container p00000/app"}
	for where, of := range names {
		for name, do := range methods {
			allowed := name == "At" || name == "Pause" || name == "Usable" || where == "At" && name != "RunUntil"
			err := inside(t, where, node.Options{}, func(n *node.Node) { _ = do(n) })
			switch {
			case allowed && err != nil:
				t.Errorf("%s in %s: %v", name, where, err)
			case !allowed && (!errors.Is(err, node.ErrInUse) || !strings.Contains(err.Error(), name+" at ") ||
				!strings.Contains(err.Error(), "in use by "+of)):
				t.Errorf("%s in %s: %v", name, where, err)
			}
		}
		err := inside(t, where, node.Options{}, func(n *node.Node) { n.Close() })
		if !errors.Is(err, node.ErrInUse) || !strings.Contains(err.Error(), "Close at ") ||
			!strings.Contains(err.Error(), "return from that function first") {
			t.Errorf("Close in %s: %v", where, err)
		}
	}
}

// dereference panics, as a bug does.
func dereference(p *int) int { return *p }

// TestPanics checks that the error of RunUntil has the frames of a function that panics, even if it
// ran on a coroutine.
func TestPanics(t *testing.T) {
	for _, where := range []string{"At", "observer", "handler"} {
		err := inside(t, where, node.Options{}, func(*node.Node) { dereference(nil) })
		if err == nil {
			t.Errorf("%s: no error", where)
			continue
		}
		for _, want := range []string{"panicked: runtime error: invalid memory address",
			"probesim.dev/node_test.dereference\n", "/misuse_test.go:"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: the error has no %q:\n%v", where, want, err)
			}
		}
		for _, inside := range []string{"kubelet", "probesim.dev/sim", "node.(*Node)", "watchdog)"} {
			if strings.Contains(err.Error(), inside) {
				t.Errorf("%s: the error contains %q:\n%v", where, inside, err)
			}
		}
	}
}

// TestHandlerEnds checks the errors of handlers that end their goroutine, or do not return.
func TestHandlerEnds(t *testing.T) {
	err := inside(t, "handler", node.Options{}, func(*node.Node) { runtime.Goexit() })
	if err == nil || !strings.HasPrefix(err.Error(), "the handler of the container p00000/app ended its goroutine") {
		t.Errorf("a handler that ends its goroutine: %v", err)
	}
	until := make(chan struct{})
	defer close(until)
	err = inside(t, "handler", node.Options{HandlerTimeout: 20 * time.Millisecond}, func(*node.Node) { <-until })
	if err == nil || !strings.HasPrefix(err.Error(),
		"the handler of the container p00000/app did not respond within 20ms") ||
		!strings.Contains(err.Error(), "/misuse_test.go:") {
		t.Errorf("a handler that hangs: %v", err)
	}
}

// TestFunctionEndsGoroutine checks that a function of At can end the goroutine of the test, and
// that the node can be closed then, but not run.
func TestFunctionEndsGoroutine(t *testing.T) {
	n := node.New(node.Options{})
	var ended sync.WaitGroup
	ended.Go(func() {
		n.At(0, runtime.Goexit)
		_ = n.RunUntil(virtual.At(time.Minute))
		t.Error("the goroutine continued")
	})
	ended.Wait()
	if err := n.RunUntil(virtual.At(time.Minute)); err == nil || !strings.Contains(err.Error(), "ended its goroutine") {
		t.Errorf("error %v", err)
	}
	n.Close()
}

// TestTwoGoroutines checks that each method notices a run in another goroutine, and that both
// places are named.
func TestTwoGoroutines(t *testing.T) {
	for name, do := range methods {
		var n *node.Node
		var got string
		n = node.New(node.Options{Trace: &trace.Recorder{Sink: func(r *trace.Record) {
			if r.Kind == trace.ContainerStarted { // RunUntil runs, and no function that may call the node
				var other sync.WaitGroup
				other.Go(func() { got = refusal(n, do) })
				other.Wait()
			}
		}}})
		n.At(0, func() {
			if err := n.AddPod(web(), fakeruntime.Pod{}); err != nil {
				t.Error(err)
			}
		})
		err := n.RunUntil(virtual.At(time.Minute))
		for _, text := range []string{got, errorText(err)} {
			if !strings.HasPrefix(text, name+" at ") || !strings.Contains(text, "the node is in use by RunUntil at ") ||
				strings.Count(text, "/misuse_test.go:") != 2 {
				t.Errorf("%s: the other goroutine got %q, RunUntil returned %v", name, got, err)
				break
			}
		}
		n.Close()
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestUsedAtOnce uses a node from many goroutines without any order. Whatever happens, a refused
// call names the rule, and nothing else fails.
func TestUsedAtOnce(t *testing.T) {
	n := node.New(node.Options{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if err := n.Usable(); err != nil && !errors.Is(err, node.ErrInUse) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// TestInvalidArguments checks that each invalid argument is an error or a panic that says what is
// wrong.
func TestInvalidArguments(t *testing.T) {
	long := time.Duration(math.MaxInt64)
	draw := func(least, most time.Duration) *fakeruntime.Draw { return &fakeruntime.Draw{Min: least, Max: most} }
	program := func(r fakeruntime.Rule) func(*node.Node) error {
		return func(n *node.Node) error {
			return n.AddPod(web(), fakeruntime.Pod{Containers: map[string]fakeruntime.ContainerConfig{
				"app": {Program: fakeruntime.Program{Rules: []fakeruntime.Rule{r}}}}})
		}
	}
	answer := func(a fakeruntime.Answer) func(*node.Node) error {
		return program(fakeruntime.Rule{Probes: answers(a)})
	}
	cycle := &fakeruntime.Answer{Word: fakeruntime.Answers, Code: -2}
	cycle.Then = cycle
	options := func(o node.Options) func(*node.Node) error {
		return func(*node.Node) error { node.New(o); return nil }
	}
	const rule = `program.Containers["app"].Program.Rules[0].`
	for want, do := range map[string]func(*node.Node) error{
		"AddPod: the pod is nil":             func(n *node.Node) error { return n.AddPod(nil, fakeruntime.Pod{}) },
		"AddAdmitted: the pod is nil":        func(n *node.Node) error { return n.AddAdmitted(nil, fakeruntime.Pod{}) },
		"node: At: the function is nil":      func(n *node.Node) error { n.At(0, nil); return nil },
		"node: Observe: the function is nil": func(n *node.Node) error { n.Observe(nil); return nil },
		`pods "" not found`:                  func(n *node.Node) error { return n.DeletePod("", "", nil) },
		`pods "web" not found`:               func(n *node.Node) error { return n.PatchPod("", "web", nil) },
		"node: SetDelays: Exec is from -1s to 0s: it must not be negative": func(n *node.Node) error {
			n.SetDelays(fakeruntime.Delays{Exec: draw(-time.Second, 0)})
			return nil
		},
		"node: SetDelays: APIGet is from 2s to 1s: the range is empty": func(n *node.Node) error {
			n.SetDelays(fakeruntime.Delays{}, fakeruntime.Delays{APIGet: draw(2*time.Second, time.Second)})
			return nil
		},
		"node: StepClock(2562047h47m16.854775807s): the wall clock would be more than 100 " +
			"years off": func(n *node.Node) error {
			n.StepClock(long)
			return nil
		},
		"node: StepClock(-2562047h47m16.854775808s): the wall clock": func(n *node.Node) error {
			n.StepClock(math.MinInt64)
			return nil
		},

		"node: New: Options.Uptime is -1s: use a duration from 0s to " +
			"8760h0m0s": options(node.Options{Uptime: new(-time.Second)}),
		"node: New: Options.Uptime is 2562047h": options(node.Options{Uptime: &long}),
		`node: New: Options.Profile has the unknown version "v1.2.3"`: options(
			node.Options{Profile: profile.Profile{Version: "v1.2.3"}}),
		"node: New: Options.Delays are invalid: GRPC is from 3s " +
			"to 2s": options(node.Options{Delays: fakeruntime.Delays{GRPC: draw(3*time.Second, 2*time.Second)}}),
		"node: New: Options.Config is invalid: SyncFrequency " +
			"is -1s": options(node.Options{Config: kubeletconfig.Config{SyncFrequency: -time.Second}}),

		"program.Replica is -1: it must not be negative": func(n *node.Node) error {
			return n.AddPod(web(), fakeruntime.Pod{Replica: -1})
		},
		"program.Delays.Exec is from -1ns to 0s: it must not be": func(n *node.Node) error {
			return n.AddPod(web(), fakeruntime.Pod{Delays: fakeruntime.Delays{Exec: draw(-1, 0)}})
		},
		rule + "Instance is from 3 to 2: the range is " +
			"empty": program(fakeruntime.Rule{Instance: fakeruntime.Range{Min: 3, Max: 2, Set: true}}),
		rule + "Clock is 7: use AfterStart, AtScenario, AfterSigterm or " +
			"AtMoment": program(fakeruntime.Rule{Clock: 7}),
		rule + "From is from -1s to 0s: it must not be " +
			"negative": program(fakeruntime.Rule{From: *draw(-time.Second, 0)}),
		rule + "For is from 2s to 1s: the range is " +
			"empty": program(fakeruntime.Rule{For: draw(2*time.Second, time.Second)}),
		rule + "Every is 0s: it must be " +
			"positive": program(fakeruntime.Rule{Every: draw(0, 0)}),
		rule + "Chance is NaN: it must be from " +
			"0 to 1": program(fakeruntime.Rule{Chance: new(math.NaN())}),
		rule + "Chance is 1.5: it must be from " +
			"0 to 1": program(fakeruntime.Rule{Chance: new(1.5)}),
		rule + "Liveness.Items is " +
			"empty": program(fakeruntime.Rule{Liveness: &fakeruntime.Series{}}),
		rule + "Liveness.Items[0].Count is -1: it must not be " +
			"negative": program(fakeruntime.Rule{
			Liveness: &fakeruntime.Series{
				Items: []fakeruntime.Item{{Count: -1, Answer: fakeruntime.Answer{Word: fakeruntime.Hangs}}}}}),
		rule + "Exit.Code is 256: it must be from 0 " +
			"to 255": program(fakeruntime.Rule{Exit: &fakeruntime.Exit{Code: 256}}),
		rule + "Exit.Never needs the Clock " +
			"AfterSigterm": program(fakeruntime.Rule{Exit: &fakeruntime.Exit{Never: true}}),
		rule + `Probes.Items[0].Answer.Word is "": use Answers`: answer(fakeruntime.Answer{}),
		rule + "Probes.Items[0].Answer.Code " +
			"is -1": answer(fakeruntime.Answer{Word: fakeruntime.Answers, Code: -1}),
		rule + "Probes.Items[0].Answer.Latency is from -1s " +
			"to 0s": answer(fakeruntime.Answer{Word: fakeruntime.Answers, Latency: draw(-time.Second, 0)}),
		rule + "Probes.Items[0].Answer.Handler is a nil " +
			"http.HandlerFunc": answer(fakeruntime.Answer{Word: fakeruntime.Answers, Handler: http.HandlerFunc(nil)}),
		rule + "Probes.Items[0].Answer.Handler has no effect: it needs the Word " +
			"Answers": answer(fakeruntime.Answer{Word: fakeruntime.Hangs, Handler: http.NotFoundHandler()}),
		rule + "Probes.Items[0].Answer.Then.Code is -2": answer(*cycle),
	} {
		n := node.New(node.Options{})
		if got := refusal(n, do); !strings.Contains(got, want) || strings.Contains(got, "runtime error") {
			t.Errorf("%q, want %q", got, want)
		}
		if err := n.RunUntil(0); err != nil {
			t.Errorf("%s: the node is not usable any longer: %v", want, err)
		}
		n.Close()
	}
}

// TestExtremeTimes checks that times at the ends of the range neither overflow nor run for long.
func TestExtremeTimes(t *testing.T) {
	n := node.New(node.Options{})
	defer n.Close()
	called := 0
	n.At(virtual.At(math.MinInt64), func() { called++ })
	n.At(virtual.At(math.MaxInt64), func() { t.Error("the end of time has come") })
	if err := n.RunUntil(virtual.At(time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := n.RunUntil(virtual.At(math.MinInt64)); err != nil || n.Now() != virtual.At(time.Second) || called != 1 {
		t.Errorf("error %v, at %s, %d calls", err, n.Now(), called)
	}
	n.At(virtual.At(2*time.Second), func() {
		if n.KillContainer(fakeruntime.Kill{}) {
			t.Error("killed a container without a name")
		}
	})
	if err := n.RunUntil(virtual.At(3 * time.Second)); err != nil {
		t.Error(err)
	}
	off := func(back virtual.Time) []trace.Record {
		return at(t, func(n *node.Node) {
			n.PowerOff(back)
			n.StartKubelet()
		})
	}
	if got, want := off(virtual.At(math.MinInt64)), off(virtual.At(20*time.Second)); !reflect.DeepEqual(got, want) {
		t.Errorf("a node that is switched on before it is switched off does not restart immediately: it has the "+
			"records\n%v\nwant\n%v", got, want)
	}
}

// TestResponseWriter checks the optional interfaces of the http.ResponseWriter of handlers.
func TestResponseWriter(t *testing.T) {
	var hijack, deadline error
	err := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _, hijack = w.(http.Hijacker).Hijack()
		deadline = http.NewResponseController(w).SetWriteDeadline(time.Time{})
		if r.Body == nil {
			t.Error("the request has no body")
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		w.(http.Flusher).Flush()
		w.WriteHeader(http.StatusOK)
	})
	if err != nil || !errors.Is(hijack, http.ErrNotSupported) || !errors.Is(deadline, http.ErrNotSupported) {
		t.Errorf("RunUntil: %v, Hijack: %v, SetWriteDeadline: %v", err, hijack, deadline)
	}
	err = serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(0) })
	if err == nil || !strings.Contains(err.Error(), "panicked: invalid WriteHeader code 0") {
		t.Errorf("error %v", err)
	}
	err = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
	})
	if err == nil || !strings.Contains(err.Error(), "TestResponseWriter.func") {
		t.Errorf("the error of a handler that ignores the error of Hijack: %v", err)
	}
	err = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 64 {
			if n, err := w.Write(make([]byte, 1<<20)); n != 1<<20 || err != nil {
				t.Errorf("wrote %d bytes: %v", n, err)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLateHeader checks that a header that a handler sets after the status code has no effect, as
// in a server of net/http.
func TestLateHeader(t *testing.T) {
	var paths []string
	err := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if paths = append(paths, r.URL.Path); r.URL.Path == "/" {
			w.WriteHeader(http.StatusFound)
			w.Header().Set("Location", "/late")
		}
	})
	if err != nil || len(paths) == 0 || slices.Contains(paths, "/late") {
		t.Errorf("the client requested %q: %v", paths, err)
	}
}

// TestRequestChanged checks that the error of a handler describes the request as the handler got
// it.
func TestRequestChanged(t *testing.T) {
	err := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		r.URL, r.Host = nil, ""
		panic("changed")
	})
	if err == nil || !strings.Contains(err.Error(), "panicked: changed\nThe request is from its ") ||
		!strings.Contains(err.Error(), "GET http://10.") {
		t.Errorf("error %v", err)
	}
}

// serve lets a handler serve a probe, and returns the error of RunUntil.
func serve(t *testing.T, handler http.HandlerFunc) error {
	t.Helper()
	n := node.New(node.Options{})
	defer n.Close()
	pod, program := probed(handler)
	n.At(0, func() {
		if err := n.AddPod(pod, program); err != nil {
			t.Error(err)
		}
	})
	return n.RunUntil(virtual.At(5 * time.Second))
}
