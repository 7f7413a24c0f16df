package fakeruntime

import (
	"time"

	"probesim.dev/sim/virtual"
)

// DelayKind names one of the Delays.
type DelayKind int

// The kinds of Delays, in the order of its fields.
const (
	DelayRunPodSandbox DelayKind = iota
	DelayStopPodSandbox
	DelayRemovePodSandbox
	DelayPodSandboxStatus
	DelayListPodSandbox
	DelayCreateContainer
	DelayStartContainer
	DelayStopContainer
	DelayRemoveContainer
	DelayListContainers
	DelayContainerStatus
	DelayImageStatus
	DelayImagePull
	DelayVolumeMount
	DelayAPIGet
	DelayAPIPatch
	DelayAPIDelete
	DelayExec
	DelayHTTPGet
	DelayTCPSocket
	DelayGRPC
	delayKinds
)

// listImages has no name in the scenario file: the kubelet lists images every 30 s and nothing waits for it.
const listImages = 800 * time.Microsecond

// DefaultDelays returns the delays of a scenario that says nothing. They are distinct and realistic on
// purpose: equal or zero delays make ties that no node has.
func DefaultDelays() Delays {
	us := func(n int) *Draw { d := Exactly(time.Duration(n) * time.Microsecond); return &d }
	ms := func(n int) *Draw { return us(1000 * n) }
	return Delays{
		RunPodSandbox: ms(211), StopPodSandbox: ms(41), RemovePodSandbox: ms(17),
		CreateContainer: ms(31), StartContainer: ms(57), StopContainer: ms(7), RemoveContainer: ms(13),
		ListPodSandbox: us(2300), ListContainers: us(3100), PodSandboxStatus: us(1300), ContainerStatus: us(1700),
		ImageStatus: us(600), ImagePull: us(0), VolumeMount: us(0),
		APIGet: us(5300), APIPatch: us(7900), APIDelete: us(6100),
		Exec: ms(20), HTTPGet: ms(9), TCPSocket: ms(2), GRPC: ms(11),
	}
}

// fields returns the delays by kind.
func (d *Delays) fields() [delayKinds]*Draw {
	return [delayKinds]*Draw{
		d.RunPodSandbox, d.StopPodSandbox, d.RemovePodSandbox, d.PodSandboxStatus, d.ListPodSandbox,
		d.CreateContainer, d.StartContainer, d.StopContainer, d.RemoveContainer,
		d.ListContainers, d.ContainerStatus, d.ImageStatus, d.ImagePull, d.VolumeMount,
		d.APIGet, d.APIPatch, d.APIDelete, d.Exec, d.HTTPGet, d.TCPSocket, d.GRPC,
	}
}

// scope is the run, a pod or a container as far as delays go: all of them, and the key of its draws.
type scope struct {
	key    key
	delays *[delayKinds]Draw // those of the next wider scope if it has none of its own; never changed
	// override has the delays that hold now instead, in every scope.
	override *[delayKinds]*Draw
}

// narrower returns the scope below s that overrides some delays.
func (s *scope) narrower(k key, override Delays) scope {
	narrow := scope{key: k, delays: s.delays, override: s.override}
	if override == (Delays{}) {
		return narrow
	}
	own := *s.delays
	for kind, d := range override.fields() {
		if d != nil {
			own[kind] = *d
		}
	}
	narrow.delays = &own
	return narrow
}

// delay draws the latency of what begins now. The time makes the draw its own: unlike a count it does
// not shift all later draws when one engine makes a call more.
func (s *scope) delay(now virtual.Time, kind DelayKind) time.Duration {
	return s.draw(now, kind, 0, s.usual(kind))
}

// usual returns the delay of a kind as it is now.
func (s *scope) usual(kind DelayKind) Draw {
	if d := s.override[kind]; d != nil {
		return *d
	}
	return s.delays[kind]
}

// SetDelays has these delays hold from now on in place of those of the run, the pods and the containers, of
// several the last. What none of them names is as it was at first. Calls under way keep their latency.
func (r *Runtime) SetDelays(list ...Delays) {
	clear(r.scope.override[:])
	for _, delays := range list {
		for kind, d := range delays.fields() {
			if d != nil {
				r.scope.override[kind] = d
			}
		}
	}
}

// draw draws a latency from d. The asker tells requests apart that begin at one instant.
func (s *scope) draw(now virtual.Time, kind DelayKind, who asker, d Draw) time.Duration {
	if d.Min != d.Max {
		return max(0, s.key.with(int64(kind)).with(int64(who)).with(int64(now)).draw(d))
	}
	return max(0, d.Min)
}

// Delay draws a latency that is not the runtime's own, such as DelayAPIGet, for something that begins
// now: of a container, of a pod if container is empty, of the run if the pod is not known.
func (r *Runtime) Delay(now virtual.Time, kind DelayKind, podUID, container string) time.Duration {
	return r.scopeOf(r.pods[podUID], container).delay(now, kind)
}

func (r *Runtime) scopeOf(p *pod, container string) *scope {
	switch {
	case p == nil:
		return &r.scope
	case container == "":
		return &p.scope
	}
	return &p.container(container).scope
}

// later returns t+d, or never if that is beyond all time.
func later(t virtual.Time, d time.Duration) virtual.Time {
	if sum := t.Add(d); d < 0 || sum >= t {
		return sum
	}
	return never
}
