// Package witness checks on the real kubelet the runs that come close to the ends of the rows of a
// check. The ends are computed (package bounds); a run only shows them.
//
// A [Case] is one node and one program on it: the latencies, the phases of the kubelet and of the
// events, and a seed for what the kubelet leaves open. A [Figure] says how to draw cases and what
// to read from their runs. A search draws some hundred cases, and goes on around the closest one.
// The tests of package bounds have the same cases and figures.
package witness

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/conformance/compare"
	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/realkubelet"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/kube/profile"
	"probesim.dev/kubelet"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// rowsWithWitness are the rows of which the tests find runs. The cases of a row are those on a
// kubelet that is older than the periods of the probes: a young kubelet draws the delays before the
// first runs of its probe workers, which no test can choose.
var rowsWithWitness = []struct{ row, of string }{
	{"start", string(bounds.FirstInstance)}, {"restart", ""}, {"retry", ""}, {"stall", ""}, {"silence", ""},
	{"serving", ""},
	{"ready", check.UpAtOnce}, {"ready", "up later"}, {"unready", ""}, {"detect", ""},
}

// TestWitnesses checks that the runs which come close to the rows of a check are those of the real
// kubelet. A misfortune that ends 0.1 ms before a limit has no effect in the trace of the real
// kubelet, and one that ends 0.1 ms after it has. Of a run that needs an unusual order of events at
// one instant, it only checks that the simulator explains what the real kubelet does.
func TestWitnesses(t *testing.T) {
	ran, others, unusual := 0, 0, 0
	for i := range 12 {
		for _, r := range rowsWithWitness {
			w, err := witnessOf(t, podOf(i), fmt.Sprintf("pod-%d", i), check.RowID(r.row), r.of)
			if err != nil {
				t.Logf("pod-%d, %s %s: %v", i, r.row, r.of, err)
				continue
			}
			for _, f := range w.Files {
				ran++
				switch err := runWitness(t, f); {
				case err == nil:
				case errors.Is(err, errUnusualOrder):
					unusual++
				case errors.Is(err, errOtherOrder):
					others++
					t.Logf("%s: %s: %v", f.Name, f.Outcome, err)
				default:
					t.Errorf("%s: %s: %v", f.Name, f.Outcome, err)
				}
			}
		}
	}
	t.Logf("%d witnesses, of which %d need an unusual order, and %d had another one each time", ran, unusual, others)
	if ran-unusual < 100 || others > mostOtherOrders {
		t.Errorf("want at least 100 without an unusual order, and at most %d with another one each time",
			mostOtherOrders)
	}
}

// witnessOf finds the run that comes close to a case of a row of the container of a pod on typical
// nodes.
func witnessOf(t *testing.T, pod *v1.Pod, name string, row check.RowID, of string) (*Witness, error) {
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
	return Find(t.Context(), &Target{name + "-" + string(row), row, of, &Subject{admitted, "app", typical, b}})
}

// mostOtherOrders is the number of witnesses for which the real kubelet may always take another
// order of two results at one tick. The kubelet then draws another number of jitters before the
// sync without an event that the witness needs.
const mostOtherOrders = 2

// errOtherOrder says that the simulator makes the trace of the real kubelet, in another order of
// events at one instant, with another outcome.
var errOtherOrder = errors.New("the real kubelet takes another order of events")

// errUnusualOrder says the same of a witness that needs an order which the real kubelet rarely
// takes: with the canonical order, the simulator has another outcome too.
var errUnusualOrder = errors.New("the run needs an unusual order of events")

// TestWitnessesOfGRPC checks on the real kubelet that a program is in time if it comes up before
// the last connection of a gRPC probe, which connects again until its timeout. The real client
// waits for the middle time between two connections, so the limit is the one with this jitter.
func TestWitnessesOfGRPC(t *testing.T) {
	for _, timeout := range []int32{1, 2, 4, 8} {
		w, err := witnessOf(t, changed(podOf(1), func(c *v1.Container) {
			c.StartupProbe = nil
			c.LivenessProbe.ProbeHandler = v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 80}}
			c.LivenessProbe.PeriodSeconds, c.LivenessProbe.FailureThreshold, c.LivenessProbe.TimeoutSeconds = 10, 3,
				timeout
		}), fmt.Sprintf("grpc-%d", timeout), check.Start, string(bounds.FirstInstance))
		if err != nil || len(w.Files) != 2 {
			t.Fatalf("timeout %d s: %+v, error %v", timeout, w, err)
		}
		below, above := w.Files[0], w.Files[1]
		lasts := func(f File, length time.Duration) File {
			f.Outcome = fmt.Sprintf("the program is down for %v", length)
			f.Data = regexp.MustCompile(`for: [^,]+`).ReplaceAll(f.Data, []byte("for: "+length.String()))
			return f
		}
		inTime, late := w.Value-time.Duration(timeout)*time.Second, w.Value+time.Duration(timeout)*time.Second
		for late-inTime > time.Microsecond {
			middle := (inTime + late) / 2
			if _, stopped := inUsualOrder(t, planOf(t, lasts(above, middle))); stopped {
				late = middle
			} else {
				inTime = middle
			}
		}
		for _, f := range []File{lasts(below, inTime-100*time.Microsecond), lasts(above, late+100*time.Microsecond)} {
			if err := runWitness(t, f); err != nil {
				t.Errorf("%s: %s: %v", f.Name, f.Outcome, err)
			}
		}
	}
}

// planOf returns the run of a witness.
func planOf(t *testing.T, w File) *scenarios.Plan {
	t.Helper()
	loaded, err := scenarios.LoadBytes(w.Name+".yaml", w.Data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return loaded[0].Plans()[0]
}

// changed returns a pod without a readiness probe, whose container a function has changed.
func changed(pod *v1.Pod, change func(*v1.Container)) *v1.Pod {
	c := &pod.Spec.Containers[0]
	c.ReadinessProbe = nil
	change(c)
	return pod
}

// witnessTries is the number of runs in which a witness must succeed once. The real kubelet has
// races with two common outcomes, of which a witness shows one: two results of probes at one
// instant lead to one sync or to two.
const witnessTries = 12

// runWitness runs a witness on the real kubelet, and checks its expectation in this trace.
func runWitness(t *testing.T, w File) (err error) {
	plan := planOf(t, w)
	if err := realkubelet.Refuse(plan.Scenario); err != nil {
		t.Logf("%s: %v", w.Name, err)
		return nil
	}
	jitter, holds := inUsualOrder(t, plan)
	for range witnessTries {
		err = func() error {
			o, err := compare.Plan(t, plan, compare.Options{Jitter: jitter})
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
		switch {
		case err == nil:
			return nil
		case !holds && errors.Is(err, errOtherOrder):
			return errUnusualOrder
		}
	}
	return err
}

// inUsualOrder simulates a plan with the jitter of its seed and the canonical order of the events
// at one instant. It returns the jitter that the pod workers draw, by time, and whether the
// expectation of the plan holds. The seed of a real run could only draw the jitter from its time.
func inUsualOrder(t *testing.T, p *scenarios.Plan) (jitter func(virtual.Time) float64, holds bool) {
	t.Helper()
	known, _ := p.Profile()
	drawn := &usualOrder{Replay: choose.NewReplay(nil), seed: choose.Seeded(*p.Seed), at: map[virtual.Time]float64{}}
	n := node.New(node.Options{Profile: known, Uptime: &p.Uptime, Seed: p.Seed, Delays: p.Delays, Config: p.Config,
		Chooser: drawn})
	defer n.Close()
	drawn.now = n.Now
	drive.Start(p, n)
	if err := n.RunUntil(virtual.At(p.Duration)); err != nil {
		t.Fatal(err)
	}
	jitter = func(at virtual.Time) float64 { return cmp.Or(drawn.at[at], realkubelet.DefaultJitter) }
	return jitter, checkExpectations(p, &compare.Outcome{Real: n.Trace().Records()}) == nil
}

// usualOrder makes canonical choices, and draws and notes the jitter of requeues from a seed. It
// draws no other jitter.
type usualOrder struct {
	*choose.Replay
	seed choose.Seeded
	now  func() virtual.Time
	at   map[virtual.Time]float64
}

func (u *usualOrder) Fraction(c choose.Choice) float64 {
	if _, ok := kubelet.RequeueJitter.Drawer(c); !ok {
		return realkubelet.DefaultJitter
	}
	u.at[u.now()] = u.seed.Fraction(c)
	return u.at[u.now()]
}

// checkExpectations checks on the real kubelet what the scenario expects.
func checkExpectations(p *scenarios.Plan, o *compare.Outcome) error {
	results, err := expect.Check(p, expect.Run{Records: o.Real})
	for _, r := range results {
		if r.Outcome == expect.Failed {
			err = errors.Join(err, fmt.Errorf("%s does not hold: %+v", r.Expect.Name, r.Failures))
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
