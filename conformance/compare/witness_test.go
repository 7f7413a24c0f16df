package compare

import (
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/check"
	"probesim.dev/check/witness"
	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/realkubelet"
	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// rowsWithWitness are the rows of which the tests find runs.
var rowsWithWitness = []check.RowID{check.Start, check.Restart, check.Retry, check.Stall, check.Silence, check.Serving, check.Ready, check.Unready, check.Detect}

// TestWitnesses checks that the runs which come close to the rows of a check are those of the real kubelet. A misfortune that ends 0.1 ms before a limit
// has no effect in the trace of the real kubelet, and one that ends 0.1 ms after it has.
func TestWitnesses(t *testing.T) {
	ran, others := 0, 0
	for i := range 12 {
		for _, row := range rowsWithWitness {
			w, err := witnessOf(t, podOf(i), fmt.Sprintf("pod-%d", i), row)
			if err != nil {
				t.Logf("pod-%d, %s: %v", i, row, err)
				continue
			}
			for _, f := range w.Files {
				ran++
				err := runWitness(t, f)
				if errors.Is(err, errOtherOrder) {
					others++
					t.Logf("%s: %s: %v", f.Name, f.Outcome, err)
				} else if err != nil {
					t.Errorf("%s: %s: %v", f.Name, f.Outcome, err)
				}
			}
		}
	}
	if t.Logf("%d witnesses", ran); ran < 100 || others > mostOtherOrders {
		t.Errorf("want at least 100, and at most %d with another order, not %d", mostOtherOrders, others)
	}
}

// witnessOf finds the run that comes close to a row of the container of a pod on typical nodes.
func witnessOf(t *testing.T, pod *v1.Pod, name string, row check.RowID) (*witness.Witness, error) {
	t.Helper()
	p, _ := profile.Named(release.Version)
	typical, _ := fakeruntime.DelaySet("typical")
	admitted, err := check.Admit(pod, p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := admitted.Bounds("app", typical)
	if err != nil {
		t.Fatal(err)
	}
	return witness.Find(t.Context(), &check.Target{
		Name: name + "/" + string(row), File: name + "-" + string(row), Row: row, Container: "app", Admitted: admitted, Delays: typical, Bounds: b,
	})
}

// mostOtherOrders is the number of witnesses for which the real kubelet may always take another order of two results at one tick. The kubelet then
// draws another number of jitters before the sync without an event that the witness needs.
const mostOtherOrders = 2

// errOtherOrder says that the simulator makes the trace of the real kubelet, in another order of events at one instant, with another outcome.
var errOtherOrder = errors.New("the real kubelet takes another order of events")

// TestWitnessesOfGRPC checks on the real kubelet that a program is in time if it comes up before the last connection of a gRPC probe, which connects
// again until its timeout.
func TestWitnessesOfGRPC(t *testing.T) {
	for _, timeout := range []int32{1, 2, 4, 8} {
		w, err := witnessOf(t, changed(podOf(1), func(c *v1.Container) {
			c.StartupProbe = nil
			c.LivenessProbe.ProbeHandler = v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 80}}
			c.LivenessProbe.PeriodSeconds, c.LivenessProbe.FailureThreshold, c.LivenessProbe.TimeoutSeconds = 10, 3, timeout
		}), fmt.Sprintf("grpc-%d", timeout), check.Start)
		if err != nil || len(w.Files) != 2 {
			t.Fatalf("timeout %d s: %+v, error %v", timeout, w, err)
		}
		for _, f := range w.Files {
			if err := runWitness(t, f); err != nil {
				t.Errorf("%s: %s: %v", f.Name, f.Outcome, err)
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
// shows one: two results of probes at one instant lead to one sync or to two.
const witnessTries = 12

// runWitness runs a witness on the real kubelet, and checks its expectation in this trace.
func runWitness(t *testing.T, w witness.File) error {
	loaded, err := scenarios.LoadBytes(w.Name+".yaml", w.Data, nil)
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
