package realkubelet

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/trace"
)

// A command that the kubelet runs in a container does not say whose it is. So each command of a probe or
// hook in the pod that the kubelet is given begins with one more word, a tag, which the runtime takes off.
// In the same way an HTTP request has one more header, and the host of a TCP socket and the service of a gRPC
// health check begin with the tag.
const (
	tagPrefix = "probesim:"
	tagEnd    = "|"
	tagHeader = "Probesim-Asker"
)

const (
	postStart = "postStart"
	preStop   = "preStop"
)

// tagged returns a copy of the pod with a tag in each probe and hook. It also has no files for termination
// messages, which no program writes here: the kubelet draws their names from the source of random numbers
// that seedStart pins.
func tagged(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			tagContainer(pod, &containers[i])
		}
	}
	return pod
}

func tagContainer(pod *v1.Pod, c *v1.Container) {
	c.TerminationMessagePath = ""
	for whose, p := range map[trace.Probe]*v1.Probe{trace.Liveness: c.LivenessProbe, trace.Readiness: c.ReadinessProbe, trace.Startup: c.StartupProbe} {
		if p != nil {
			tagProbe(p, asker{uid: pod.UID, pod: pod.Namespace + "/" + pod.Name, container: c.Name, probe: whose})
		}
	}
	if c.Lifecycle != nil {
		for whose, h := range map[string]*v1.LifecycleHandler{postStart: c.Lifecycle.PostStart, preStop: c.Lifecycle.PreStop} {
			tagHook(h, asker{uid: pod.UID, pod: pod.Namespace + "/" + pod.Name, container: c.Name, hook: whose})
		}
	}
}

func tagProbe(p *v1.Probe, a asker) {
	switch {
	case p.Exec != nil:
		p.Exec.Command = append([]string{tagPrefix + string(a.probe)}, p.Exec.Command...)
	case p.HTTPGet != nil:
		tagRequest(p.HTTPGet, a)
	case p.TCPSocket != nil:
		p.TCPSocket.Host = a.String() + tagEnd + p.TCPSocket.Host
	case p.GRPC != nil:
		p.GRPC.Service = new(a.String() + tagEnd + ptr.Deref(p.GRPC.Service, ""))
	}
}

func tagHook(h *v1.LifecycleHandler, a asker) {
	switch {
	case h == nil:
	case h.Exec != nil:
		h.Exec.Command = append([]string{tagPrefix + a.hook}, h.Exec.Command...)
	case h.HTTPGet != nil:
		tagRequest(h.HTTPGet, a)
	}
}

func tagRequest(h *v1.HTTPGetAction, a asker) {
	h.HTTPHeaders = append(h.HTTPHeaders, v1.HTTPHeader{Name: tagHeader, Value: a.String()})
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
