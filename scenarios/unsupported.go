package scenarios

import (
	v1 "k8s.io/api/core/v1"

	"probesim.dev/scenarios/strict"
)

// later is a field that the format has and this version does not: whatever is written in it is refused.
type later struct{}

// UnmarshalNode refuses the field.
func (later) UnmarshalNode(n *strict.Node) { n.Errorf("%s is not supported yet", n.Name()) }

// unsupportedInPods are the fields of a pod that change what a kubelet does and that this version does
// not simulate. They are refused in the pods that a scenario runs.
var unsupportedInPods = []struct {
	path string // of the field in the pod
	used func(*v1.Pod) bool
}{
	{"metadata.finalizers", func(p *v1.Pod) bool { return len(p.Finalizers) > 0 }},
	{"spec.schedulingGates", func(p *v1.Pod) bool { return len(p.Spec.SchedulingGates) > 0 }},
	{"spec.activeDeadlineSeconds", func(p *v1.Pod) bool { return p.Spec.ActiveDeadlineSeconds != nil }},
	{"spec.resourceClaims", func(p *v1.Pod) bool { return len(p.Spec.ResourceClaims) > 0 }},
	{"spec.os", func(p *v1.Pod) bool { return p.Spec.OS != nil && p.Spec.OS.Name != v1.Linux }},
}

// unsupportedInContainers are the same of a regular container.
var unsupportedInContainers = []struct {
	path string // of the field in the container
	used func(*v1.Container) bool
}{
	{"lifecycle.postStart.httpGet", func(c *v1.Container) bool { h := hookOf(c, "postStart"); return h != nil && h.HTTPGet != nil }},
	{"lifecycle.postStart.tcpSocket", func(c *v1.Container) bool { h := hookOf(c, "postStart"); return h != nil && h.TCPSocket != nil }},
	{"lifecycle.preStop.httpGet", func(c *v1.Container) bool { h := hookOf(c, "preStop"); return h != nil && h.HTTPGet != nil }},
	{"lifecycle.preStop.tcpSocket", func(c *v1.Container) bool { h := hookOf(c, "preStop"); return h != nil && h.TCPSocket != nil }},
	{"lifecycle.stopSignal", func(c *v1.Container) bool { return c.Lifecycle != nil && c.Lifecycle.StopSignal != nil }},
}

// unsupportedHandlers are the ways to probe that this version does not simulate.
var unsupportedHandlers = []struct {
	name string
	used func(*v1.Probe) bool
}{
	{"httpGet", func(p *v1.Probe) bool { return p.HTTPGet != nil }},
	{"tcpSocket", func(p *v1.Probe) bool { return p.TCPSocket != nil }},
	{"grpc", func(p *v1.Probe) bool { return p.GRPC != nil }},
}

// unsupportedDelays are the delays of what this version does not simulate.
var unsupportedDelays = []string{"httpGet", "tcpSocket", "grpc"}
