package probetest

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/node"
	"probesim.dev/trace"
)

// failures has Gomega hand what fails to the test, and returns it.
func failures(t *testing.T) *[]string {
	t.Helper()
	var list []string
	gomega.RegisterFailHandler(func(message string, _ ...int) { list = append(list, message) })
	t.Cleanup(func() { gomega.RegisterFailHandler(nil) })
	return &list
}

// TestRefused: what is wrong with a pod or its behavior is said, all of it, in the words of who wrote it.
func TestRefused(t *testing.T) {
	app := v1.Container{Name: "app", Image: "a", LivenessProbe: probe()}
	bad := app.DeepCopy()
	bad.LivenessProbe.PeriodSeconds, bad.Image = -1, ""
	for _, test := range []struct {
		name string
		do   func(*Node)
		want []string
	}{
		{"a pod that is not valid", func(n *Node) { n.AddPod(pod("Web", *bad)) }, []string{
			"the Pod Web cannot be added:", `metadata.name: Invalid value: "Web"`, `spec.containers[0].image: Required value`,
			"spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1"}},
		{"a behavior that does not fit", func(n *Node) {
			n.AddPod(pod("web", app), Behavior{"app": {{For: "20", Probes: "fial"}, {Readiness: "fail"}}, "ap": {{Exit: "1"}}})
		}, []string{`behavior["app"][0].for: "20" has no unit`, `behavior["app"][0].probes: unknown word "fial" (did you mean "fail"?)`,
			`behavior["app"][1].readiness: the container app has no readinessProbe`, `behavior["ap"]: web has no container "ap" (did you mean "app"?)`}},
		{"a handler that nobody asks", func(n *Node) {
			n.AddPod(pod("web", app), Behavior{"app": {{Handler: http.NotFoundHandler()}}})
		}, []string{`behavior["app"][0].handler: the container app has no httpGet probe or hook`}},
		{"a handler and answers", func(n *Node) {
			n.AddPod(pod("web", app), Behavior{"app": {{Handler: http.NotFoundHandler(), Probes: "ok"}}})
		}, []string{`behavior["app"][0].handler: a rule has either a handler or answers and exit`}},
		{"a pod that is there", func(n *Node) { n.AddPod(pod("web", app)); n.AddPod(pod("web", app)) }, []string{"there is a pod web on the node"}},
		{"time that goes back", func(n *Node) { n.Advance(-time.Second) }, []string{"time does not go back: Advance(-1s)"}},
		{"time that went back", func(n *Node) { n.Advance(time.Minute); n.AdvanceTo(0) }, []string{"time does not go back: AdvanceTo(0s) at 60.000s"}},
		{"time without end", func(n *Node) { n.Advance(time.Minute); n.Advance(math.MaxInt64) }, []string{"Advance goes beyond 720h, where a node ends"}},
		{"no pod", func(n *Node) { n.AddPod(nil) }, []string{"there is no pod: it is nil"}},
		{"nothing to kill", func(n *Node) {
			p := n.AddPod(pod("web", app))
			n.Advance(time.Minute)
			p.Container("ap").Kill()
			n.Advance(0)
		}, []string{"no container web/ap runs that could be killed at 60.000s"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			failed := failures(t)
			n := NewNode(NodeOptions{})
			defer n.Close()
			test.do(n)
			got := strings.Join(*failed, "\n")
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("there is no %q in\n%s", want, got)
				}
			}
			if len(*failed) != 1 {
				t.Errorf("failed %d times", len(*failed))
			}
		})
	}
	failed := failures(t)
	if NewNode(NodeOptions{Kubernetes: "v1.3"}).Close(); len(*failed) != 1 || !strings.Contains((*failed)[0], "there is no profile of Kubernetes v1.3; known: v1.34.4, ") {
		t.Errorf("failed with %q", *failed)
	}
	NewNode(NodeOptions{Config: kubeletconfig.Config{FeatureGates: map[string]bool{"Sidecars": true}}}).Close()
	if len(*failed) != 2 || !strings.HasPrefix((*failed)[1], "Sidecars is no feature gate of v1.37.0 that is known here: known are ") {
		t.Errorf("failed with %q", *failed)
	}
}

// TestFeatureGates: a feature gate is that of the kubelet and of the API server, as in a scenario file.
func TestFeatureGates(t *testing.T) {
	failed := failures(t)
	always := v1.ContainerRestartPolicyAlways
	web := v1.Container{Name: "web", Image: "a", RestartPolicy: &always, RestartPolicyRules: []v1.ContainerRestartRule{{
		Action:    v1.ContainerRestartRuleActionRestartAllContainers,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
	}}}
	for _, on := range []bool{true, false} {
		n := NewNode(NodeOptions{Config: kubeletconfig.Config{
			FeatureGates: map[string]bool{"RestartAllContainersOnContainerExits": on},
		}})
		defer n.Close()
		if p := n.AddPod(pod("web", web)); (p != nil) != on {
			t.Errorf("with the gate %v the pod is %v: %q", on, p, *failed)
		}
	}
}

// TestVacuous: an assertion that says nothing fails, whatever it is about, and with NotTo too.
func TestVacuous(t *testing.T) {
	w := newWorld(t)
	fresh := NewNode(NodeOptions{})
	defer fresh.Close()
	late := w.AddPod(pod("late", v1.Container{Name: "app", Image: "a"}))
	for _, test := range []struct {
		actual  any
		matcher interface{ Match(any) (bool, error) }
		want    string
	}{
		{w.web.Container("ap"), HaveRestarted(), `HaveRestarted: the pod web has no container "ap"; there are: app`},
		{w.web.Container(""), HaveEvent("Killing"), `HaveEvent: the pod web has no container ""; there are: app`},
		{"web", HaveBecomeReady(), "HaveBecomeReady: expects a *probetest.Pod or a *probetest.Container, not a string"},
		{(*Pod)(nil), HaveReadyIntervals(), "HaveReadyIntervals: there is no such pod: it is nil"},
		{fresh.AddPod(pod("web", v1.Container{Name: "app", Image: "a"})), HaveRestarted(), "HaveRestarted: no virtual time has passed yet: call Advance before"},
		{late, HaveRestarted(), "HaveRestarted: the pod late has not been added in the time that has passed"},
		{w.web, HaveRestarted().Within(time.Hour), "HaveRestarted: the window ends at 1h00m00.000s, and the run has only come to 120.000s: call Advance before"},
		{w.web, HaveRestarted().After(time.Hour), "HaveRestarted: the window begins at 1h00m00.000s, and the run has only come to 120.000s: call Advance before"},
		{w.web, HaveRestarted().Between(time.Minute, time.Second), "HaveRestarted: the window is empty: it ends at 1.000s, before it begins at 60.000s"},
		{w.web, HaveRestarted().Times(-1), "HaveRestarted: nothing happens -1 times"},
		{w.web, HaveReadyIntervals().Within(time.Hour), "HaveReadyIntervals: the window ends at 1h00m00.000s, and the run has only come to 120.000s: call Advance before"},
		{w.web, HaveBackedOffFor().After(time.Hour), "HaveBackedOffFor: the window begins at 1h00m00.000s, and the run has only come to 120.000s: call Advance before"},
	} {
		if _, err := test.matcher.Match(test.actual); err == nil || err.Error() != test.want {
			t.Errorf("the error is %v and not %q", err, test.want)
		}
	}
}

// TestEventually: real time changes nothing, so Eventually does not wait for it.
func TestEventually(t *testing.T) {
	w := newWorld(t)
	failed := failures(t)
	gomega.Eventually(w.web).WithTimeout(time.Hour).Should(HaveRestarted().Times(7))
	if len(*failed) != 1 {
		t.Errorf("failed %d times", len(*failed))
	}
}

// TestHandler: an http.Handler of the test answers the probes, at virtual times.
func TestHandler(t *testing.T) {
	gomega.RegisterTestingT(t)
	n := NewNode(NodeOptions{})
	defer n.Close()
	var asked []string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, fmt.Sprint(r.URL.Path, " ", n.Now()))
		if r.URL.Path == "/live" && n.Now() > 30*time.Second {
			http.Error(w, "deadlock", http.StatusInternalServerError)
		}
	})
	get := func(path string) *v1.Probe {
		return &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: path, Port: intstr.FromInt(80)}}}
	}
	web := n.AddPod(pod("web", v1.Container{Name: "app", Image: "a", LivenessProbe: get("/live"), ReadinessProbe: get("/ready")}),
		Behavior{"app": {{Handler: handler}}})
	n.Advance(70 * time.Second)
	gomega.Expect(web).To(HaveEvent("Unhealthy").WithMessage("Liveness probe failed: HTTP probe failed with statuscode: 500").Times(3).Within(55 * time.Second))
	gomega.Expect(web).To(HaveBeenKilledBecauseOf("LivenessProbe").Times(1))
	gomega.Expect(web).To(HaveBeenProbed(trace.Liveness).At(40*time.Second, 50*time.Second, 60*time.Second))
	if len(asked) < 10 || asked[0] != "/ready 318.9ms" {
		t.Errorf("it was asked %q", asked)
	}
}

// TestActions: what tests do to pods.
func TestActions(t *testing.T) {
	gomega.RegisterTestingT(t)
	n := NewNode(NodeOptions{Kubernetes: "v1.36.3", Seed: new(int64(7))})
	defer n.Close()
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
		t.Error("the pod that was given was changed")
	}

	again := n.AddPod(object)
	n.Advance(20 * time.Second)
	gomega.Expect(again.Object.UID).NotTo(gomega.Equal(first.Object.UID))
	gomega.Expect(again).To(HaveBecomeReady().Within(5 * time.Second))
	gomega.Expect(again).NotTo(HaveRestarted())
	gomega.Expect(first).To(HaveRestarted().Times(1))
	message := HaveRestarted()
	message.Match(again)
	gomega.Expect(message.FailureMessage(again)).To(gomega.HaveSuffix("Kubernetes v1.36.3, seed 7, run to 80.000s"))
}

// TestNodeString: a node shows its whole run.
func TestNodeString(t *testing.T) {
	w := newWorld(t)
	golden(t, "node.txt", w.Node.String())
	fresh := NewNode(NodeOptions{})
	defer fresh.Close()
	gomega.Expect(fresh.String()).To(gomega.ContainSubstring("no pod came within the run"))
}
