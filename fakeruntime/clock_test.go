package fakeruntime

import (
	"fmt"
	"testing"
	"time"

	"probesim.dev/sim/virtual"
)

// Timestamps follow the wall clock at their time, and the order of containers follows the
// timestamps. Nothing else depends on the wall clock.
func TestStepClock(t *testing.T) {
	rt := New(Options{})
	rt.AddPod(Pod{UID: "u", Name: "p"})
	first, now := startContainer(t, rt, "u", "c")
	rt.StepClock(now, -time.Hour)
	if got := rt.Wall(now); got != virtual.Wall(now).Add(-time.Hour) {
		t.Errorf("the wall clock shows %v at %v", got, now)
	}
	rt.Kill(now, Kill{PodUID: "u", Container: "c"})
	op := do(t, rt, now, Call{Method: CreateContainer, SandboxID: "u_0", Name: "c", Attempt: 1})
	listed := do(t, rt, op.End, Call{Method: ListContainers}).Containers
	if len(listed) != 2 || listed[0].ID != first || listed[0].FinishedAt != virtual.Wall(now).Add(-time.Hour) ||
		listed[0].StartedAt != virtual.Wall(now) {
		t.Errorf("killed at %v, after the step: %+v", now, listed)
	}
	if c := listed[1]; c.ID != op.ID || c.CreatedAt != virtual.Wall(op.End).Add(-time.Hour) {
		t.Errorf("created at %v: %+v", op.End, c)
	}
}

// A container that ends during a power-off has the finish time at which the runtime found its end,
// on the wall clock at that time.
func TestStepClockWhileOff(t *testing.T) {
	rt := New(Options{})
	rt.AddPod(Pod{UID: "u", Name: "p"})
	id, now := startContainer(t, rt, "u", "c")
	rt.PowerOff(now, now.Add(time.Minute), 0)
	rt.StepClock(now.Add(time.Second), -time.Hour)
	rt.StepClock(now.Add(2*time.Minute), -time.Hour)
	op := do(t, rt, now.Add(2*time.Minute), Call{Method: ContainerStatus, ContainerID: id})
	if got := op.Containers[0].FinishedAt; got != virtual.Wall(now).Add(time.Minute-time.Hour) {
		t.Errorf("found at %v, reported as %v", now.Add(time.Minute), got)
	}
}

// The name and attempt of a sandbox or container stay reserved until its removal.
func TestReservedNames(t *testing.T) {
	rt := New(Options{})
	rt.AddPod(Pod{UID: "u", Namespace: "ns", Name: "p"})
	id, now := startContainer(t, rt, "u", "c")
	for _, test := range []struct {
		call Call
		want string
	}{
		{Call{Method: CreateContainer, SandboxID: "u_0", Name: "c"},
			`failed to reserve container name "c_p_ns_u_0": name "c_p_ns_u_0" is reserved for "` + id + `"`},
		{Call{Method: CreateContainer, SandboxID: "u_0", Name: "c", Attempt: 1}, ""},
		{Call{Method: RunPodSandbox, PodUID: "u"},
			`failed to reserve sandbox name "p_ns_u_0": name "p_ns_u_0" is reserved for "u_0"`},
		{Call{Method: RemovePodSandbox, SandboxID: "u_0"}, ""},
		{Call{Method: RunPodSandbox, PodUID: "u"}, ""},
	} {
		op := rt.Submit(now, test.call)
		now = now.Add(time.Minute)
		rt.Advance(now)
		got := ""
		if op.Err != nil {
			got = Description(op.Err)
		}
		if got != test.want {
			t.Errorf("%s: %s; want %s", test.call.Method, fmt.Sprint(op.Err), test.want)
		}
	}
}
