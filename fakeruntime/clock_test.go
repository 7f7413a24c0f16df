package fakeruntime

import (
	"fmt"
	"testing"
	"time"

	"probesim.dev/sim/virtual"
)

// TestStepClock: what the runtime tells of times follows the wall clock as it was then, and the order of containers
// follows what it tells. Nothing else goes by that clock.
func TestStepClock(t *testing.T) {
	rt := New(Options{})
	rt.AddPod(Pod{UID: "u", Name: "p"})
	first, now := startContainer(t, rt, "u", "c")
	rt.StepClock(virtual.At(now), -time.Hour)
	if got := rt.Wall(virtual.At(now)); got != virtual.Wall(now-time.Hour) {
		t.Errorf("the wall clock says %v at %v", got, now)
	}
	rt.Kill(virtual.At(now), Kill{PodUID: "u", Container: "c"})
	op := do(t, rt, now, Call{Method: CreateContainer, SandboxID: "u_0", Name: "c", Attempt: 1})
	listed := do(t, rt, op.End.Offset(), Call{Method: ListContainers}).Containers
	if len(listed) != 2 || listed[0].ID != first || listed[0].FinishedAt != virtual.Wall(now-time.Hour) || listed[0].StartedAt != virtual.Wall(now) {
		t.Errorf("killed at %v, after the step: %+v", now, listed)
	}
	if c := listed[1]; c.ID != op.ID || c.CreatedAt != virtual.Wall(op.End).Add(-time.Hour) {
		t.Errorf("created at %v: %+v", op.End, c)
	}
}

// TestStepClockWhileOff: the runtime tells when it found that a container had ended, by the clock that it had then.
func TestStepClockWhileOff(t *testing.T) {
	rt := New(Options{})
	rt.AddPod(Pod{UID: "u", Name: "p"})
	id, now := startContainer(t, rt, "u", "c")
	rt.PowerOff(virtual.At(now), virtual.At(now+time.Minute), 0)
	rt.StepClock(virtual.At(now+time.Second), -time.Hour)
	rt.StepClock(virtual.At(now+2*time.Minute), -time.Hour)
	op := do(t, rt, now+2*time.Minute, Call{Method: ContainerStatus, ContainerID: id})
	if got := op.Containers[0].FinishedAt; got != virtual.Wall(now+time.Minute-time.Hour) {
		t.Errorf("found at %v, told as %v", now+time.Minute, got)
	}
}

// TestNamesAreReserved: there is one sandbox and one container of a name and an attempt until it is removed.
func TestNamesAreReserved(t *testing.T) {
	rt := New(Options{})
	rt.AddPod(Pod{UID: "u", Namespace: "ns", Name: "p"})
	id, now := startContainer(t, rt, "u", "c")
	for _, test := range []struct {
		call Call
		want string
	}{
		{Call{Method: CreateContainer, SandboxID: "u_0", Name: "c"}, `failed to reserve container name "c_p_ns_u_0": name "c_p_ns_u_0" is reserved for "` + id + `"`},
		{Call{Method: CreateContainer, SandboxID: "u_0", Name: "c", Attempt: 1}, ""},
		{Call{Method: RunPodSandbox, PodUID: "u"}, `failed to reserve sandbox name "p_ns_u_0": name "p_ns_u_0" is reserved for "u_0"`},
		{Call{Method: RemovePodSandbox, SandboxID: "u_0"}, ""},
		{Call{Method: RunPodSandbox, PodUID: "u"}, ""},
	} {
		op := rt.Submit(virtual.At(now), test.call)
		now += time.Minute
		rt.Advance(virtual.At(now))
		got := ""
		if op.Err != nil {
			got = Description(op.Err)
		}
		if got != test.want {
			t.Errorf("%s: %s; want %s", test.call.Method, fmt.Sprint(op.Err), test.want)
		}
	}
}
