package probetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/node"
	. "probesim.dev/probetest"
	"probesim.dev/trace"
)

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

// printFailures does in these examples what RegisterFailHandler(Fail) does in a suite.
func printFailures() {
	RegisterFailHandler(func(message string, _ ...int) { fmt.Println(message) })
}

// A program that starts in 30 s and deadlocks a minute later.
func Example() {
	printFailures()
	n := NewNode(NodeOptions{})
	defer n.Close() // DeferCleanup(n.Close) in a suite

	pod := n.AddPod(web(), Behavior{"app": {
		{For: "30s", Probes: "down"},
		{Instance: "0", After: "90s", Probes: "hang"},
	}})
	n.Advance(3 * time.Minute)

	Expect(pod).To(HaveBecomeReady().Between(30*time.Second, 40*time.Second))
	Expect(pod).To(HaveBeenKilledBecauseOf("LivenessProbe").Times(1))
	Expect(pod).To(HaveRestarted().Times(1).Within(2 * time.Minute))
	fmt.Println("all held after", n.Now())
	// Output: all held after 3m0s
}

// An http.Handler of the program under test answers its probes. Time stands still while the test changes something.
func ExampleNode_AddPod() {
	printFailures()
	n := NewNode(NodeOptions{})
	defer n.Close()

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

	Expect(pod).To(HaveEvent("Unhealthy").WithMessage("Readiness probe failed: HTTP probe failed with statuscode: 503"))
	Expect(pod).To(HaveReadyIntervals(ReadyInterval{From: BeNumerically("<", 10*time.Second), To: BeNumerically("~", 70*time.Second, 2*time.Second)}))
	Expect(pod).NotTo(HaveRestarted())
	fmt.Println("it is out of its Services and not restarted")
	// Output: it is out of its Services and not restarted
}

// Whatever the node can do can be done to it, at any virtual time.
func ExampleNode_At() {
	printFailures()
	n := NewNode(NodeOptions{})
	defer n.Close()
	pod := n.AddPod(web(), Behavior{"app": {{At: "61s", Probes: "fail"}}})
	n.At(60*time.Second, func(n *node.Node) { n.StopKubelet() })
	n.At(100*time.Second, func(n *node.Node) { n.StartKubelet() })
	n.AdvanceTo(2 * time.Minute)

	Expect(pod).NotTo(HaveBeenProbed(trace.Liveness).Between(61*time.Second, 100*time.Second))
	Expect(pod).To(HaveBeenKilledBecauseOf("LivenessProbe").After(100 * time.Second))
	fmt.Println("nobody probes while there is no kubelet")
	// Output: nobody probes while there is no kubelet
}

// crashing returns a pod whose program exits after two seconds, ten minutes after it was added.
func crashing(n *Node) *Pod {
	pod := n.AddPod(web(), Behavior{"app": {{After: "2s", Exit: "1"}}})
	n.Advance(10 * time.Minute)
	return pod
}

func ExampleHaveBackedOffFor() {
	printFailures()
	n := NewNode(NodeOptions{})
	defer n.Close()
	pod := crashing(n)
	Expect(pod).To(HaveBackedOffFor(10*time.Second, 20*time.Second, 40*time.Second, 80*time.Second).Within(2 * time.Minute))
	Expect(pod).To(HaveBackedOffFor(300 * time.Second).After(5 * time.Minute))
	fmt.Println("its back-off is that of the kubelet")
	// Output: its back-off is that of the kubelet
}

func ExampleHaveContainerStatuses() {
	printFailures()
	n := NewNode(NodeOptions{})
	defer n.Close()
	pod := crashing(n)
	Expect(pod).To(HaveContainerStatuses(
		trace.ContainerStatus{Name: "app", State: "waiting", Reason: "CrashLoopBackOff", RestartCount: 6},
	))
	fmt.Println("it waits")
	// Output: it waits
}

func ExampleHaveConditionTransitions() {
	printFailures()
	n := NewNode(NodeOptions{})
	defer n.Close()
	pod := n.AddPod(web(), Behavior{"app": {{After: "1m", For: "30s", Readiness: "503"}}})
	n.Advance(2 * time.Minute)
	Expect(pod).To(HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue, v1.ConditionFalse, v1.ConditionTrue))
	Expect(pod).To(HaveConditionTransitions(v1.PodInitialized, v1.ConditionFalse, v1.ConditionTrue))
	fmt.Println("it was unready once")
	// Output: it was unready once
}

func ExampleHaveBeenReadyBeforeStarted() {
	printFailures()
	n := NewNode(NodeOptions{})
	defer n.Close()
	pod := n.AddPod(web(), Behavior{"app": {{For: "30s", Startup: "503"}}})
	n.Advance(time.Minute)
	Expect(pod.Container("app")).NotTo(HaveBeenReadyBeforeStarted())
	fmt.Println("it was started first")
	// Output: it was started first
}

// When an assertion fails, the message shows the pod around the moment.
func ExampleHaveBecomeReady() {
	RegisterFailHandler(func(message string, _ ...int) { fmt.Println(trimmed(message)) })
	n := NewNode(NodeOptions{})
	defer n.Close()
	pod := n.AddPod(web(), Behavior{"app": {{For: "12s", Probes: "down"}}})
	n.Advance(30 * time.Second)
	Expect(pod).To(HaveBecomeReady().Within(15 * time.Second))
	// Output:
	// Expected
	//     web
	// to have become ready within 15s.
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
	// Kubernetes v1.37.0, run to 30.000s
}

// trimmed leaves out the blanks at the ends of lines, which examples cannot have.
func trimmed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n")
}
