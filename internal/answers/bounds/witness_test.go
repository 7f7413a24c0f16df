package bounds_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// Witness is the closest run that was found to an end of a row.
type Witness struct {
	Value time.Duration // what the run shows
	Files []File        // scenarios that show it; each has been run
}

// Target is a case of a row of a container, or the case that decides.
type Target struct {
	Name string // of the scenario
	Row  check.RowID
	Case string // empty: the one that decides
	*Subject
}

// effort limits a search: the virtual time of its runs, each with some more for its own cost. It
// takes about two seconds.
const (
	effort  = 12 * time.Hour
	ownCost = 2 * time.Minute
	most    = 500 // cases
)

// closeEnough is how close a run is to an end that needs no closer one.
const closeEnough = 10 * time.Millisecond

// Find searches for the run closest to the end of a row that decides: the value of a limit up to
// which all goes well, or the worst value of a time. The error says that the row has no such case,
// that nothing reaches the end, or that no run was found, or it is that of the context.
func Find(ctx context.Context, t *Target) (*Witness, error) {
	values := slices.DeleteFunc(check.Values(t.Bounds, t.Row, 0),
		func(v check.Value) bool { return t.Case != "" && v.Case != t.Case })
	if len(values) == 0 {
		return nil, errors.New("the container does not have the row")
	}
	v := t.Row.Worst(values)
	f, end := figureOf(t.Row, v.Case), t.Row.End(v.Range)
	if f.Most = end; end == bounds.Never {
		return nil, errors.New("nothing limits the row")
	}
	candidates, err := f.search(ctx, t.Subject, end)
	if err != nil {
		return nil, err
	}
	err = errNothing
	for i := range candidates {
		c := &candidates[i]
		w := &Witness{c.m.Value, f.files(t.Subject, t.Name, &c.c, c.m)}
		if err = t.verify(ctx, c.c.Seed, w.Files); err == nil {
			return w, nil
		}
	}
	return nil, fmt.Errorf("no run was found: %w", err)
}

// figureOf returns the figure of a case of a row.
func figureOf(row check.RowID, which string) Figure {
	switch row {
	case check.Stall:
		return Figure{Misfortune: bounds.Stall, Outcome: Stopped, Limit: true}
	case check.Silence:
		return Figure{Misfortune: silence(which), Outcome: Stopped, Limit: true}
	case check.ServingSilence:
		return Figure{Misfortune: silence(which), Outcome: Unready, Limit: true}
	case check.Errors:
		return Figure{Misfortune: failing(which), Outcome: Stopped, Limit: true}
	case check.ServingErrors:
		return Figure{Misfortune: failing(which), Outcome: Unready, Limit: true}
	case check.HungUnready:
		return Figure{Misfortune: bounds.Hang, Outcome: Unready}
	case check.Serving:
		return Figure{Misfortune: bounds.Stall, Outcome: Unready, Limit: true}
	case check.Unready:
		return Figure{Misfortune: bounds.Refuse, Outcome: Unready}
	case check.Detect:
		return Figure{Misfortune: bounds.Hang, Outcome: Stopped}
	case check.Ready:
		return Figure{AtOnce: which == check.UpAtOnce, Outcome: Ready}
	}
	return Figure{Start: bounds.StartCase(which), Outcome: Stopped, Limit: true}
}

// silence returns the misfortune of a case of a program that does not answer in time.
func silence(which string) bounds.Misfortune {
	if which == check.LateAnswers {
		return bounds.Slow
	}
	return bounds.Hang
}

// failing returns the misfortune of a case of a program that fails at once.
func failing(which string) bounds.Misfortune {
	if which == check.Failures {
		return bounds.Fail
	}
	return bounds.Refuse
}

// candidate is a case with its value.
type candidate struct {
	c      Case
	m      Measured
	phases *Phases
	off    time.Duration
}

// kept is the number of closest cases that a search returns. Events at one instant can make the
// scenario file of one differ.
const kept = 5

// search returns the cases that come closest to a value, the closest first.
func (f *Figure) search(ctx context.Context, s *Subject, end time.Duration) ([]candidate, error) {
	var best []candidate
	spent := time.Duration(0)
	for i := int64(0); i < most && spent < effort; i++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		phases := NewPhases(i)
		if i%4 > 0 && i > most/6 && len(best) > 0 {
			phases = best[0].phases.Near(i)
		}
		c, ok := f.Draw(s, phases)
		if spent += ownCost; !ok {
			continue
		}
		m, err := f.Measure(s, &c)
		if errors.Is(err, errNothing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		spent += m.Outcome
		best = append(best, candidate{c, m, phases, (m.Value - end).Abs()})
		slices.SortStableFunc(best, func(a, b candidate) int { return cmp.Compare(a.off, b.off) })
		if best = best[:min(len(best), kept)]; best[0].off < closeEnough && len(best) == kept {
			break
		}
	}
	return best, nil
}

// verify runs scenario files, and returns an error if an expectation does not hold.
func (s *Subject) verify(ctx context.Context, seed int64, files []File) error {
	for _, w := range files {
		loaded, err := scenarios.LoadBytes(w.Name+".yaml", w.Data, nil)
		if err != nil {
			return fmt.Errorf("bug: the scenario is not valid: %w", err)
		}
		r := simulate.Run(ctx, loaded[0].Plan(s.Profile.Version, &seed), simulate.Options{})
		if r.Err != nil {
			return r.Err
		}
		for i := range r.Results {
			if r.Results[i].Outcome != report.OK {
				return fmt.Errorf("the scenario %s does not show what it should: %v", w.Name, r.Results[i].Failures)
			}
		}
	}
	return nil
}

var (
	witnesses = flag.String("witnesses", "", "the directory for the files of TestWriteWitnesses")
	version   = flag.String("kubernetes", profile.Newest().Version, "the version for TestWriteWitnesses")
)

// rowsWithWitness are the rows of which TestWriteWitnesses finds runs. The cases of a row are those
// on a kubelet that is older than the periods of the probes: a young kubelet draws the delays
// before the first runs of its probe workers, which no test can choose.
var rowsWithWitness = []struct{ row, of string }{
	{"start", string(bounds.FirstInstance)}, {"restart", ""}, {"retry", ""}, {"stall", ""}, {"silence", ""},
	{"serving", ""},
	{"ready", check.UpAtOnce}, {"ready", "up later"}, {"unready", ""}, {"detect", ""},
}

// TestWriteWitnesses writes the files of the runs that come close to the rows of 12 containers, and
// to the start of containers with gRPC probes. The tests of conformance/witness run them on the
// real kubelet. It needs the flag -witnesses.
func TestWriteWitnesses(t *testing.T) {
	if *witnesses == "" {
		t.Skip("runs with -witnesses DIR")
	}
	for i := range 12 {
		for _, r := range rowsWithWitness {
			writeWitness(t, podOf(i), fmt.Sprintf("pod-%d", i), check.RowID(r.row), r.of)
		}
	}
	for _, timeout := range []int32{1, 2, 4, 8} {
		pod := podOf(1)
		c := &pod.Spec.Containers[0]
		c.ReadinessProbe, c.StartupProbe = nil, nil
		c.LivenessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 80}}, PeriodSeconds: 10,
			FailureThreshold: 3, TimeoutSeconds: timeout}
		writeWitness(t, pod, fmt.Sprintf("grpc-%d", timeout), check.Start, string(bounds.FirstInstance))
	}
}

// writeWitness finds the run that comes close to a case of a row of the container of a pod on
// typical nodes, and writes its files. A row without such a run is only logged.
func writeWitness(t *testing.T, pod *v1.Pod, name string, row check.RowID, of string) {
	t.Helper()
	p, _ := profile.Named(*version)
	typical, _ := fakeruntime.DelaySet("typical")
	admitted, err := check.Admit(pod, p)
	if err != nil {
		t.Fatal(err)
	}
	b, err := admitted.Bounds("app", typical)
	if err != nil {
		t.Fatal(err)
	}
	w, err := Find(t.Context(), &Target{name + "-" + string(row), row, of, &Subject{admitted, "app", typical, b}})
	if err != nil {
		t.Logf("%s, %s %s: %v", name, row, of, err)
		return
	}
	for _, f := range w.Files {
		if of == "up later" {
			f.Name += "-later"
		}
		if err := os.WriteFile(filepath.Join(*witnesses, f.Name+".yaml"), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
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
