package soak

import (
	"testing"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

const second = virtual.Time(1e9)

// start returns records that obey all rules: a pod whose container "c" runs and is probed.
func start() []trace.Record {
	return []trace.Record{
		{Kind: trace.PodAdded, Pod: "default/a"},
		{Kind: trace.ContainerStarted, Pod: "default/a", Container: "c", T: second, Cause: 1},
		{Kind: trace.StatusPatched, Pod: "default/a", T: second, Status: running},
		{Kind: trace.ProbeExecuted, Pod: "default/a", Container: "c", T: 2 * second, Probe: trace.Liveness,
			Result: trace.Success},
	}
}

var running = &trace.PodStatus{Phase: "Running", Containers: []trace.ContainerStatus{{Name: "c", State: "running"}}}

func TestChecker(t *testing.T) {
	for _, test := range []struct {
		rule    string // "": no rule is broken
		records []trace.Record
	}{
		{"", nil},
		{"virtual time does not go back", []trace.Record{{Kind: trace.Step, T: second}}},
		{"a cause is an earlier record", []trace.Record{{Kind: trace.Step, Cause: 5}}},
		{"a cause is an earlier record", []trace.Record{{Kind: trace.Step, Cause: -1}}},
		{"steps number the records without gaps", []trace.Record{{Kind: trace.Step, Step: 7}}},
		{"a duration is not negative", []trace.Record{{Kind: trace.CRICall, Took: -1}}},
		{"a grace period is not negative",
			[]trace.Record{{Kind: trace.ContainerStopping, Pod: "default/a", Container: "c", GraceSeconds: -1}}},
		{"an exit code is between 0 and 255",
			[]trace.Record{{Kind: trace.ContainerExited, Pod: "default/a", Container: "c", ExitCode: 256}}},
		{"instances count from 0", []trace.Record{{Kind: trace.Event, Pod: "default/a", Container: "c", Instance: -1}}},
		{"a container belongs to a pod", []trace.Record{{Kind: trace.Event, Container: "c"}}},
		{"a probe run has a type and a result",
			[]trace.Record{{Kind: trace.ProbeExecuted, Pod: "default/a", Container: "c"}}},

		{"a stopped kubelet does nothing",
			[]trace.Record{{Kind: trace.KubeletStopped}, {Kind: trace.Event, Pod: "default/a"}}},
		{"the kubelet stops once", []trace.Record{{Kind: trace.KubeletStopped}, {Kind: trace.KubeletStopped}}},
		{"only a stopped kubelet starts", []trace.Record{{Kind: trace.KubeletStarted}}},
		{"", []trace.Record{{Kind: trace.KubeletStopped}, {Kind: trace.KubeletStarted},
			{Kind: trace.Event, Pod: "default/a"}}},

		{"a pod is added once", []trace.Record{{Kind: trace.PodAdded, Pod: "default/a"}}},
		{"only a pod that the API server has can be deleted",
			[]trace.Record{{Kind: trace.PodDeleteRequested, Pod: "default/b"}}},
		{"only a pod that the API server has can be removed",
			[]trace.Record{{Kind: trace.PodRemoved, Pod: "default/b"}}},
		{"only a pod that the API server has gets a status",
			[]trace.Record{{Kind: trace.PodRemoved, Pod: "default/a"}, {Kind: trace.StatusPatched, Pod: "default/a"}}},
		{"a pod has a " +
			"phase", []trace.Record{{Kind: trace.StatusPatched, Pod: "default/a", Status: &trace.PodStatus{}}}},
		{"a pod is Ready only if its containers are",
			[]trace.Record{{Kind: trace.StatusPatched, Pod: "default/a",
				Status: &trace.PodStatus{Phase: "Running", Ready: true}}}},
		{"a container has a " +
			"state", []trace.Record{{Kind: trace.StatusPatched, Pod: "default/a",
			Status: &trace.PodStatus{Phase: "Running", Containers: []trace.ContainerStatus{{}}}}}},

		{"a container runs once at a time",
			[]trace.Record{{Kind: trace.ContainerStarted, Pod: "default/a", Container: "c", Instance: 1}}},
		{"each start of a container has a new instance", []trace.Record{
			{Kind: trace.ContainerExited, Pod: "default/a", Container: "c"},
			{Kind: trace.ContainerStarted, Pod: "default/a", Container: "c"},
		}},
		{"only a running container is stopped",
			[]trace.Record{{Kind: trace.ContainerStopping, Pod: "default/a", Container: "c", Instance: 1}}},
		{"only a running container exits", []trace.Record{
			{Kind: trace.ContainerExited, Pod: "default/a", Container: "c"},
			{Kind: trace.ContainerExited, Pod: "default/a", Container: "c"},
		}},
		{"only a container that has started is probed", []trace.Record{
			{Kind: trace.ProbeExecuted, Pod: "default/a", Container: "c", Instance: 1, Probe: trace.Liveness,
				Result: trace.Success},
		}},
		{"", []trace.Record{ // a pod with the name of one that is gone
			{Kind: trace.PodRemoved, Pod: "default/a"}, {Kind: trace.PodAdded, Pod: "default/a"},
			{Kind: trace.ContainerStarted, Pod: "default/a", Container: "c"},
			{Kind: trace.StatusPatched, Pod: "default/a", Status: running},
		}},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got := broken(append(start(), test.records...))
			if got != test.rule {
				t.Errorf("the broken rule is %q", got)
			}
		})
	}
}

// broken returns the first rule that the records break. A record without a step or a time has the
// next ones.
func broken(records []trace.Record) string {
	var c checker
	for i, r := range records {
		if r.Step == 0 {
			r.Step = int64(i) + 1
		}
		if r.T == 0 && i > 0 {
			r.T = 3 * second
		}
		c.check(&r)
	}
	if list, _ := c.violations(); len(list) > 0 {
		return list[0].Rule
	}
	return ""
}

func TestCheckerKeepsTheFirstViolations(t *testing.T) {
	var c checker
	for range 25 {
		c.check(&trace.Record{Kind: trace.Step, Step: 7})
	}
	if list, more := c.violations(); len(list) != 20 || more != 5 {
		t.Errorf("the checker kept %d violations and counted %d more", len(list), more)
	}
}
