// Package witness checks on the real kubelet the runs that come close to the ends of the rows of a
// check. The ends are computed (package bounds); a run only shows them. TestWriteWitnesses of
// package bounds searches the runs, and writes them as scenario files.
package witness

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"probesim.dev/conformance/compare"
	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/realkubelet"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/show/report"
	"probesim.dev/kubelet"
	"probesim.dev/node"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// file is a scenario file that shows a row, and the name of its scenario.
type file struct {
	name string
	data []byte
}

// down matches how long the program of a witness is down.
var down = regexp.MustCompile(`for: ([^,]+)`)

// search runs the test of the main module that writes the files, without the flags of this module.
var search = sync.OnceValues(func() ([]file, error) {
	dir, err := os.MkdirTemp("", "witnesses")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "test", "-count=1", "-run=^TestWriteWitnesses$", "./internal/answers/bounds",
		"-witnesses="+dir, "-kubernetes="+release.Version)
	cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var list []file
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, file{strings.TrimSuffix(filepath.Base(name), ".yaml"), data})
	}
	return list, nil
})

// written returns the files of all witnesses, sorted by name.
func written(t *testing.T) []file {
	t.Helper()
	list, err := search()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestWitnesses checks that the runs which come close to the rows of a check are those of the real
// kubelet. A misfortune that ends 0.1 ms before a limit has no effect in the trace of the real
// kubelet, and one that ends 0.1 ms after it has. Of a run that needs an unusual order of events at
// one instant, it only checks that the simulator explains what the real kubelet does.
func TestWitnesses(t *testing.T) {
	ran, others, unusual := 0, 0, 0
	for _, f := range written(t) {
		if strings.HasPrefix(f.name, "grpc-") {
			continue
		}
		ran++
		switch err := runWitness(t, f); {
		case err == nil:
		case errors.Is(err, errUnusualOrder):
			unusual++
		case errors.Is(err, errOtherOrder):
			others++
			t.Logf("%s: %v", f.name, err)
		default:
			t.Errorf("%s: %v", f.name, err)
		}
	}
	t.Logf("%d witnesses, of which %d need an unusual order, and %d had another one each time", ran, unusual, others)
	if ran-unusual < 100 || others > mostOtherOrders {
		t.Errorf("want at least 100 without an unusual order, and at most %d with another one each time",
			mostOtherOrders)
	}
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
	found := map[string]file{}
	for _, f := range written(t) {
		found[f.name] = f
	}
	for _, timeout := range []int32{1, 2, 4, 8} {
		name := fmt.Sprintf("grpc-%d-start-", timeout)
		below, above := found[name+"below"], found[name+"above"]
		length := down.FindSubmatch(below.data)
		if length == nil || above.data == nil {
			t.Fatalf("timeout %d s: the files are %q and %q", timeout, below.data, above.data)
		}
		value, err := time.ParseDuration(string(length[1]))
		if err != nil {
			t.Fatal(err)
		}
		lasts := func(f file, length time.Duration) file {
			f.data = down.ReplaceAll(f.data, []byte("for: "+length.String()))
			return f
		}
		inTime, late := value-time.Duration(timeout)*time.Second, value+time.Duration(timeout)*time.Second
		for late-inTime > time.Microsecond {
			middle := (inTime + late) / 2
			if _, stopped := inUsualOrder(t, planOf(t, lasts(above, middle))); stopped {
				late = middle
			} else {
				inTime = middle
			}
		}
		for _, f := range []file{lasts(below, inTime-100*time.Microsecond), lasts(above, late+100*time.Microsecond)} {
			if err := runWitness(t, f); err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
		}
	}
}

// planOf returns the run of a witness.
func planOf(t *testing.T, w file) *scenarios.Plan {
	t.Helper()
	loaded, err := scenarios.LoadBytes(w.name+".yaml", w.data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return loaded[0].Plans()[0]
}

// witnessTries is the number of runs in which a witness must succeed once. The real kubelet has
// races with two common outcomes, of which a witness shows one: two results of probes at one
// instant lead to one sync or to two.
const witnessTries = 12

// runWitness runs a witness on the real kubelet, and checks its expectation in this trace.
func runWitness(t *testing.T, w file) (err error) {
	plan := planOf(t, w)
	if err := realkubelet.Refuse(plan.Scenario); err != nil {
		t.Logf("%s: %v", w.name, err)
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
		if r.Outcome == report.Failed {
			err = errors.Join(err, fmt.Errorf("%s does not hold: %+v", r.Expect.Name, r.Failures))
		}
	}
	return err
}
