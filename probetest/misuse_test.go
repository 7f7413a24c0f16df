package probetest

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/matchers"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/node"
	"probesim.dev/trace"
)

// panicked returns what do panics with; empty: it does not panic.
func panicked(do func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	do()
	return ""
}

// closingT is a testing.TB whose test has ended when close is called.
type closingT struct {
	*fakeT
	cleanup []func()
}

func (t *closingT) Cleanup(f func()) { t.cleanup = append(t.cleanup, f) }

func (t *closingT) close() {
	for _, f := range t.cleanup {
		f()
	}
}

// TestAfterTheTest checks that all methods fail after the test of a node, and that its run stays
// readable.
func TestAfterTheTest(t *testing.T) {
	fake := &closingT{fakeT: newFakeT(t)}
	n := NewNode(fake, NodeOptions{})
	web := n.AddPod(pod("web", v1.Container{Name: "app", Image: "a"}))
	n.Advance(time.Minute)
	before := n.String()
	fake.close()
	for name, do := range map[string]func(){
		"AddPod":      func() { n.AddPod(pod("db", v1.Container{Name: "app", Image: "a"})) },
		"AddWorkload": func() { n.AddWorkload(pod("db", v1.Container{Name: "app", Image: "a"})) },
		"Advance":     func() { n.Advance(time.Minute) },
		"AdvanceTo":   func() { n.AdvanceTo(time.Hour) },
		"At":          func() { n.At(time.Hour, func(*node.Node) {}) },
		"Do":          func() { n.Do(func(*node.Node) {}) },
		"Delete":      func() { web.Delete() },
		"Kill":        func() { web.Container("app").Kill() },
	} {
		fake.failures = nil
		do()
		got := strings.Join(fake.failures, "\n")
		if len(fake.failures) != 1 || !strings.HasPrefix(got, name+" at ") ||
			!strings.Contains(got, "/misuse_test.go:") || !strings.Contains(got, ": the node is closed, by Close at ") {
			t.Errorf("%s: %q", name, fake.failures)
		}
	}
	g := gomega.NewWithT(t)
	g.Expect(web).To(HaveBecomeReady().Within(10 * time.Second))
	g.Expect(web).NotTo(HaveRestarted())
	g.Expect(web.Records()).NotTo(gomega.BeEmpty())
	g.Expect(n.String()).To(gomega.Equal(before))
	_, err := HaveRestarted().Within(2 * time.Minute).Match(web)
	g.Expect(err).To(gomega.MatchError(gomega.HaveSuffix("but the run has only reached 60.000s, and the node is " +
		"closed: assert before the test ends")))
}

// TestCalledFromTheRun checks that functions that the node calls cannot let time pass, that the
// failure names both places, and that everything else works.
func TestCalledFromTheRun(t *testing.T) {
	for name, advance := range map[string]func(*Node){
		"Advance":   func(n *Node) { n.Advance(time.Second) },
		"AdvanceTo": func(n *Node) { n.AdvanceTo(time.Hour) },
	} {
		fake := newFakeT(t)
		n := NewNode(fake, NodeOptions{})
		n.At(10*time.Second, func(*node.Node) { advance(n) })
		n.Advance(time.Minute)
		got := strings.Join(fake.failures, "\n")
		if len(fake.failures) != 1 || !strings.Contains(got, name+" at ") ||
			!strings.Contains(got, "the node is in use by the function of At at ") || n.Now() != 10*time.Second {
			t.Errorf("%s in a function of At: %q at %s", name, fake.failures, n.Now())
		}
		_, failures := handled(t, NodeOptions{}, func(http.ResponseWriter, *http.Request) { advance(lastNode) })
		if len(failures) != 1 || !strings.Contains(failures[0], name+" at ") ||
			!strings.Contains(failures[0], "in use by the handler of the container web/app") {
			t.Errorf("%s in a handler: %q", name, failures)
		}
	}
	called := false
	p, failures := handled(t, NodeOptions{}, func(http.ResponseWriter, *http.Request) {
		if n := lastNode; !called {
			called = true
			n.AddPod(pod("late", v1.Container{Name: "app", Image: "a"}))
			n.Do(func(sim *node.Node) { sim.StopKubelet() })
			n.At(n.Now()+5*time.Second, func(sim *node.Node) { sim.StartKubelet() })
		}
	})
	if len(failures) > 0 || !strings.Contains(p.node.String(), "late") {
		t.Errorf("failed with %q", failures)
	}
}

// TestFunctionPanics checks that a function of At that panics fails the test with its frames.
func TestFunctionPanics(t *testing.T) {
	fake := newFakeT(t)
	n := NewNode(fake, NodeOptions{})
	n.At(10*time.Second, func(*node.Node) { dereference(nil) })
	n.Advance(time.Minute)
	got := strings.Join(fake.failures, "\n")
	if len(fake.failures) != 1 || !strings.Contains(got, "The function of At") && !strings.Contains(got,
		"the function of At at ") || !strings.Contains(got, "    probesim.dev/probetest.dereference\n") {
		t.Errorf("failed with %q", fake.failures)
	}
}

// TestAnotherGoroutine checks that a call from another goroutine panics there while time passes.
func TestAnotherGoroutine(t *testing.T) {
	for name, do := range map[string]func(*Node){
		"Advance": func(n *Node) { n.Advance(time.Second) },
		"AddPod":  func(n *Node) { n.AddPod(pod("db", v1.Container{Name: "app", Image: "a"})) },
		"Do":      func(n *Node) { n.Do(func(*node.Node) {}) },
	} {
		var got string
		n := NewNode(newFakeT(t), NodeOptions{})
		n.sim.Trace().Sink = func(r *trace.Record) { // a moment at which Advance runs
			if r.Kind == trace.ContainerStarted {
				var other sync.WaitGroup
				other.Go(func() { got = panicked(func() { do(n) }) })
				other.Wait()
			}
		}
		n.AddPod(pod("web", v1.Container{Name: "app", Image: "a"}))
		n.Advance(time.Minute)
		if !strings.HasPrefix(got, name+" at ") || !strings.Contains(got, "the node is in use by Advance at ") ||
			strings.Count(got, "/misuse_test.go:") != 2 {
			t.Errorf("%s in another goroutine panics with %q", name, got)
		}
	}
}

// TestInvalidArguments checks that each invalid argument fails the test once, with a message that
// says what is wrong.
func TestInvalidArguments(t *testing.T) {
	app := v1.Container{Name: "app", Image: "a", LivenessProbe: probe()}
	get := *app.DeepCopy()
	get.LivenessProbe.Exec, get.LivenessProbe.HTTPGet = nil, &v1.HTTPGetAction{}
	get.LivenessProbe.HTTPGet.Port.IntVal = 80
	options := func(o NodeOptions) func(*Node, *fakeT) {
		return func(_ *Node, t *fakeT) { NewNode(t, o) }
	}
	behavior := func(b Behavior) func(*Node, *fakeT) {
		return func(n *Node, _ *fakeT) { n.AddPod(pod("web", get), b) }
	}
	for want, do := range map[string]func(*Node, *fakeT){
		"NewNode: Options.Uptime is -1s: use a duration " +
			"from 0s": options(NodeOptions{Uptime: new(-time.Second)}),
		"NewNode: Options.Config is invalid: ShutdownGracePeriod " +
			"is -1s": options(NodeOptions{Config: kubeletconfig.Config{ShutdownGracePeriod: -time.Second}}),
		"NewNode: Options.Delays are invalid: Exec is from -1s " +
			"to 0s": options(NodeOptions{Delays: fakeruntime.Delays{Exec: &fakeruntime.Draw{Min: -time.Second}}}),
		"NewNode: the feature gate RestartAllContainersOnContainerExits needs " +
			"ContainerRestartRules": options(
			NodeOptions{Config: kubeletconfig.Config{FeatureGates: map[string]bool{"ContainerRestartRules": false,
				"RestartAllContainersOnContainerExits": true}}}),
		"NewNode: unknown version of " +
			"Kubernetes": options(NodeOptions{Kubernetes: "latest"}),
		"AddPod: the pod is nil": func(n *Node, _ *fakeT) {
			n.AddPod(nil)
		},
		"there is no object: it is nil": func(n *Node, _ *fakeT) {
			n.AddWorkload(nil)
		},
		"there is no object: it is nil ": func(n *Node, _ *fakeT) {
			n.AddWorkload((*appsv1.Deployment)(nil))
		},
		"spec.replicas: must be from 1 to 10000, not 0": func(n *Node, _ *fakeT) {
			n.AddWorkload(noReplicas())
		},
		"the Pod  cannot be added:": func(n *Node, _ *fakeT) {
			n.AddPod(&v1.Pod{})
		},
		`behavior[""]: is required`: behavior(
			Behavior{"": {{Exit: "1"}}}),
		`behavior["app"][0]`: behavior(
			Behavior{"app": {{}}}),
		`behavior["app"][0].for: "99999999h" is longer than 720h`: behavior(
			Behavior{"app": {{For: "99999999h", Probes: "fail"}}}),
		`behavior["app"][0].chance: "NaN%"`: behavior(
			Behavior{"app": {{Chance: "NaN%", Probes: "fail"}}}),
		`behavior["app"][0].handler: is a nil http.HandlerFunc`: behavior(
			Behavior{"app": {{Handler: http.HandlerFunc(nil)}}}),
		"At: the function is nil": func(n *Node, _ *fakeT) {
			n.At(0, nil)
		},
		"Do: the function is nil": func(n *Node, _ *fakeT) {
			n.Do(nil)
		},
		"At(2562047h47m16.854775807s): every node ends at 720h": func(n *Node, _ *fakeT) {
			n.At(math.MaxInt64, func(*node.Node) {})
		},
		"Advance(-2562047h47m16.854775808s): virtual time cannot go back": func(n *Node, _ *fakeT) {
			n.Advance(math.MinInt64)
		},
		"AdvanceTo: every node ends at 720h": func(n *Node, _ *fakeT) {
			n.AdvanceTo(math.MaxInt64)
		},
		"Delete: the grace period must not be negative, and it is -1 s": func(n *Node, _ *fakeT) {
			n.AddPod(pod("web", app)).Delete(-1)
		},
		"Delete: give one grace period, not 2": func(n *Node, _ *fakeT) {
			n.AddPod(pod("web", app)).Delete(1, 2)
		},
		`Kill: the pod web has no container "ap" (did you mean "app"?)`: func(n *Node, _ *fakeT) {
			n.AddPod(pod("web", app)).Container("ap").Kill()
		},
		`Kill: the pod web has no container "";`: func(n *Node, _ *fakeT) {
			n.AddPod(pod("web", app)).Container("").Kill()
		},
		"the node already has a pod web": func(n *Node, _ *fakeT) {
			n.AddPod(pod("web", app))
			n.AddPod(pod("web", app))
		},
		"Invalid scenario files; no scenario ran:\n": func(_ *Node, t *fakeT) {
			RunScenario(t, "", "", ScenarioOptions{})
		},
		`RunScenario: testdata/suite/web.yaml has no scenario ""`: func(_ *Node, t *fakeT) {
			RunScenario(t, "testdata/suite/web.yaml", "", ScenarioOptions{})
		},
		`the scenario has no pod ""`: func(_ *Node, t *fakeT) {
			RunScenario(t, "testdata/suite/web.yaml", "seeds", ScenarioOptions{}).Pod("")
		},
	} {
		fake := newFakeT(t)
		n := NewNode(fake, NodeOptions{})
		if text := panicked(func() { do(n, fake) }); text != "" {
			t.Errorf("%s: panics with %s", want, text)
		}
		if got := strings.Join(fake.failures, "\n"); len(fake.failures) != 1 ||
			!strings.Contains(got, strings.TrimSpace(want)) {
			t.Errorf("failed %d times with %q, want %q", len(fake.failures), got, want)
		}
	}
}

func noReplicas() *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Name, d.Spec.Replicas = "web", new(int32(0))
	d.Spec.Template.Spec.Containers = []v1.Container{{Name: "app", Image: "a"}}
	return d
}

// TestNil checks that nil and zero values, which belong to no test, panic with a message that says
// what to use.
func TestNil(t *testing.T) {
	object := pod("web", v1.Container{Name: "app", Image: "a"})
	do := map[string]func(){
		"NewNode: the test is nil":      func() { NewNode(nil, NodeOptions{}) },
		"NewNode: the test is nil ":     func() { NewNode((*testing.T)(nil), NodeOptions{}) },
		"RunScenario: the test is nil":  func() { RunScenario(nil, "", "", ScenarioOptions{}) },
		"RunScenarios: the test is nil": func() { RunScenarios(nil, "") },
		"Kill: the container is nil":    func() { (*Container)(nil).Kill() },
	}
	for i, n := range []*Node{nil, {}} {
		const want = "this is not a node: create it with NewNode"
		for j, call := range []func(){
			func() {
				n.AddPod(object)
			}, func() { n.AddWorkload(object) }, func() { n.Advance(0) }, func() { n.AdvanceTo(0) },
			func() { n.At(0, nil) }, func() { n.Do(nil) }, func() { n.Now() },
		} {
			do[want+strings.Repeat(" ", 10*i+j)] = call
		}
		if n.String() != "<no node>" {
			t.Errorf("a nil or zero Node prints as %q", n)
		}
	}
	for i, p := range []*Pod{nil, {}} {
		do["Delete: the pod belongs to no node"+strings.Repeat(" ", i)] = func() { p.Delete() }
		do["Kill: the pod belongs to no node"+strings.Repeat(" ", i)] = func() { p.Container("app").Kill() }
		_ = p.String() + p.Container("app").String() + (*Container)(nil).String() + Pod{}.GomegaString() +
			Container{}.GomegaString()
		if p.Records() != nil {
			t.Error("a nil or zero Pod has records")
		}
	}
	for want, call := range do {
		if got := panicked(call); !strings.HasPrefix(got, "probetest: "+strings.TrimSpace(want)) {
			t.Errorf("panics with %q, want %q", got, want)
		}
	}
	var run *ScenarioRun
	if run.Pod("web") != nil || run.Pods() != nil {
		t.Error("a nil ScenarioRun has pods")
	}
}

// TestImpossible checks that an assertion that no run satisfies, or that holds for every run, is an
// error for To and NotTo.
func TestImpossible(t *testing.T) {
	w := newWorld(t)
	second, long := time.Second, time.Duration(math.MaxInt64)
	liveness := func() *HaveBeenProbedMatcher { return HaveBeenProbed(trace.Liveness) }
	interval := func(from, to any) ReadyInterval { return ReadyInterval{From: from, To: to} }
	for want, m := range map[string]types.GomegaMatcher{
		"HaveRestarted: the window ends when the pod is added: nothing can happen " +
			"in it": HaveRestarted().Within(0),
		"HaveRestarted: the window begins 2m after the pod was " +
			"added": HaveRestarted().After(2 * time.Minute),
		"HaveRestarted: the window begins 2562047h47m16.854775807s after the pod was " +
			"added": HaveRestarted().After(long),
		"HaveRestarted: the window ends 2562047h47m16.854775807s after the pod was " +
			"added": HaveRestarted().Within(long),
		"HaveRestarted: the window begins 2562047h47m16.854775807s " +
			"before": HaveRestarted().Between(math.MinInt64, second),
		"HaveRestarted: the window is empty: it ends -2562047h47m16.854775808s after the pod was " +
			"added": HaveRestarted().Within(math.MinInt64),
		"HaveRestarted: the window is empty: it ends 1h after the pod was added and begins " +
			"after": HaveRestarted().Between(long, time.Hour),
		"HaveBeenKilledBecauseOf: no container is ever killed because " +
			"of \"\"": HaveBeenKilledBecauseOf(""),
		"HaveEvent: the reason of the event is " +
			"missing": HaveEvent(""),
		`HaveEvent: events have the type Normal or Warning, and never ""`: HaveEvent(
			"Killing").OfType(""),
		"HaveEvent: the message is " +
			"missing": HaveEvent("Killing").WithMessage(""),
		"HaveEvent: an event with the reason Unhealthy has the type Warning, and never " +
			"Normal": HaveEvent("Unhealthy").OfType(v1.EventTypeNormal),
		"HaveEvent: the matcher of a message " +
			"is nil": HaveEvent("Killing").WithMessage((*matchers.HavePrefixMatcher)(nil)),
		"HaveBeenProbed: the matcher of a time is nil": liveness().
			At((*matchers.HavePrefixMatcher)(nil)),
		"HaveEvent: a message is missing: give a string or a " +
			"matcher": HaveEvent("Killing").WithMessage(nil),
		"HaveEvent: a message is a string or a matcher, not a value of " +
			"type int": HaveEvent("BackOff").WithMessage(3),
		`HaveBeenProbed: a probe never has the result ""`: liveness().
			WithResult(""),
		"HaveBeenProbed: At has no times": liveness().
			At(),
		"HaveBeenProbed: a time is missing": liveness().
			At(nil),
		"HaveBeenProbed: a time is a time.Duration or a matcher, not a value of type int": liveness().
			WithResult(trace.Error).At(20),
		"HaveBeenProbed: the time -1s is before the pod was added": liveness().
			At(-second),
		"HaveBeenProbed: the time 20s is outside of the window within 10s after the pod was added": liveness().
			At(20 * second).Within(10 * second),
		"HaveBeenProbed: At requires a run, and Times(0) requires none": liveness().
			At(20 * second).Times(0),
		"HaveBackedOffFor: a back-off is from 1s to 5m, and " +
			"never 10ns": HaveBackedOffFor(10),
		"HaveBackedOffFor: a back-off is from 1s to 5m, and never " +
			"10m0s": HaveBackedOffFor(10 * time.Minute),
		"HaveReadyIntervals: interval 1: a time is " +
			"missing": HaveReadyIntervals(ReadyInterval{}).Within(second),
		"HaveReadyIntervals: interval 1: a time is a time.Duration or a matcher, not a value of " +
			"type int": HaveReadyIntervals(interval(second, 7)).Within(second),
		"HaveReadyIntervals: interval 2: the time 1h after the pod was added has " +
			"not come": HaveReadyIntervals(interval(second, 2*second), interval(time.Hour, nil)),
		"HaveReadyIntervals: interval 1 is out of order: 1s does not come " +
			"after 2s": HaveReadyIntervals(interval(2*second, second)),
		"HaveReadyIntervals: interval 1 is out of order: 2s does not come " +
			"after 2s": HaveReadyIntervals(interval(2*second, 2*second)),
		"HaveReadyIntervals: interval 2 is out of order: 4s does not come " +
			"after 5s": HaveReadyIntervals(interval(second, 5*second), interval(4*second, nil)),
		"HaveReadyIntervals: interval 1 has no end, and another one " +
			"follows it": HaveReadyIntervals(interval(second, nil), interval(4*second, nil)),
		"HaveReadyIntervals: interval 1: 1s is outside of the " +
			"window": HaveReadyIntervals(interval(second, nil)).After(10 * second),
		"HaveConditionTransitions: a trace does not contain the " +
			"condition \"\"": HaveConditionTransitions("", v1.ConditionTrue),
		"HaveConditionTransitions: the expected statuses are " +
			"missing": HaveConditionTransitions(v1.PodReady),
		"HaveConditionTransitions: the status of a condition is True or False, and never " +
			"\"Unknown\"": HaveConditionTransitions(v1.PodReady, v1.ConditionUnknown),
		"HaveContainerStatuses: the expected container statuses are " +
			"missing": HaveContainerStatuses(),
		"HaveContainerStatuses: the time -1s is before the pod was " +
			"added": HaveContainerStatuses(trace.ContainerStatus{Name: "app", State: "running"}).At(-second),
		"HaveContainerStatuses: the container app has two expected " +
			"statuses": HaveContainerStatuses(trace.ContainerStatus{Name: "app", State: "running"},
			trace.ContainerStatus{Name: "app", State: "waiting"}),
	} {
		if _, err := m.Match(w.web); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	status := HaveContainerStatuses(trace.ContainerStatus{Name: "helper", State: "running"})
	if _, err := status.Match(w.crash.Container("worker")); err == nil ||
		err.Error() != "HaveContainerStatuses: the assertion is about the container worker, and the status about "+
			"helper" {
		t.Errorf("the error is %v", err)
	}
	bare := NewNode(t, NodeOptions{})
	bare.Advance(time.Minute)
	unprobed := bare.AddPod(pod("web", v1.Container{Name: "app", Image: "a"}))
	bare.Advance(time.Minute)
	for want, m := range map[string]types.GomegaMatcher{
		"HaveBeenProbed: web has no readiness probe":         HaveBeenProbed(trace.Readiness),
		"HaveBeenKilledBecauseOf: web has no startup probe":  HaveBeenKilledBecauseOf("StartupProbe"),
		"HaveBeenKilledBecauseOf: web has no liveness probe": HaveBeenKilledBecauseOf("LivenessProbe"),
		"HaveEvent: web has no probe":                        HaveEvent("ProbeWarning"),

		"HaveRestarted: the window begins 2562047h47m16.854775807s after": HaveRestarted().After(long), // no overflow
		"HaveRestarted: the window ends 2562047h47m16.854775807s after":   HaveRestarted().Within(long),
	} {
		if _, err := m.Match(unprobed); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// TestBeforeAnAction checks that an assertion fails while an action has not happened, and that an
// assertion in a function of At sees everything up to its time.
func TestBeforeAnAction(t *testing.T) {
	g := gomega.NewWithT(t)
	n := NewNode(t, NodeOptions{})
	web := n.AddPod(pod("web", v1.Container{Name: "app", Image: "a"}))
	n.Advance(time.Minute)
	web.Container("app").Kill()
	_, err := HaveRestarted().Match(web)
	g.Expect(err).To(gomega.MatchError("HaveRestarted: Kill of the pod web has not happened yet: call Advance first"))
	n.At(2*time.Minute+30*time.Second, func(*node.Node) {
		g.Expect(web).To(HaveRestarted().Within(150 * time.Second))
		_, err := HaveRestarted().Within(151 * time.Second).Match(web)
		g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("the run has only reached 150.000s")))
	})
	n.Advance(5 * time.Minute)
	g.Expect(web).To(HaveRestarted().Times(1))
}

// TestPolling checks that Eventually and Consistently, which would let only real time pass, fail
// immediately.
func TestPolling(t *testing.T) {
	w := newWorld(t)
	for name, assert := range map[string]func(gomega.Gomega){
		"Eventually, which would succeed": func(g gomega.Gomega) {
			g.Eventually(w.web).WithTimeout(time.Hour).Should(HaveRestarted())
		},
		"Consistently, which would succeed": func(g gomega.Gomega) {
			g.Consistently(w.web, time.Hour).ShouldNot(HaveRestarted().Times(7))
		},
		"Consistently with And": func(g gomega.Gomega) {
			g.Consistently(w.web, time.Hour).Should(gomega.And(HaveBecomeReady(), HaveRestarted()))
		},
	} {
		fake := newFakeT(t)
		assert(gomega.NewWithT(fake))
		if len(fake.failures) != 1 || !strings.Contains(fake.failures[0], "nothing to wait for: use Expect") {
			t.Errorf("%s: failed with %q", name, fake.failures)
		}
	}
	m := HaveRestarted()
	gomega.NewWithT(newFakeT(t)).Eventually(w.web).Should(m)
	if ok, err := m.Match(w.web); !ok || err != nil {
		t.Errorf("the matcher does not work with Expect after Eventually: %v", err)
	}
}

// TestUsableByErrors checks that the error of a misuse can be recognized.
func TestUsableByErrors(t *testing.T) {
	fake := &closingT{fakeT: newFakeT(t)}
	n := NewNode(fake, NodeOptions{})
	n.At(0, func(sim *node.Node) {
		if err := sim.RunUntil(0); !errors.Is(err, node.ErrInUse) {
			t.Errorf("error %v", err)
		}
	})
	n.Advance(0)
	if len(fake.failures) != 1 || !strings.Contains(fake.failures[0], "the node is in use") {
		t.Errorf("the failures are %q although the function ignored the error", fake.failures)
	}
}
