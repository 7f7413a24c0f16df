package realkubelet

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim/trace"
)

// A command that the kubelet runs in a container does not say whose it is. So each command of a probe or
// hook in the pod that the kubelet is given begins with one more word, a tag, which the runtime takes off.
const tagPrefix = "probesim:"

const (
	postStart = "postStart"
	preStop   = "preStop"
)

// tagged returns a copy of the pod with a tag before each command. It also has no files for termination
// messages, which no program writes here: the kubelet draws their names from the source of random numbers
// that seedStart pins.
func tagged(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			tagContainer(&containers[i])
		}
	}
	return pod
}

func tagContainer(c *v1.Container) {
	c.TerminationMessagePath = ""
	tagProbe(c.LivenessProbe, trace.Liveness)
	tagProbe(c.ReadinessProbe, trace.Readiness)
	tagProbe(c.StartupProbe, trace.Startup)
	if c.Lifecycle != nil {
		tagHook(c.Lifecycle.PostStart, postStart)
		tagHook(c.Lifecycle.PreStop, preStop)
	}
}

func tagProbe(p *v1.Probe, whose trace.Probe) {
	if p != nil && p.Exec != nil {
		p.Exec.Command = append([]string{tagPrefix + string(whose)}, p.Exec.Command...)
	}
}

func tagHook(h *v1.LifecycleHandler, whose string) {
	if h != nil && h.Exec != nil {
		h.Exec.Command = append([]string{tagPrefix + whose}, h.Exec.Command...)
	}
}

// splitTag takes the tag off a command and returns whose it is.
func splitTag(command []string) (whose string, rest []string) {
	if len(command) > 0 && strings.HasPrefix(command[0], tagPrefix) {
		return strings.TrimPrefix(command[0], tagPrefix), command[1:]
	}
	return "", command
}

// untagged takes the tag off a command that is part of a message.
func untagged(message string) string {
	if !strings.Contains(message, tagPrefix) {
		return message
	}
	for _, whose := range []string{string(trace.Liveness), string(trace.Readiness), string(trace.Startup), postStart, preStop} {
		message = strings.ReplaceAll(message, tagPrefix+whose+" ", "")
	}
	return message
}
