package scenarios_test

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

const slowStart = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: web
    livenessProbe: {httpGet: {port: 80}, periodSeconds: 10, failureThreshold: 3}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: slow-start}
spec:
  duration: 2m
  pods:
  - name: web
    containers:
    - name: app
      behavior: [{for: 40s, probes: down}] # nothing listens for the first 40 s
  expect:
  - never: ..
    record: {kind: ContainerExited}
    container: app
`

// Load a scenario, run it on a simulated node, and print the expectations that failed.
func Example() {
	loaded, err := scenarios.LoadBytes("slow-start.yaml", []byte(slowStart), nil)
	if err != nil {
		fmt.Println(err) // all errors, one to a line
		return
	}
	for _, plan := range loaded[0].Plans() {
		run := simulate.Run(context.Background(), plan, simulate.Options{})
		fmt.Printf("%s on Kubernetes %s:\n", plan.Scenario.Metadata.Name, plan.Version)
		for _, result := range run.Results {
			for _, failure := range result.Failures {
				fmt.Println("expected", failure.Expected)
				fmt.Println("got     ", failure.Got)
			}
		}
	}
	// Output:
	// slow-start on Kubernetes v1.37:
	// expected web/app: no ContainerExited in the whole run
	// got      one at 30.116s; then at 60.116s, 90.116s
}

func ExampleLoadBytes() {
	_, err := scenarios.LoadBytes("web.yaml", []byte(`
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: typos}
spec:
  duration: 45
  pods: [{name: web}]
`), nil)
	fmt.Println(err)
	// Output:
	// web.yaml:6:13: spec.duration: "45" has no unit: write 45s or 45ms
	// web.yaml:7:17: spec.pods[0].name: there is no workload "web" in this file
}

// Compile a pod and its behavior without a file, and run it on a node.
func ExampleCompile() {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "app", Image: "web",
			LivenessProbe: &v1.Probe{ProbeHandler: v1.ProbeHandler{
				HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}},
		}}},
	}
	pods, err := scenarios.Compile(pod, format.Behavior{"app": {{For: "40s", Probes: "down"}}},
		scenarios.CompileOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	n := node.New(node.Options{})
	defer n.Close()
	n.Observe(func(r *trace.Record) {
		if r.Kind == trace.ContainerStopping {
			fmt.Println(trace.FormatTime(r.T), r.Container, r.Reason)
		}
	})
	for _, p := range pods {
		n.At(p.At, func() { n.AddPod(p.Pod, p.Program) })
	}
	if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
		fmt.Println(err)
	}
	// Output: 30.016s app LivenessProbe
}
