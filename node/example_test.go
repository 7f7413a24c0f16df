package node_test

import (
	"fmt"
	"log"
	"net/http"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// web returns the pod default/web as a user writes it, without defaults: its container app has a
// readiness probe.
func web() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "app", Image: "web:1",
			ReadinessProbe: &v1.Probe{
				ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/healthz",
					Port: intstr.FromInt32(8080)}},
				PeriodSeconds: 5,
			},
		}}},
	}
}

// answering returns a program whose container app answers httpGet probes with a handler.
func answering(h http.Handler) fakeruntime.Pod {
	answer := fakeruntime.Item{Answer: fakeruntime.Answer{Word: fakeruntime.Answers, Handler: h}}
	return fakeruntime.Pod{Containers: map[string]fakeruntime.ContainerConfig{"app": {Program: fakeruntime.Program{
		Rules: []fakeruntime.Rule{{Probes: &fakeruntime.Series{Items: []fakeruntime.Item{answer}}}},
	}}}}
}

// printReadiness prints when the pod becomes Ready and stops being Ready.
func printReadiness(n *node.Node) {
	ready := false
	for r := range n.Trace().All() {
		if r.Kind == trace.StatusPatched && r.Status.Ready != ready {
			ready = r.Status.Ready
			fmt.Println(trace.FormatTime(r.T), r.Pod, "ready:", ready)
		}
	}
}

// The server behind the readiness probe starts to answer at 12 s. The pod becomes Ready with the
// next probe.
func Example() {
	n := node.New(node.Options{})
	defer n.Close()
	server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Now() < virtual.At(12*time.Second) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	n.At(0, func() {
		if err := n.AddPod(web(), answering(server)); err != nil {
			log.Fatal(err)
		}
	})
	if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
		log.Fatal(err)
	}
	printReadiness(n)
	// Output:
	// 15.501s default/web ready: true
}

func ExampleNode_AddPod_invalid() {
	n := node.New(node.Options{})
	defer n.Close()
	pod := web()
	pod.Spec.Containers[0].Image = ""
	pod.Spec.Containers[0].ReadinessProbe.PeriodSeconds = -1
	n.At(0, func() {
		err := n.AddPod(pod, fakeruntime.Pod{})
		fmt.Println(apierrors.IsInvalid(err))
		fmt.Println(err)
	})
	if err := n.RunUntil(virtual.At(time.Second)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// true
	// Pod "web" is invalid: [spec.containers[0].image: Required value, spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0]
}

func ExampleNode_DeletePod() {
	n := node.New(node.Options{})
	defer n.Close()
	add := func() {
		if err := n.AddPod(web(), fakeruntime.Pod{}); err != nil {
			log.Fatal(err)
		}
	}
	remove := func() {
		if err := n.DeletePod("default", "web", new(int64(10))); err != nil {
			log.Fatal(err)
		}
	}
	n.At(0, add)
	n.At(virtual.At(20*time.Second), remove)
	if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
		log.Fatal(err)
	}
	for r := range n.Trace().All() {
		switch r.Kind {
		case trace.PodAdded, trace.PodDeleteRequested, trace.ContainerStarted, trace.ContainerStopping,
			trace.ContainerExited, trace.PodRemoved:
			fmt.Println(trace.FormatTime(r.T), r.Kind)
		}
	}
	// Output:
	// 0.000s PodAdded
	// 0.302s ContainerStarted
	// 20.000s PodDeleteRequested
	// 20.007s ContainerStopping
	// 20.107s ContainerExited
	// 20.601s PodRemoved
}

// A new image restarts the container. The patch and its consequences have the same cause.
func ExampleNode_PatchPod() {
	n := node.New(node.Options{})
	defer n.Close()
	n.At(0, func() {
		if err := n.AddPod(web(), fakeruntime.Pod{}); err != nil {
			log.Fatal(err)
		}
	})
	n.At(virtual.At(20*time.Second), func() {
		patch := []byte(`{"spec": {"containers": [{"name": "app", "image": "web:2"}]}}`)
		if err := n.PatchPod("default", "web", patch); err != nil {
			log.Fatal(err)
		}
	})
	if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
		log.Fatal(err)
	}
	for r := range n.Trace().All() {
		switch r.Kind {
		case trace.Step:
			fmt.Println(trace.FormatTime(r.T), r.Kind, r.Reason, r.Message)
		case trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited:
			fmt.Printf("%s %s %d\n", trace.FormatTime(r.T), r.Kind, r.Instance)
		}
	}
	// Output:
	// 0.302s ContainerStarted 0
	// 20.000s Step patch {"spec": {"containers": [{"name": "app", "image": "web:2"}]}}
	// 20.007s ContainerStopping 0
	// 20.107s ContainerExited 0
	// 20.196s ContainerStarted 1
}

// While the kubelet is stopped, the container is not probed: the pod stays Ready although its
// server is down.
func ExampleNode_StopKubelet() {
	n := node.New(node.Options{})
	defer n.Close()
	server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Now() > virtual.At(30*time.Second) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	n.At(0, func() {
		if err := n.AddPod(web(), answering(server)); err != nil {
			log.Fatal(err)
		}
	})
	n.At(virtual.At(25*time.Second), func() { n.StopKubelet() })
	n.At(virtual.At(2*time.Minute), n.StartKubelet)
	if err := n.RunUntil(virtual.At(5 * time.Minute)); err != nil {
		log.Fatal(err)
	}
	printReadiness(n)
	// Output:
	// 0.336s default/web ready: true
	// 132.622s default/web ready: false
}

// Observe reacts to what happens: the container is killed 3 s after the pod becomes Ready for the
// first time.
func ExampleNode_Observe() {
	n := node.New(node.Options{})
	defer n.Close()
	pod := web()
	pod.UID = "web-1"
	killed := false
	n.Observe(func(r *trace.Record) {
		if r.Kind == trace.StatusPatched && r.Status.Ready && !killed {
			killed = true
			n.At(r.T.Add(3*time.Second), func() {
				n.KillContainer(fakeruntime.Kill{PodUID: "web-1", Container: "app", Reason: "OOMKilled"})
			})
		}
	})
	n.At(0, func() {
		if err := n.AddPod(pod, fakeruntime.Pod{}); err != nil {
			log.Fatal(err)
		}
	})
	if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
		log.Fatal(err)
	}
	printReadiness(n)
	// Output:
	// 0.336s default/web ready: true
	// 3.511s default/web ready: false
	// 3.623s default/web ready: true
}

// A seed selects one of the possible runs. Equal seeds give equal traces.
func ExampleOptions_seed() {
	run := func(seed int64) string {
		n := node.New(node.Options{Seed: &seed})
		defer n.Close()
		n.At(0, func() {
			if err := n.AddPod(web(), fakeruntime.Pod{}); err != nil {
				log.Fatal(err)
			}
		})
		if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
			log.Fatal(err)
		}
		return trace.Hash(n.Trace().Records())
	}
	first, second := run(1), run(1)
	fmt.Println(first == second)
	// Output:
	// true
}
