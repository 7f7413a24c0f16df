package bounds

import (
	"flag"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

var varied = flag.Bool("varied", false, "draw other containers, hooks and restart policies too")

// vary adds to a pod what its container can have beside its probes: other containers, hooks, and another restart policy.
func vary(t *rapid.T, pod *v1.Pod) {
	spec := &pod.Spec
	spec.RestartPolicy = rapid.SampledFrom([]v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever}).Draw(t, "policy")
	drawHooks(t, &spec.Containers[0])
	other := func(name string) v1.Container {
		c := v1.Container{Name: name, Image: rapid.SampledFrom([]string{"other:1", "other"}).Draw(t, "image of "+name)}
		drawHooks(t, &c)
		if rapid.IntRange(0, 3).Draw(t, "probes of "+name) == 0 {
			c.ReadinessProbe = &v1.Probe{
				PeriodSeconds: rapid.Int32Range(1, 10).Draw(t, "period of "+name), InitialDelaySeconds: rapid.Int32Range(0, 10).Draw(t, "delay of "+name),
				ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}},
			}
		}
		return c
	}
	switch rapid.SampledFrom([]string{"none", "before", "after", "both", "init", "sidecar"}).Draw(t, "others") {
	case "before":
		spec.Containers = append([]v1.Container{other("first")}, spec.Containers...)
	case "after":
		spec.Containers = append(spec.Containers, other("last"))
	case "both":
		spec.Containers = append([]v1.Container{other("first")}, append(spec.Containers, other("last"))...)
	case "init":
		spec.InitContainers = []v1.Container{{Name: "init", Image: "init:1"}}
	case "sidecar":
		sidecar := other("sidecar")
		sidecar.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		spec.InitContainers = []v1.Container{sidecar}
	}
}

// drawHooks gives a container hooks of any kind, or none.
func drawHooks(t *rapid.T, c *v1.Container) {
	hook := func(field string) *v1.LifecycleHandler {
		switch rapid.SampledFrom([]string{"none", "none", "exec", "http", "sleep", "script"}).Draw(t, field+" of "+c.Name) {
		case "exec":
			return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"warm-up"}}}
		case "script":
			return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sleep", "3"}}}
		case "http":
			return &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}
		case "sleep":
			return &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: rapid.Int64Range(1, 8).Draw(t, field+" seconds")}}
		}
		return nil
	}
	if after, stop := hook("postStart"), hook("preStop"); after != nil || stop != nil {
		c.Lifecycle = &v1.Lifecycle{PostStart: after, PreStop: stop}
	}
}

// showPod shows what vary draws.
func showPod(pod *v1.Pod) string {
	out := fmt.Sprintf("restart policy %s", pod.Spec.RestartPolicy)
	for _, c := range append(pod.Spec.InitContainers[:len(pod.Spec.InitContainers):len(pod.Spec.InitContainers)], pod.Spec.Containers...) {
		out += fmt.Sprintf(", %s pulls %s", c.Name, c.ImagePullPolicy)
		if p := c.ReadinessProbe; p != nil && c.Name != "app" {
			out += fmt.Sprintf(" delay %d period %d", p.InitialDelaySeconds, p.PeriodSeconds)
		}
		if c.Lifecycle != nil {
			out += fmt.Sprintf(" %v", c.Lifecycle)
		}
	}
	return out + "\n"
}
