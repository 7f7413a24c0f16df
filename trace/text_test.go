package trace

import (
	"testing"
	"time"

	"probesim.dev/sim/virtual"
)

func TestFormatTime(t *testing.T) {
	for in, want := range map[virtual.Time]string{
		0:                                    "0.000s",
		virtual.At(-1500 * time.Millisecond): "-1.500s",
		virtual.At(85027 * time.Millisecond): "85.027s",
		virtual.At(10*time.Minute - time.Nanosecond):    "10m00.000s",
		virtual.At(12*time.Minute + 3*time.Second):      "12m03.000s",
		virtual.At(25*time.Hour + 61*time.Second + 1e6): "25h01m01.001s",
	} {
		if got := FormatTime(in); got != want {
			t.Errorf("%d: got %s, want %s", in, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	for _, test := range []struct {
		rec           Record
		subject, want string
	}{
		{Record{Kind: KubeletStopped}, "node", "KubeletStopped"},
		{Record{Kind: PodAdded, Pod: "default/web"}, "web", "PodAdded"},
		{Record{Kind: ContainerStopping, Pod: "shop/web", Container: "app", Instance: 2, GraceSeconds: 30,
			Reason: "LivenessProbe"},
			"shop/web/app#2", "ContainerStopping LivenessProbe grace 30s"},
		{Record{Kind: ContainerExited, Pod: "default/web", Container: "app", ExitCode: 137}, "web/app#0",
			"ContainerExited exit code 137"},
		{Record{Kind: ProbeExecuted, Pod: "default/web", Container: "app", Probe: Readiness, Result: Failure,
			Message: "no\n\x1b[2J", Took: 20 * time.Millisecond},
			"web/app#0", `ProbeExecuted readiness failure "no\n\x1b[2J" took 20ms`},
		{Record{Kind: Event, Pod: "default/we\x1bb", Type: "Normal", Reason: "Killing"}, `we\x1bb`,
			"Event Normal Killing"},
		{Record{Kind: StatusPatched, Pod: "default/web",
			Status: &PodStatus{Phase: "Running", Initialized: true, Containers: []ContainerStatus{
				{Name: "app", State: "waiting", Reason: "CrashLoopBackOff", RestartCount: 1},
				{Name: "b", State: "terminated", ExitCode: 2, Started: true}}}}, "web",
			"StatusPatched Running not-ready [app waiting CrashLoopBackOff not-started not-ready restarts 1] [b " +
				"terminated exit code 2 started not-ready restarts 0]"},
		{Record{Kind: BackOff, Pod: "default/web", Container: "app", Took: 40 * time.Second}, "web/app#0",
			"BackOff 40s"},
	} {
		if got := test.rec.Subject(); got != test.subject {
			t.Errorf("got subject %q, want %q", got, test.subject)
		}
		if got := test.rec.Summary(); got != test.want {
			t.Errorf("\n got %s\nwant %s", got, test.want)
		}
	}
}
