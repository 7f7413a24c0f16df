package realkubelet

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/trace"
)

// The runtime cannot see which probe or hook runs a command. Each command of a probe or hook in the
// kubelet's copy of a pod therefore starts with an extra word, a tag, which the runtime removes.
// HTTP requests have the tag in an extra header; the host of a TCP probe and the service of a gRPC
// probe start with it.
const (
	tagPrefix = "probesim:"
	tagEnd    = "|"
	tagHeader = "Probesim-Requester"
)

const (
	postStart = "postStart"
	preStop   = "preStop"
)

// tagged returns a copy of the pod with a tag in each probe and hook. The copy has no termination
// message files, because the kubelet draws their names from the random source that seedStart seeds.
// No program writes termination messages here.
func tagged(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			tagContainer(pod, &containers[i])
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		pod.Spec.EphemeralContainers[i].TerminationMessagePath = "" // ephemeral containers have no probes and no hooks
	}
	return pod
}

func tagContainer(pod *v1.Pod, c *v1.Container) {
	c.TerminationMessagePath = ""
	for whose, p := range map[trace.Probe]*v1.Probe{trace.Liveness: c.LivenessProbe, trace.Readiness: c.ReadinessProbe,
		trace.Startup: c.StartupProbe} {
		if p != nil {
			tagProbe(p, requester{uid: pod.UID, pod: pod.Namespace + "/" + pod.Name, container: c.Name, probe: whose})
		}
	}
	if c.Lifecycle != nil {
		for whose, h := range map[string]*v1.LifecycleHandler{postStart: c.Lifecycle.PostStart,
			preStop: c.Lifecycle.PreStop} {
			tagHook(h, requester{uid: pod.UID, pod: pod.Namespace + "/" + pod.Name, container: c.Name, hook: whose})
		}
	}
}

func tagProbe(p *v1.Probe, r requester) {
	switch {
	case p.Exec != nil:
		p.Exec.Command = append([]string{tagPrefix + string(r.probe)}, p.Exec.Command...)
	case p.HTTPGet != nil:
		tagRequest(p.HTTPGet, r)
	case p.TCPSocket != nil:
		p.TCPSocket.Host = r.String() + tagEnd + p.TCPSocket.Host
	case p.GRPC != nil:
		p.GRPC.Service = new(r.String() + tagEnd + ptr.Deref(p.GRPC.Service, ""))
	}
}

func tagHook(h *v1.LifecycleHandler, r requester) {
	switch {
	case h == nil:
	case h.Exec != nil:
		h.Exec.Command = append([]string{tagPrefix + r.hook}, h.Exec.Command...)
	case h.HTTPGet != nil:
		tagRequest(h.HTTPGet, r)
	}
}

func tagRequest(h *v1.HTTPGetAction, r requester) {
	h.HTTPHeaders = append(h.HTTPHeaders, v1.HTTPHeader{Name: tagHeader, Value: r.String()})
}

// splitTag removes the tag from a command, and returns the probe or hook that runs the command.
func splitTag(command []string) (whose string, rest []string) {
	if len(command) > 0 && strings.HasPrefix(command[0], tagPrefix) {
		return strings.TrimPrefix(command[0], tagPrefix), command[1:]
	}
	return "", command
}

// untagged removes the tag from a command in a message.
func untagged(message string) string {
	if !strings.Contains(message, tagPrefix) {
		return message
	}
	for _, whose := range []string{string(trace.Liveness), string(trace.Readiness), string(trace.Startup), postStart,
		preStop} {
		message = strings.ReplaceAll(message, tagPrefix+whose+" ", "")
	}
	return message
}
