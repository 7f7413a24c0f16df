package compare

import (
	"errors"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/bounds"
	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/realkubelet"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// TestWitnesses checks that the limits of package bounds are those of the real kubelet. A misfortune that ends 0.1 ms before a limit
// has no effect in the trace of the real kubelet, and one that ends 0.1 ms after it has.
func TestWitnesses(t *testing.T) {
	p, _ := profile.Named(release.Version)
	nodes, _ := fakeruntime.DelaySet("typical")
	for i := range 20 {
		s, err := bounds.NewSubject(podOf(i), "app", p)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("pod-%d", i)
		start, err := s.Start(bounds.Nodes{Delays: nodes, Middle: true}, bounds.FirstInstance)
		if err != nil {
			t.Fatal(err)
		}
		stall, err := s.Survives(bounds.Nodes{Delays: nodes, Middle: true}, bounds.Stall)
		if err != nil {
			t.Fatal(err)
		}
		both := 0
		for end, c := range map[string]bounds.Case{
			"start-always": start.AtLeast, "start-never": start.AtGreatest, "stall-always": stall.AtLeast, "stall-never": stall.AtGreatest,
		} {
			witnesses, err := s.Witnesses(name+"-"+end, c)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range witnesses {
				both++
				if err := runWitness(t, w); err != nil {
					t.Errorf("%s: %s: %v", w.Name, w.Outcome, err)
				}
			}
		}
		if both != 8 {
			t.Errorf("%s has %d witnesses, want two at each of four ends", name, both)
		}
	}
}

// TestWitnessesOfReadiness checks that the real kubelet makes a container ready, or not ready, at the time of the runs that are closest to the
// ends of these times. Ends that need an unusual order of events at one instant are left out.
func TestWitnessesOfReadiness(t *testing.T) {
	p, _ := profile.Named(release.Version)
	typical, _ := fakeruntime.DelaySet("typical")
	nodes := bounds.Nodes{Delays: typical}
	ran, others := 0, 0
	for i := range 20 {
		s, err := bounds.NewSubject(podOf(i), "app", p)
		if err != nil {
			t.Fatal(err)
		}
		for name, ask := range map[string]func() (bounds.Bound, error){
			"ready-at-once": func() (bounds.Bound, error) { return s.UntilReady(nodes, true) },
			"ready-later":   func() (bounds.Bound, error) { return s.UntilReady(nodes, false) },
			"unready":       func() (bounds.Bound, error) { return s.UntilUnready(nodes, bounds.Refuse) },
		} {
			b, err := ask()
			if err != nil {
				t.Fatal(err)
			}
			for end, c := range map[string]bounds.Case{"best": b.AtLeast, "worst": b.AtGreatest} {
				if c.Order() != "" {
					continue
				}
				witnesses, err := s.Witnesses(fmt.Sprintf("pod-%d-%s-%s", i, name, end), c)
				if err != nil {
					t.Errorf("pod-%d-%s-%s: %v", i, name, end, err)
				}
				for _, w := range witnesses {
					ran++
					err := runWitness(t, w)
					if errors.Is(err, errOtherOrder) {
						others++
						t.Logf("%s: %s: %v", w.Name, w.Outcome, err)
					} else if err != nil {
						t.Errorf("%s: %s: %v", w.Name, w.Outcome, err)
					}
				}
			}
		}
	}
	if t.Logf("%d witnesses", ran); ran < 100 || others > mostOtherOrders {
		t.Errorf("want at least 100, and at most %d with another order, not %d", mostOtherOrders, others)
	}
}

// mostOtherOrders is the number of witnesses for which the real kubelet may always take another order of two results at one tick. The kubelet then
// draws another number of jitters before the sync without an event that the witness needs.
const mostOtherOrders = 2

// errOtherOrder says that the simulator makes the trace of the real kubelet, in another order of events at one instant, with another outcome.
var errOtherOrder = errors.New("the real kubelet takes another order of events")

// TestWitnessesOfBackOff checks on the real kubelet that a start after a back-off can have less time than the first restart. After a crash, the
// failures before it count. After a liveness kill, the kubelet carries over nothing, so the startup probe does not lose its first run.
func TestWitnessesOfBackOff(t *testing.T) {
	p, _ := profile.Named(release.Version)
	typical, _ := fakeruntime.DelaySet("typical")
	nodes := bounds.Nodes{Delays: typical}
	for _, test := range []struct {
		name  string
		which bounds.StartCase
		most  time.Duration // that a start may take
		pod   *v1.Pod
	}{
		{"crash", bounds.AfterCrash, 30 * time.Second, changed(podOf(1), func(c *v1.Container) {
			c.StartupProbe = nil
			c.LivenessProbe.PeriodSeconds, c.LivenessProbe.FailureThreshold = 20, 3
		})},
		{"kill", bounds.AfterLivenessKill, 11 * time.Second, changed(podOf(1), func(c *v1.Container) {
			c.StartupProbe = c.LivenessProbe.DeepCopy()
			c.StartupProbe.PeriodSeconds, c.StartupProbe.FailureThreshold = 5, 3
			c.LivenessProbe.PeriodSeconds, c.LivenessProbe.FailureThreshold = 10, 3
		})},
	} {
		s, err := bounds.NewSubject(test.pod, "app", p)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Start(nodes, test.which)
		if err != nil || b.AtLeast.Instance < 2 || b.LeastShown() > test.most {
			t.Fatalf("%s: instance %d may take %v to start, error %v; want less than %v after two or more", test.name, b.AtLeast.Instance, b.LeastShown(), err, test.most)
		}
		witnesses, err := s.Witnesses("back-off-"+test.name, b.AtLeast)
		if err != nil || len(witnesses) != 2 {
			t.Fatalf("%s: %d witnesses, error %v", test.name, len(witnesses), err)
		}
		for _, w := range witnesses {
			if err := runWitness(t, w); err != nil {
				t.Errorf("%s: %s: %v", w.Name, w.Outcome, err)
			}
		}
	}
}

// TestWitnessesOfGRPC checks on the real kubelet that a program is in time if it comes up before the last connection of a gRPC probe, which connects
// again until its timeout.
func TestWitnessesOfGRPC(t *testing.T) {
	p, _ := profile.Named(release.Version)
	typical, _ := fakeruntime.DelaySet("typical")
	for _, timeout := range []int32{1, 2, 4, 8} {
		s, err := bounds.NewSubject(changed(podOf(1), func(c *v1.Container) {
			c.StartupProbe = nil
			c.LivenessProbe.ProbeHandler = v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 80}}
			c.LivenessProbe.PeriodSeconds, c.LivenessProbe.FailureThreshold, c.LivenessProbe.TimeoutSeconds = 10, 3, timeout
		}), "app", p)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Start(bounds.Nodes{Delays: typical, Middle: true}, bounds.FirstInstance)
		if err != nil {
			t.Fatal(err)
		}
		for end, c := range map[string]bounds.Case{"always": b.AtLeast, "never": b.AtGreatest} {
			witnesses, err := s.Witnesses(fmt.Sprintf("grpc-%d-%s", timeout, end), c)
			if err != nil || len(witnesses) != 2 {
				t.Fatalf("timeout %d s: %d witnesses, error %v", timeout, len(witnesses), err)
			}
			for _, w := range witnesses {
				if err := runWitness(t, w); err != nil {
					t.Errorf("%s: %s: %v", w.Name, w.Outcome, err)
				}
			}
		}
	}
}

// changed returns a pod without a readiness probe, whose container a function has changed.
func changed(pod *v1.Pod, change func(*v1.Container)) *v1.Pod {
	c := &pod.Spec.Containers[0]
	c.ReadinessProbe = nil
	change(c)
	return pod
}

// witnessTries is the number of runs in which a witness must succeed once. The real kubelet has races with two common outcomes, of which a witness
// shows one: two results of probes at one instant lead to one sync or to two (TestTwoResultsAtOneTick in package bounds).
const witnessTries = 12

// runWitness runs a witness on the real kubelet, and checks its expectation in this trace.
func runWitness(t *testing.T, w bounds.Witness) error {
	loaded, err := scenarios.LoadBytes(w.Name+".yaml", w.File, nil)
	if err != nil {
		return err
	}
	if loaded[0].StepsClock() && !realkubelet.ClockSteps {
		t.Logf("%s: %v", w.Name, realkubelet.ErrStepClock)
		return nil
	}
	for range witnessTries {
		err = func() error {
			plan := loaded[0].Plans()[0]
			o, err := Plan(t, plan, Options{})
			switch {
			case err != nil:
				return err
			case !o.Equal():
				return errors.New(o.Text())
			}
			if err := checkExpectations(plan, o); err != nil {
				return fmt.Errorf("%w: %w", errOtherOrder, err)
			}
			return nil
		}()
		if err == nil {
			return nil
		}
	}
	return err
}

// podOf returns one of several pods with different probes.
func podOf(i int) *v1.Pod {
	probe := func(period, threshold int) *v1.Probe {
		p := &v1.Probe{PeriodSeconds: int32(period), FailureThreshold: int32(threshold), TimeoutSeconds: 1}
		if i%3 == 0 {
			p.Exec = &v1.ExecAction{Command: []string{"check"}}
		} else {
			p.HTTPGet = &v1.HTTPGetAction{Port: intstr.FromInt32(80)}
		}
		return p
	}
	c := v1.Container{
		Name: "app", Image: "app:1",
		LivenessProbe:  probe(2+i%6, 1+i%4),
		ReadinessProbe: probe(1+i%5, 1+i%2),
	}
	if i%2 == 0 {
		c.StartupProbe = probe(1+i%4, 3+i%5)
	}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{c}}}
}
