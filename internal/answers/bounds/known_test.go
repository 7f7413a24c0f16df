package bounds_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/kube/profile"
)

// changed returns a probe with a delay, a timeout and a number of successes.
func changed(p *v1.Probe, delay, timeout, successes int32) *v1.Probe {
	p.InitialDelaySeconds, p.TimeoutSeconds, p.SuccessThreshold = delay, timeout, successes
	return p
}

// connects and runs return a probe with another handler.
func connects(p *v1.Probe) *v1.Probe {
	p.ProbeHandler = v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(80)}}
	return p
}

func runs(p *v1.Probe) *v1.Probe {
	p.ProbeHandler = v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check"}}}
	return p
}

// TestHardContainers draws runs of containers for which an end was too tight once, because several
// events can come at the wrong moments.
func TestHardContainers(t *testing.T) {
	typical, _ := fakeruntime.DelaySet("typical")
	for _, test := range []struct {
		name    string
		figure  figure
		version string
		c       v1.Container
		others  []v1.Container
		delays  fakeruntime.Delays
	}{
		{"the liveness probe stops the container first, but after its hook", staysReady(bounds.Hang), "v1.37",
			v1.Container{
				LivenessProbe:  changed(connects(probe(4, 5)), 0, 4, 1),
				ReadinessProbe: changed(connects(probe(8, 3)), 0, 2, 1),
				Lifecycle:      &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 10}}},
			}, nil, fakeruntime.Delays{}},
		{"a relist inspects the next instance before it starts", untilUnready(bounds.Hang), "v1.33", v1.Container{
			Image: "app", LivenessProbe: changed(probe(5, 5), 30, 5, 1),
			ReadinessProbe: changed(runs(probe(15, 6)), 0, 5, 1),
		}, nil, typical},
		{"a sync without an event comes before the end of the delay", untilReady(true, false), "v1.37", v1.Container{
			ReadinessProbe: changed(connects(probe(30, 3)), 65, 1, 1),
		}, nil, fakeruntime.Delays{}},
		{"another container starts with a long hook", untilReady(false, false), "v1.37",
			v1.Container{ReadinessProbe: probe(5, 1)}, []v1.Container{{
				Name: "slow", Image: "slow:1",
				Lifecycle: &v1.Lifecycle{PostStart: &v1.LifecycleHandler{
					Exec: &v1.ExecAction{Command: []string{"sleep", "30"}}}},
			}}, slow},
		{"another container has a readiness probe", untilReady(true, false), "v1.37",
			v1.Container{ReadinessProbe: changed(probe(30, 1), 10, 1, 1)}, []v1.Container{{
				Name: "helper", Image: "helper:1", ReadinessProbe: changed(probe(30, 1), 10, 1, 1),
			}}, slow},
		{"a restart in back-off after crashes", start(bounds.AfterCrash), "v1.37",
			v1.Container{LivenessProbe: probe(20, 3)}, nil, typical},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := web()
			test.c.Name = "app"
			if test.c.Image == "" {
				test.c.Image = "app:1"
			}
			pod.Spec.Containers = append([]v1.Container{test.c}, test.others...)
			p, _ := profile.Named(test.version)
			admitted, err := check.Admit(pod, p)
			if err != nil {
				t.Fatal(err)
			}
			b, err := admitted.Bounds("app", test.delays)
			if err != nil {
				t.Fatal(err)
			}
			s := &Subject{Admitted: admitted, Container: "app", Delays: test.delays, Bounds: b}
			one := test.figure.prover(s, 1)
			if bad := one.run(4 * *samples); bad != "" || one.runs == 0 {
				t.Errorf("%d runs: %s", one.runs, bad)
			}
		})
	}
}

// TestStaysReadyUntilAKill checks the limit of a misfortune if the liveness probe can stop the
// container before the readiness probe fails often enough. The readiness probe fails because of the
// exit then, but it is the stop that decides.
func TestStaysReadyUntilAKill(t *testing.T) {
	c := of(t, web(), fakeruntime.Delays{})
	for want, got := range map[string]bounds.Range{
		"991ms to 2.991s":  c.With(nil, probe(2, 1), changed(probe(1, 4), 0, 3, 3)).StaysReady(bounds.Stall),
		"4.991s to 8.991s": c.With(nil, probe(4, 2), changed(probe(2, 5), 0, 4, 1)).StaysReady(bounds.Stall),
		// a run that has begun during a hang fails after it
		"3s to 4s": c.With(nil, changed(probe(1, 2), 0, 3, 1), probe(2, 3)).StaysReady(bounds.Hang),
	} {
		if text := got.Least.Round(time.Millisecond).String() + " to " +
			got.Greatest.Round(time.Millisecond).String(); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

// Two probes that look at a new container at one tick have a result each. The kubelet keeps only
// the newest update of a pod for a worker that has not begun with the one before (UpdatePod in
// pkg/kubelet/pod_workers.go at v1.37.0). So the order of events at this instant decides whether
// the results lead to one sync or to two. The second one waits for a relist, and then the sync for
// the success of the startup probe waits for another one. Both orders are common: the real kubelet
// had each about half of the time in 40 runs on a busy machine.
func TestTwoResultsAtOneTick(t *testing.T) {
	pod := web()
	pod.Spec.Containers[0].LivenessProbe = nil
	pod.Spec.Containers[0].StartupProbe, pod.Spec.Containers[0].ReadinessProbe = runs(probe(1, 3)), runs(probe(1, 3))
	admitted, err := check.Admit(pod, profile.V1_37)
	if err != nil {
		t.Fatal(err)
	}
	ms := func(n time.Duration) *fakeruntime.Draw { return new(fakeruntime.Exactly(n * time.Millisecond)) }
	delays := fakeruntime.Delays{
		RunPodSandbox: ms(100), CreateContainer: ms(252), StartContainer: ms(300), Exec: ms(200), APIGet: ms(30),
		APIPatch:       ms(50),
		ListPodSandbox: ms(30), ListContainers: ms(30), PodSandboxStatus: ms(30), ContainerStatus: ms(30),
	}
	b, err := admitted.Bounds("app", delays)
	if err != nil {
		t.Fatal(err)
	}
	s := &Subject{Admitted: admitted, Container: "app", Delays: delays, Bounds: b}
	f := untilReady(false, false)
	times := map[time.Duration]int{}
	for seed := range int64(40) {
		c := s.UpAt(1001 * time.Millisecond)
		c.Uptime, c.Delays, c.Seed = 3337*time.Millisecond, delays, seed
		m, err := f.Measure(s, &c)
		if err != nil {
			t.Fatal(err)
		}
		times[m.Value]++
	}
	if got := slices.Sorted(maps.Keys(times)); !slices.Equal(got,
		[]time.Duration{1479 * time.Millisecond, 2279 * time.Millisecond}) {
		t.Errorf("the container becomes ready after %v, want 1.479s and 2.279s", times)
	}
}
