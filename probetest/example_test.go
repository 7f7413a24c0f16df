package probetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/node"
	. "probesim.dev/probetest"
	"probesim.dev/trace"
)

// t stands for the argument of a test function, or for GinkgoTB() in a Ginkgo spec.
var t testing.TB = exampleT{}

// exampleT prints the failures of an example.
type exampleT struct{ testing.TB }

func (exampleT) Helper()        {}
func (exampleT) Cleanup(func()) {}
func (exampleT) Fatalf(format string, args ...any) {
	fmt.Println(trimmed(fmt.Sprintf(format, args...)))
}

// web returns a pod with all three probes over HTTP.
func web() *v1.Pod {
	get := func(path string) *v1.Probe {
		return &v1.Probe{
			ProbeHandler:  v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: path, Port: intstr.FromInt32(8080)}},
			PeriodSeconds: 5,
		}
	}
	startup := get("/livez")
	startup.FailureThreshold = 12
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "app", Image: "example.com/web:1.4",
			StartupProbe: startup, LivenessProbe: get("/livez"), ReadinessProbe: get("/readyz"),
		}}},
	}
}

// shop returns a Deployment of two replicas.
func shop() *appsv1.Deployment {
	labels := map[string]string{"app": "shop"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: web().Spec},
		},
	}
}

// The program in this pod takes 30 s to start and deadlocks a minute later.
func Example() {
	Expect := NewWithT(t).Expect
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {
		{For: "30s", Probes: "down"},
		{Instance: "0", After: "90s", Probes: "hang"},
	}})
	n.Advance(3 * time.Minute)

	Expect(pod).To(HaveBecomeReady().Between(30*time.Second, 40*time.Second))
	Expect(pod).To(HaveBeenKilledBecauseOf("LivenessProbe").Times(1))
	Expect(pod).To(HaveRestarted().Times(1).Within(2 * time.Minute))
	fmt.Println("all assertions held at", n.Now())
	// Output: all assertions held at 3m0s
}

// With a seed, ranges and chances in behaviors are random, and the same seed repeats the same run.
func ExampleNewNode() {
	n := NewNode(t, NodeOptions{Kubernetes: "v1.36", Seed: new(int64(7))})
	pod := n.AddPod(web(), Behavior{"app": {{For: "20s..40s", Probes: "down"}}})
	n.Advance(time.Minute)

	NewWithT(t).Expect(pod).To(HaveBecomeReady().Between(20*time.Second, 50*time.Second))
	fmt.Println("ready in time")
	// Output: ready in time
}

// The http.Handler of the program answers its probes. Virtual time stands still while the test
// changes its state.
func ExampleNode_AddPod() {
	Expect := NewWithT(t).Expect
	n := NewNode(t, NodeOptions{})

	database := true
	mux := http.NewServeMux()
	mux.HandleFunc("/livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !database {
			http.Error(w, "no database", http.StatusServiceUnavailable)
		}
	})
	pod := n.AddPod(web(), Behavior{"app": {{Handler: mux}}})
	n.AdvanceTo(time.Minute)
	database = false
	n.AdvanceTo(90 * time.Second)

	Expect(pod).To(HaveReadyIntervals(ReadyInterval{From: BeNumerically("<", 10*time.Second),
		To: BeNumerically("~", 70*time.Second, 2*time.Second)}))
	Expect(pod).NotTo(HaveRestarted())
	fmt.Println("not ready without its database, and not restarted")
	// Output: not ready without its database, and not restarted
}

// The controllers of the node roll a Deployment out, and kube-proxy sends requests to its pods.
func ExampleNode_AddDeployment() {
	Expect := NewWithT(t).Expect
	n := NewNode(t, NodeOptions{ControlPlane: &ControlPlane{}})
	deployment := n.AddDeployment(shop(), Behavior{"app": {
		{For: "10s", Probes: "down"},
		{AfterSigterm: "0s", Refuse: true},
		{AfterSigterm: "3s", Exit: "0"},
	}})
	service := n.AddService(&v1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "shop"}, Ports: []v1.ServicePort{{Port: 80}}},
	}, Requests{Rate: 200, Least: 20 * time.Millisecond, Most: 80 * time.Millisecond})
	n.AdvanceTo(time.Minute)
	deployment.Update(func(spec *appsv1.DeploymentSpec) {
		spec.Template.Spec.Containers[0].Image = "example.com/web:1.5"
		spec.MinReadySeconds = 2
	})
	n.Advance(5 * time.Minute)

	Expect(service).To(HaveLostRequests(BeNumerically("<", 50)))
	Expect(deployment).To(HaveRolledOutWithin(2 * time.Minute))
	Expect(deployment).To(HaveKeptReady(2))
	fmt.Println(deployment.Pods())
	// Output: [shop-1-0 shop-1-1 shop-2-0 shop-2-1]
}

// Replica selects the pods of a workload that a rule applies to.
func ExampleNode_AddWorkload() {
	Expect := NewWithT(t).Expect
	n := NewNode(t, NodeOptions{})
	pods := n.AddWorkload(shop(), Behavior{"app": {{Replica: "1", Instance: "0", After: "30s", Exit: "1"}}})
	n.Advance(time.Minute)

	Expect(pods).To(HaveBecomeReady().Within(15 * time.Second))
	Expect(pods[0]).NotTo(HaveRestarted())
	Expect(pods[1]).To(HaveRestarted().Times(1))
	fmt.Println(pods)
	// Output: [shop-0 shop-1]
}

// At runs an action that Node has no method for, at an exact virtual time.
func ExampleNode_At() {
	Expect := NewWithT(t).Expect
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{At: "61s", Probes: "fail"}}})
	n.At(60*time.Second, func(n *node.Node) { n.StopKubelet() })
	n.At(100*time.Second, func(n *node.Node) { n.StartKubelet() })
	n.AdvanceTo(2 * time.Minute)

	Expect(pod).NotTo(HaveBeenProbed(trace.Liveness).Between(61*time.Second, 100*time.Second))
	Expect(pod).To(HaveBeenKilledBecauseOf("LivenessProbe").After(100 * time.Second))
	fmt.Println("no probes run while the kubelet is down")
	// Output: no probes run while the kubelet is down
}

// A program that takes its clock from outside reads the time of the node.
func ExampleNode_Clock() {
	n := NewNode(t, NodeOptions{})
	clock := n.Clock() // a PassiveClock of k8s.io/utils/clock
	lastSync := clock.Now()
	ready := func(w http.ResponseWriter, _ *http.Request) {
		if clock.Since(lastSync) > 45*time.Second {
			http.Error(w, "stale", http.StatusServiceUnavailable)
		}
	}
	pod := n.AddPod(web(), Behavior{"app": {{Handler: http.HandlerFunc(ready)}}})
	n.Advance(70 * time.Second)

	NewWithT(t).Expect(pod).To(HaveReadyIntervals(ReadyInterval{From: BeNumerically("<", 10*time.Second),
		To: BeNumerically("~", 55*time.Second, 5*time.Second)}))
	fmt.Println("not ready", clock.Since(lastSync), "after the last sync")
	// Output: not ready 1m10s after the last sync
}

func ExampleBehavior() {
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {
		{For: "20s", Probes: "down"},                 // nothing listens in the first 20 s of each instance
		{After: "60s", For: "6s", Liveness: "stall"}, // a garbage collection pauses the program for 6 s
		{Instance: "0", After: "2m", Exit: "1"},      // the first instance crashes after 2 min
		{AfterSigterm: "8s", Exit: "0"},              // the program takes 8 s to shut down
	}})
	n.Advance(5 * time.Minute)

	NewWithT(t).Expect(pod).To(HaveRestarted().Times(1))
	fmt.Println("one restart")
	// Output: one restart
}

// A subtest for each scenario and version of Kubernetes: TestProbes/slow-start/v1.37, and so on.
func ExampleRunScenarios() {
	TestProbes := func(t *testing.T) {
		RunScenarios(t, "testdata/suite/web.yaml")
	}
	fmt.Printf("%T", TestProbes)
	// Output: func(*testing.T)
}

func ExampleRunScenario() {
	run := RunScenario(t, "testdata/suite/web.yaml", "slow-start", ScenarioOptions{Kubernetes: "v1.36"})
	NewWithT(t).Expect(run.Pod("web")).To(HaveBeenProbed(trace.Startup).WithResult(trace.Failure).Times(4))
	fmt.Println(run.Pods())
	// Output: [web]
}

func ExampleHaveRestarted() {
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{Instance: "0..1", After: "30s", Exit: "1"}}})
	n.Advance(5 * time.Minute)
	NewWithT(t).Expect(pod.Container("app")).To(HaveRestarted().Times(2))
	fmt.Println("two restarts")
	// Output: two restarts
}

func ExampleHaveBeenProbed() {
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{After: "30s", For: "12s", Liveness: "503"}}})
	n.Advance(2 * time.Minute)
	NewWithT(t).Expect(pod).To(HaveBeenProbed(trace.Liveness).WithResult(trace.Failure).
		At(35*time.Second, 40*time.Second).Times(2))
	fmt.Println("two failures, one less than the threshold")
	// Output: two failures, one less than the threshold
}

func ExampleHaveBeenKilledBecauseOf() {
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{Startup: "down"}}})
	n.Advance(2 * time.Minute)
	NewWithT(t).Expect(pod).To(HaveBeenKilledBecauseOf("StartupProbe").Times(1).Between(time.Minute, 65*time.Second))
	fmt.Println("killed after 12 failures, 5 s apart")
	// Output: killed after 12 failures, 5 s apart
}

func ExampleHaveEvent() {
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{After: "30s", Readiness: "503"}}})
	n.Advance(time.Minute)
	NewWithT(t).Expect(pod).To(HaveEvent("Unhealthy").OfType(v1.EventTypeWarning).
		WithMessage(HavePrefix("Readiness probe failed: HTTP probe failed with statuscode: 503")).AtLeast(5))
	fmt.Println("the events name the probe and the status code")
	// Output: the events name the probe and the status code
}

func ExampleHaveReadyIntervals() {
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{After: "30s", For: "20s", Readiness: "503"}}})
	n.Advance(time.Minute)
	NewWithT(t).Expect(pod).To(HaveReadyIntervals(
		ReadyInterval{From: BeNumerically("<", 10*time.Second), To: BeNumerically("~", 40*time.Second, 5*time.Second)},
		ReadyInterval{From: BeNumerically("~", 50*time.Second, 5*time.Second)},
	))
	fmt.Println("one outage")
	// Output: one outage
}

func ExampleHaveBackedOffFor() {
	Expect := NewWithT(t).Expect
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{After: "2s", Exit: "1"}}})
	n.Advance(10 * time.Minute)
	Expect(pod).To(HaveBackedOffFor(10*time.Second, 20*time.Second, 40*time.Second, 80*time.Second).
		Within(2 * time.Minute))
	Expect(pod).To(HaveBackedOffFor(300 * time.Second).After(5 * time.Minute))
	fmt.Println("the back-off doubles, up to 5 min")
	// Output: the back-off doubles, up to 5 min
}

func ExampleHaveContainerStatuses() {
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{After: "2s", Exit: "1"}}})
	n.Advance(10 * time.Minute)
	NewWithT(t).Expect(pod).To(HaveContainerStatuses(
		trace.ContainerStatus{Name: "app", State: "waiting", Reason: "CrashLoopBackOff", RestartCount: 6},
	))
	fmt.Println("waiting for the next restart")
	// Output: waiting for the next restart
}

func ExampleHaveConditionTransitions() {
	Expect := NewWithT(t).Expect
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{After: "1m", For: "30s", Readiness: "503"}}})
	n.Advance(2 * time.Minute)
	Expect(pod).To(HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue, v1.ConditionFalse,
		v1.ConditionTrue))
	Expect(pod).To(HaveConditionTransitions(v1.PodInitialized, v1.ConditionFalse, v1.ConditionTrue))
	fmt.Println("not ready once")
	// Output: not ready once
}

func ExampleHaveBeenReadyBeforeStarted() {
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{For: "30s", Startup: "503"}}})
	n.Advance(time.Minute)
	NewWithT(t).Expect(pod.Container("app")).NotTo(HaveBeenReadyBeforeStarted())
	fmt.Println("started first, then ready")
	// Output: started first, then ready
}

// The message of a failed assertion shows the pod around the moment.
func ExampleHaveBecomeReady() {
	n := NewNode(t, NodeOptions{})
	pod := n.AddPod(web(), Behavior{"app": {{For: "12s", Probes: "down"}}})
	n.Advance(30 * time.Second)
	NewWithT(t).Expect(pod).To(HaveBecomeReady().Within(15 * time.Second))
	// Output:
	// Expected
	//     web
	// to have become ready within 15s after the pod was added.
	// It did not; later at 15.035s.
	//
	//     10.009s  web/app#0  ProbeExecuted startup failure "Get \"http://10.64.0.1:8080/livez\": dial tcp 10.64.0.1:8080: connect: connection refused" took 9ms
	//     10.009s  web/app#0  Event Warning Unhealthy "Startup probe failed: Get \"http://10.64.0.1:8080/livez\": dial tcp 10.64.0.1:8080: connect: connection refused"
	//     15.009s  web/app#0  ProbeExecuted startup success took 9ms
	//     15.018s  web/app#0  ProbeExecuted readiness success took 9ms
	//     15.022s  web        StatusPatched Running not-ready [app running started not-ready restarts 0]
	//   > 15.035s  web        StatusPatched Running ready [app running started ready restarts 0]
	//     20.009s  web/app#0  ProbeExecuted liveness success took 9ms
	//     20.018s  web/app#0  ProbeExecuted readiness success took 9ms
	//     25.009s  web/app#0  ProbeExecuted liveness success took 9ms
	//
	//                0s        5s        10s       15s       20s       25s       30s
	//                └─────────┴─────────┴─────────┴─────────┴─────────┴─────────┘
	// web
	//   Ready        ──────────────────────────────╼━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
	//   app          0███████████████████████████████████████████████████████████
	//     Started    ──────────────────────────────╼━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
	//     startup              ✗         ✗         ·
	//     liveness                                           ·         ·
	//     readiness                                ·         ·         ·
	//
	// · success   ✗ failure   █ running, numbered by restarts   ━ true   ─ false
	//
	// Kubernetes v1.37, run to 30.000s
}

// trimmed removes trailing blanks, which the expected output of an example cannot contain.
func trimmed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n")
}
