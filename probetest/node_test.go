package probetest

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/value"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/node"
	"probesim.dev/trace"
)

// TestRefused checks that a mistake in a test fails the test once, with all errors in terms of the
// API of this package.
func TestRefused(t *testing.T) {
	app := v1.Container{Name: "app", Image: "a", LivenessProbe: probe()}
	bad := app.DeepCopy()
	bad.LivenessProbe.PeriodSeconds, bad.Image = -1, ""
	for _, test := range []struct {
		name string
		do   func(*Node)
		want []string
	}{
		{"invalid pod", func(n *Node) { n.AddPod(pod("Web", *bad)) }, []string{
			"the Pod Web cannot be added:", `metadata.name: Invalid value: "Web"`,
			`spec.containers[0].image: Required value`,
			"spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1"}},
		{"behavior that does not fit the pod", func(n *Node) {
			n.AddPod(pod("web", app), Behavior{"app": {{For: "20", Probes: "fial"}, {Readiness: "fail"}},
				"ap": {{Exit: "1"}}})
		}, []string{`behavior["app"][0].for: "20" has no unit`,
			`behavior["app"][0].probes: unknown word "fial" (did you mean "fail"?)`,
			`behavior["app"][1].readiness: the container app has no readinessProbe`,
			`behavior["ap"]: web has no container "ap" (did you mean "app"?)`}},
		{"handler without httpGet", func(n *Node) {
			n.AddPod(pod("web", app), Behavior{"app": {{Handler: http.NotFoundHandler()}}})
		}, []string{`behavior["app"][0].handler: the container app has no httpGet probe or hook`}},
		{"handler and answers", func(n *Node) {
			n.AddPod(pod("web", app), Behavior{"app": {{Handler: http.NotFoundHandler(), Probes: "ok"}}})
		}, []string{`behavior["app"][0].handler: a rule has either a handler or answers and exit`}},
		{"existing pod", func(n *Node) {
			n.AddPod(pod("web", app))
			n.AddPod(pod("web", app))
		}, []string{"the node already has a pod web: delete it and call Advance first, or use another name"}},
		{"negative duration", func(n *Node) {
			n.Advance(-time.Second)
		}, []string{"Advance(-1s): virtual time cannot go back: the node is at 0.000s"}},
		{"time in the past", func(n *Node) {
			n.Advance(time.Minute)
			n.AdvanceTo(0)
		}, []string{"AdvanceTo(0s): virtual time cannot go back: the node is at 60.000s"}},
		{"time after the end", func(n *Node) {
			n.Advance(time.Minute)
			n.Advance(math.MaxInt64)
		}, []string{"Advance: every node ends at 720h of virtual time"}},
		{"nil pod", func(n *Node) { n.AddPod(nil) }, []string{"AddPod: the pod is nil"}},
		{"pod deleted twice", func(n *Node) {
			p := n.AddPod(pod("web", app))
			n.Advance(time.Minute)
			p.Delete(0)
			n.Advance(time.Minute)
			p.Delete()
			n.Advance(0)
		}, []string{"Delete of the pod web at 120.000s: "}},
		{"container that does not run", func(n *Node) {
			p := n.AddPod(pod("web", app))
			n.Advance(time.Minute)
			p.Container("app").Kill()
			p.Container("app").Kill()
			n.Advance(0)
		}, []string{"Kill of the pod web at 60.000s: the container web/app is not running"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			fake := newFakeT(t)
			test.do(NewNode(fake, NodeOptions{}))
			got := strings.Join(fake.failures, "\n")
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("there is no %q in\n%s", want, got)
				}
			}
			if len(fake.failures) != 1 {
				t.Errorf("failed %d times", len(fake.failures))
			}
		})
	}
	fake := newFakeT(t)
	NewNode(fake, NodeOptions{Kubernetes: "v1.3"})
	NewNode(fake, NodeOptions{Config: kubeletconfig.Config{FeatureGates: map[string]bool{"Sidecars": true}}})
	if len(fake.failures) != 2 || !strings.HasPrefix(fake.failures[0],
		`NewNode: unknown version of Kubernetes "v1.3"; the supported versions are: v1.33, `) ||
		!strings.HasPrefix(fake.failures[1], "NewNode: feature gate Sidecars: ") {
		t.Errorf("failed with %q", fake.failures)
	}
}

// TestFeatureGates checks that a feature gate applies to both the kubelet and the API server.
func TestFeatureGates(t *testing.T) {
	fake := newFakeT(t)
	always := v1.ContainerRestartPolicyAlways
	web := v1.Container{Name: "web", Image: "a", RestartPolicy: &always, RestartPolicyRules: []v1.ContainerRestartRule{{
		Action: v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn,
			Values: []int32{42}},
	}}}
	for _, on := range []bool{true, false} {
		n := NewNode(fake, NodeOptions{Config: kubeletconfig.Config{
			FeatureGates: map[string]bool{"RestartAllContainersOnContainerExits": on},
		}})
		if p := n.AddPod(pod("web", web)); (p != nil) != on {
			t.Errorf("with the gate %v the pod is %v: %q", on, p, fake.failures)
		}
	}
}

// TestVacuous checks that an assertion that cannot fail, or cannot hold, is an error, even with
// NotTo.
func TestVacuous(t *testing.T) {
	w := newWorld(t)
	fresh := NewNode(t, NodeOptions{})
	late := w.AddPod(pod("late", v1.Container{Name: "app", Image: "a"}))
	for _, test := range []struct {
		actual  any
		matcher interface{ Match(any) (bool, error) }
		want    string
	}{
		{w.web.Container("ap"), HaveRestarted(),
			`HaveRestarted: the pod web has no container "ap" (did you mean "app"?); its containers are: app`},
		{w.web.Container(""), HaveEvent("Killing"),
			`HaveEvent: the pod web has no container ""; its containers are: app`},
		{"web", HaveBecomeReady(), "HaveBecomeReady: expected a *probetest.Pod, a *probetest.Container, or a list of " +
			"them, got a string"},
		{(*Pod)(nil), HaveReadyIntervals(), "HaveReadyIntervals: the pod is nil: use a pod that AddPod, AddWorkload " +
			"or RunScenario returned"},
		{&Container{}, HaveRestarted(), "HaveRestarted: the pod is nil: use a pod that AddPod, AddWorkload or " +
			"RunScenario returned"},
		{fresh.AddPod(pod("web", v1.Container{Name: "app", Image: "a"})), HaveRestarted(),
			"HaveRestarted: no virtual time has passed yet: call Advance first"},
		{late, HaveRestarted(), "HaveRestarted: the pod late is added later than the time that the run has reached: " +
			"call Advance first"},
		{w.web, HaveRestarted().Within(time.Hour),
			"HaveRestarted: the window ends 1h after the pod was added, at 1h00m00.000s, but the run has only " +
				"reached 120.000s: call Advance first"},
		{w.web, HaveRestarted().After(time.Hour),
			"HaveRestarted: the window begins 1h after the pod was added, at 1h00m00.000s, but the run has only " +
				"reached 120.000s: call Advance first"},
		{w.web, HaveRestarted().Between(time.Minute, time.Second),
			"HaveRestarted: the window is empty: it ends 1s after the pod was added and begins after 1m"},
		{w.web, HaveRestarted().Between(-time.Minute, time.Second),
			"HaveRestarted: the window begins 1m before the pod was added: the start must not be negative"},
		{w.web, HaveRestarted().Within(-time.Second),
			"HaveRestarted: the window is empty: it ends -1s after the pod was added and begins after 0s"},
		{w.web, HaveRestarted().Times(-1), "HaveRestarted: the expected number must not be negative, and it is -1"},
		{w.web, HaveRestarted().AtLeast(0),
			"HaveRestarted: AtLeast(0) holds for every run: use AtLeast(1), or Times(0) for none"},
		{w.web, HaveReadyIntervals().Within(time.Hour),
			"HaveReadyIntervals: the window ends 1h after the pod was added, at 1h00m00.000s, but the run has only " +
				"reached 120.000s: call Advance first"},
		{w.web, HaveBackedOffFor().After(time.Hour),
			"HaveBackedOffFor: the window begins 1h after the pod was added, at 1h00m00.000s, but the run has only " +
				"reached 120.000s: call Advance first"},
		{w.web, HaveEvent(""), "HaveEvent: the reason of the event is missing"},
		{w.web, HaveBeenProbed(""),
			"HaveBeenProbed: the probe is missing: give trace.Liveness, trace.Readiness or trace.Startup"},
	} {
		if _, err := test.matcher.Match(test.actual); err == nil || err.Error() != test.want {
			t.Errorf("the error is %v, want %q", err, test.want)
		}
	}
}

// TestEventually checks that Eventually gives up immediately, because real time does not change a
// run.
func TestEventually(t *testing.T) {
	w := newWorld(t)
	fake := newFakeT(t)
	gomega.NewWithT(fake).Eventually(w.web).WithTimeout(time.Hour).Should(HaveRestarted().Times(7))
	if len(fake.failures) != 1 {
		t.Errorf("failed %d times", len(fake.failures))
	}
}

// TestHandler checks that an http.Handler of the test answers the probes, at virtual times.
func TestHandler(t *testing.T) {
	gomega.RegisterTestingT(t)
	n := NewNode(t, NodeOptions{})
	var asked []string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, fmt.Sprint(r.URL.Path, " ", n.Now()))
		if r.URL.Path == "/live" && n.Now() > 30*time.Second {
			http.Error(w, "deadlock", http.StatusInternalServerError)
		}
	})
	get := func(path string) *v1.Probe {
		return &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: path,
			Port: intstr.FromInt(80)}}}
	}
	web := n.AddPod(pod("web", v1.Container{Name: "app", Image: "a", LivenessProbe: get("/live"),
		ReadinessProbe: get("/ready")}),
		Behavior{"app": {{Handler: handler}}})
	n.Advance(70 * time.Second)
	gomega.Expect(web).To(HaveEvent("Unhealthy").
		WithMessage("Liveness probe failed: HTTP probe failed with statuscode: 500").Times(3).Within(55 * time.Second))
	gomega.Expect(web).To(HaveBeenKilledBecauseOf("LivenessProbe").Times(1))
	gomega.Expect(web).To(HaveBeenProbed(trace.Liveness).At(40*time.Second, 50*time.Second, 60*time.Second))
	if len(asked) < 10 || asked[0] != "/ready 318.9ms" {
		t.Errorf("the handler received the requests %q", asked)
	}
}

func TestActions(t *testing.T) {
	gomega.RegisterTestingT(t)
	n := NewNode(t, NodeOptions{Kubernetes: "v1.36", Seed: new(int64(7))})
	object := pod("web", v1.Container{Name: "app", Image: "a"})
	first := n.AddPod(object)
	n.Advance(10 * time.Second)
	first.Container("app").Kill()
	n.AdvanceTo(20 * time.Second)
	gomega.Expect(first).To(HaveBeenKilledBecauseOf("OOMKilled").Between(10*time.Second, 10*time.Second))
	gomega.Expect(first).To(HaveRestarted().Times(1))
	n.Do(func(n *node.Node) { n.StopKubelet() })
	n.At(25*time.Second, func(n *node.Node) { n.StartKubelet() })
	n.AdvanceTo(30 * time.Second)
	first.Delete(5)
	n.AdvanceTo(60 * time.Second)
	gomega.Expect(first).To(HaveBeenKilledBecauseOf("Deleted"))
	if object.Namespace != "" || object.UID != "" || object.Kind != "" {
		t.Error("AddPod changed its argument")
	}

	again := n.AddPod(object)
	n.Advance(20 * time.Second)
	gomega.Expect(again.Object.UID).NotTo(gomega.Equal(first.Object.UID))
	gomega.Expect(again).To(HaveBecomeReady().Within(5 * time.Second))
	gomega.Expect(again).NotTo(HaveRestarted())
	gomega.Expect(first).To(HaveRestarted().Times(1))
	message := HaveRestarted()
	message.Match(again)
	gomega.Expect(message.FailureMessage(again)).To(gomega.HaveSuffix("Kubernetes v1.36, seed 7, run to 80.000s"))
}

func TestNodeString(t *testing.T) {
	w := newWorld(t)
	golden(t, "node.txt", w.Node.String())
	fresh := NewNode(t, NodeOptions{})
	gomega.NewWithT(t).Expect(fresh.String()).To(gomega.ContainSubstring("no pod was added during the run"))
}

// TestTimesCountFromAddition checks that all times of matchers count from the addition of the pod,
// even if that is later than t=0.
func TestTimesCountFromAddition(t *testing.T) {
	g := gomega.NewWithT(t)
	n := NewNode(t, NodeOptions{})
	n.Advance(time.Hour)
	app := v1.Container{Name: "app", Image: "a", LivenessProbe: probe()}
	app.LivenessProbe.InitialDelaySeconds = 8
	late := n.AddPod(pod("late", app), Behavior{"app": {{Instance: "0", After: "30s", Exit: "1"}}})
	n.Advance(2 * time.Minute)

	g.Expect(late).To(HaveBecomeReady().Within(5 * time.Second))
	g.Expect(late).To(HaveRestarted().Times(1).Between(30*time.Second, 40*time.Second))
	g.Expect(late).To(HaveRestarted().After(30 * time.Second))
	g.Expect(late).NotTo(HaveRestarted().After(40 * time.Second))
	g.Expect(late).To(HaveBeenProbed(trace.Liveness).At(gomega.BeNumerically("~", 10*time.Second, 3*time.Second)))
	g.Expect(late).To(HaveReadyIntervals(
		ReadyInterval{From: gomega.BeNumerically("<", 5*time.Second),
			To: gomega.BeNumerically("~", 31*time.Second, 2*time.Second)},
		ReadyInterval{From: gomega.BeNumerically("<", 40*time.Second)},
	))
	g.Expect(late).To(HaveContainerStatuses(trace.ContainerStatus{Name: "app", State: "running", Ready: true,
		Started: true}).At(20 * time.Second))

	m := HaveRestarted().Within(10 * time.Second)
	g.Expect(m.Match(late)).To(gomega.BeFalse())
	g.Expect(m.FailureMessage(late)).To(gomega.MatchRegexp(
		`^Expected\n    late\nto have restarted within 10s after the pod was added\.\nIt did not; later at 1h00m3\d\.\d{3}s\. The pod was added at 1h00m00\.000s\.\n`))
}

// TestZeroMatchers checks that the zero values of matchers, which no function made, are errors and
// have messages.
func TestZeroMatchers(t *testing.T) {
	w := newWorld(t)
	for _, m := range []types.GomegaMatcher{
		&HaveRestartedMatcher{}, &HaveEventMatcher{}, &HaveBeenProbedMatcher{}, &HaveBackedOffForMatcher{},
		&HaveContainerStatusesMatcher{}, &HaveKeptReadyMatcher{}, &HaveLostRequestsMatcher{},
		&MeetRequirementsMatcher{},
	} {
		if ok, err := m.Match(w.web); ok || err == nil || m.FailureMessage(w.web) == "" || fmt.Sprint(m) == "" {
			t.Errorf("%T matches: %t, %v", m, ok, err)
		}
	}
	for _, m := range []types.GomegaMatcher{
		HaveRestarted(), HaveEvent("Killing"), HaveBeenProbed(trace.Liveness), HaveBackedOffFor(),
		HaveContainerStatuses(), HaveKeptReady(1), HaveRolledOutWithin(time.Second), HaveLostRequests(0),
		MeetRequirements("stall>=1s"),
	} {
		if got := m.FailureMessage(w.web); !strings.HasSuffix(got, ": the matcher has not examined anything yet") {
			t.Errorf("before it has examined anything, %T has the message %q", m, got)
		}
	}
}

// TestNested checks how matchers print inside matchers of Gomega.
func TestNested(t *testing.T) {
	w := newWorld(t)
	for want, m := range map[string]types.GomegaMatcher{
		"have become ready at least 5 times; the last one examined is web: It did ": gomega.ContainElement(
			HaveBecomeReady().AtLeast(5)),
		"never have been ready; the last one examined is web: It was from ": gomega.HaveEach(HaveReadyIntervals()),
	} {
		actual := []*Pod{w.web}
		ok, err := m.Match(actual)
		if got := m.FailureMessage(actual); ok || err != nil || !strings.Contains(got, want) {
			t.Errorf("the message is %q, %v, want %q in it", got, err, want)
		}
	}
}

// TestOr checks how each matcher prints inside Or, which lists its matchers in one line.
func TestOr(t *testing.T) {
	w := newWorld(t)
	_, deployment, service := rolled(t)
	soon := gomega.BeNumerically("~", 90*time.Second, time.Second)
	for _, test := range []struct {
		actual  any
		matcher types.GomegaMatcher
		want    string
	}{
		{w.web, HaveRestarted().Times(7), "(have restarted 7 times; the last one examined is web: It did once, at "},
		{w.web, HaveBecomeReady().Times(7),
			"(have become ready 7 times; the last one examined is web: It did 2 times, "},
		{w.web, HaveBeenReadyBeforeStarted(), "(have been ready before it was started; the last one examined is web: " +
			"It did not)"},
		{w.web, HaveBeenKilledBecauseOf("StartupProbe"), "(have been killed because of StartupProbe; the last one "},
		{w.web, HaveBeenProbed(trace.Startup).At(soon), "(have been probed for startup at " +
			`BeNumerically("~", 1m30s, 1s) after the pod was added; the last one examined is web: It did `},
		{w.web, HaveEvent("Killing").WithMessage(gomega.And(gomega.HavePrefix("x"), gomega.Not(gomega.BeEmpty()))),
			`(have an event Killing with a message that matches And(HavePrefix("x"), Not(BeEmpty())); the last one `},
		{w.web, HaveBackedOffFor(10 * time.Second),
			"(have backed off for 10s; the last one examined is web/app: It never did)"},
		{w.web, HaveConditionTransitions(v1.PodReady, v1.ConditionTrue),
			"(have had Ready True; the last one examined "},
		{w.web, HaveContainerStatuses(trace.ContainerStatus{Name: "app", State: "waiting"}),
			"(have the container statuses [app waiting not-started not-ready restarts 0]; the last one "},
		{w.web, HaveReadyIntervals(ReadyInterval{From: soon}),
			`(have been ready from BeNumerically("~", 1m30s, 1s) on; the last one examined is web: It was from `},
		{deployment, HaveKeptReady(9), "(have kept 9 pods Ready; the last one examined is Deployment web: "},
		{deployment, HaveRolledOutWithin(time.Second), "(have rolled out within 1s; the last one examined is "},
		{service, HaveLostRequests(gomega.BeNumerically("<", 0)),
			`(have lost a number of requests that matches BeNumerically("<", 0); the last one examined is Service `},
		{watched("web"), MeetRequirements("stall>=1s, detect<=1s"),
			"(meet stall>=1s, detect<=1s; the last one examined is Pod web: not met is detect<=1s: "},
	} {
		or := gomega.Or(test.matcher)
		ok, err := or.Match(test.actual)
		got := or.FailureMessage(test.actual)
		_, list, _ := strings.Cut(got, "To satisfy at least one of these matchers: ")
		if ok || err != nil || !strings.HasPrefix(list, "["+test.want) || strings.ContainsAny(list, "\n{&") {
			t.Errorf("%T: %t, %v, and the message is\n%s\nwant in its last line\n%s", test.matcher, ok, err, got,
				test.want)
		}
	}
}

// TestZeroValues checks that the zero values of other types print.
func TestZeroValues(t *testing.T) {
	if MaxTime != value.MaxDuration {
		t.Errorf("nodes end at %s, and scenarios at %s", MaxTime, value.MaxDuration)
	}
	if records := (&Pod{}).Records(); len(records) > 0 {
		t.Errorf("the zero Pod has %d records", len(records))
	}
	_ = (&Pod{}).String() + (&Container{}).String() + (&ReadyInterval{}).String()
}
