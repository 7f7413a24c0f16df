package prober_test

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/kube/profile"
	"probesim.dev/prober"
	"probesim.dev/prober/results"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/status"
	"probesim.dev/trace"
)

// container is a running container, whose liveness command fails from 20 s on. It stands for all
// that surrounds a prober: the stored status, the runtime and the recorder of events.
type container struct{ status v1.PodStatus }

func (c *container) Snapshot(types.UID) (*status.Snapshot, bool) {
	return &status.Snapshot{Status: &c.status}, true
}

func (c *container) RunInContainer(p *sim.Proc, _ prober.Command) prober.Output {
	p.Sleep(10 * time.Millisecond)
	if p.Now() < virtual.At(20*time.Second) {
		return prober.Output{}
	}
	return prober.Output{Text: "deadlock", ExitCode: 1}
}

func (c *container) Connect(*sim.Proc, prober.Connection) prober.Reply {
	return prober.Reply{Refused: true} // the program has no listener
}

func (c *container) ContainerEvent(_ *v1.Pod, _, eventType, reason, message string) int64 {
	fmt.Println("event", eventType, reason, message)
	return 0
}

// A worker probes a container every 10 s. After three failures in a row, the result changes, which
// makes the sync loop of a kubelet restart the container. The kubelet has just started, so the
// worker first waits for a part of its period.
func ExampleManager() {
	kernel := sim.New(sim.Options{})
	defer kernel.Close()
	epoch := time.Unix(0, 0)
	app := &container{v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{{
		Name: "app", ContainerID: "c1", Started: new(true),
		State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(epoch)}},
	}}}}
	recorder := &trace.Recorder{}
	of := func(t trace.Probe) *results.Manager { return results.NewManager(kernel, t, recorder) }
	stored := prober.Results{Liveness: of(trace.Liveness), Readiness: of(trace.Readiness), Startup: of(trace.Startup)}
	m := prober.NewManager(prober.Options{
		Sim: kernel, Trace: recorder, Profile: profile.Newest(),
		Now:    func() time.Time { return epoch.Add(kernel.Now().Offset()) },
		Status: app, Runner: app, Network: app, Events: app, Results: stored,
		Instance: func(string) int { return 0 }, Step: func(string) int64 { return 0 },
	})
	kernel.Go("sync loop", func(p *sim.Proc) {
		for {
			u := stored.Liveness.Updates().Recv(p)
			fmt.Println(p.Now(), "the liveness of", u.ContainerID, "is", u.Result)
		}
	})
	kernel.Go("pod worker", func(p *sim.Proc) {
		m.ReconcilePod(p, &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"},
			Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", LivenessProbe: &v1.Probe{
				ProbeHandler:  v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"healthy"}}},
				PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
			}}}},
		})
	})
	if err := kernel.RunUntil(virtual.At(time.Minute)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 5s the liveness of c1 is Success
	// event Warning Unhealthy Liveness probe failed: deadlock
	// event Warning Unhealthy Liveness probe failed: deadlock
	// event Warning Unhealthy Liveness probe failed: deadlock
	// 45.01s the liveness of c1 is Failure
}
