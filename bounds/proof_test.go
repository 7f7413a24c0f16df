package bounds

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

var (
	samples  = flag.Int("samples", 50, "the number of drawn cases of each drawn container")
	strict   = flag.Bool("strict", false, "allow no excess")
	typical  = flag.Bool("typical", false, "draw the containers on typical nodes only")
	manifest = flag.Int("manifest", 0, "the number of the only drawn container to prove; 0 for all")
)

// provable returns the bounds to prove: all, or the one of -only.
func provable() []theorem {
	return slices.DeleteFunc(theorems(), func(th theorem) bool { return *only != "" && *only != th.name })
}

// No case passes a bound by more than the tolerance of the search. What follows a verdict also depends on what the kubelet does at
// that time, which is not searched, so a time has a greater tolerance than a limit.
func TestNoCasePassesABound(t *testing.T) { noCasePasses(t) }

// The same holds for gRPC probes, which connect several times in a run.
func TestNoGRPCCasePassesABound(t *testing.T) {
	defer func(before bool) { *grpc = before }(*grpc)
	*grpc = true
	noCasePasses(t)
}

// The same holds beside other containers, with hooks and with other restart policies.
func TestNoCaseOfOtherPodsPassesABound(t *testing.T) {
	defer func(before bool) { *varied = before }(*varied)
	*varied = true
	noCasePasses(t)
}

func noCasePasses(t *testing.T) {
	t.Helper()
	list := provable()
	var passing []string
	drawn := 0
	all := map[string]*figures{}
	for _, th := range list {
		all[th.name] = &figures{}
	}
	rapid.Check(t, func(r *rapid.T) {
		th := rapid.SampledFrom(list).Draw(r, "theorem")
		s, n := drawSubject(r, th.needs...), drawNodes(r)
		if *typical {
			n.Delays, _ = fakeruntime.DelaySet("typical")
		}
		if drawn++; *manifest > 0 && drawn != *manifest {
			return
		}
		b, err := th.bound(s, n)
		if errors.Is(err, errNothing) {
			r.Skip("the container never becomes ready")
		}
		if err != nil {
			r.Fatal(err)
		}
		f := all[th.name]
		f.manifests++
		f.runs += s.Runs
		if b.LeastShown()-b.Least <= near {
			f.least++
		}
		if b.Greatest-b.GreatestShown() <= near {
			f.greatest++
		}
		if one := f.draw(r, th, s, n, b); one != "" {
			passing = append(passing, fmt.Sprintf("manifest %d: %s", drawn, one))
		}
	})
	for _, one := range passing {
		t.Error(one)
	}
	for _, th := range list {
		if f := all[th.name]; f.manifests > 0 {
			t.Logf("%-36s %3d manifests, %6d cases, %d manifests passed in %d cases, greatest excess %v, %d runs a bound; a run within %v of the least value for %d, of the greatest for %d",
				th.name, f.manifests, f.cases, f.passed, f.bad, f.worst, f.runs/f.manifests, near, f.least, f.greatest)
		}
	}
}

// near is how close to the end of a bound a run comes that reaches it.
const near = 10 * time.Millisecond

// figures are those of one theorem.
type figures struct {
	least, greatest   int // drawn containers with a run that reaches the least or the greatest value
	manifests, passed int // drawn containers, and those with a case that passes the bound
	cases, bad        int // drawn cases, and those that pass the bound
	runs              int // of the searches for the bounds
	worst             time.Duration
}

// draw draws cases of a container. It describes the one that passes the bound by the most, if any does.
func (f *figures) draw(t *rapid.T, th theorem, s *Subject, n Nodes, b Bound) (passing string) {
	d := drawDice(t)
	var worst time.Duration
	count := *samples
	if b.Least == Never {
		count = 3 // each lasts for hours of virtual time
	}
	for range count {
		c := drawCase(d, s, n)
		one, err := th.draw(d, s, c)
		if errors.Is(err, errSkip) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		f.cases++
		x := one.bound.Least
		over := max(b.Least-x, x-b.Greatest)
		f.worst = max(f.worst, over)
		if over <= th.tolerance && !(*strict && over > time.Microsecond) {
			continue
		}
		if f.bad++; over > worst {
			worst = over
			passing = fmt.Sprintf("%s: %v passes the bound of %v to %v by %v\n%s %s\n%s\nleast: %s\ngreatest: %s\nnodes: %s", th.name, x, b.Least, b.Greatest, over,
				s.Profile.Version, showCase(one.bound.AtLeast), showSubject(s), showCase(b.AtLeast), showCase(b.AtGreatest), showCase(Case{Delays: n.Delays}))
		}
	}
	if worst > 0 {
		f.passed++
	}
	return passing
}

// The limit that is read from one run with a misfortune for ever is the limit: if the misfortune ends then, nothing happens, and if it lasts
// a nanosecond longer, the outcome comes.
func TestLimitsAreExact(t *testing.T) {
	list := slices.DeleteFunc(provable(), func(th theorem) bool { return th.tolerance != tolerance })
	rapid.Check(t, func(t *rapid.T) {
		th := rapid.SampledFrom(list).Draw(t, "theorem")
		s, n, d := drawSubject(t, th.needs...), drawNodes(t), drawDice(t)
		one, err := th.draw(d, s, drawCase(d, s, n))
		if err != nil || one.bound.Least == Never {
			t.Skip(err)
		}
		c := one.bound.AtLeast
		for _, side := range []struct {
			length time.Duration
			want   bool
		}{{one.bound.Least - 1, false}, {one.bound.Least + 1, true}} {
			if side.length <= 0 {
				continue
			}
			if got := th.happens(s, c.lasting(side.length), one.outcome+time.Minute); got != side.want {
				t.Errorf("%s: a misfortune of %v has the outcome: %v, want %v (limit %v)\n%s\n%s %s", th.name, side.length, got, side.want, one.bound.Least, showCase(c), s.Profile.Version, showSubject(s))
			}
		}
	})
}

// Each end of a bound is that of a run, not only a limit of the search, or has a run that shows the closest value.
func TestBoundsAreReached(t *testing.T) {
	list := provable()
	rapid.Check(t, func(t *rapid.T) {
		th := rapid.SampledFrom(list).Draw(t, "theorem")
		s, n := drawSubject(t, th.needs...), drawNodes(t)
		b, err := th.bound(s, n)
		if err != nil {
			t.Skip(err)
		}
		for _, end := range []struct {
			value time.Duration
			c     Case
		}{{b.LeastShown(), b.AtLeast}, {b.GreatestShown(), b.AtGreatest}} {
			if end.value == Never {
				continue
			}
			one, err := end.c.question.measure(s, end.c)
			if err != nil {
				t.Fatal(err)
			}
			off := time.Microsecond
			if th.tolerance != tolerance { // a time also depends on the relists after the verdict
				off = th.tolerance
			}
			if (one.bound.Least - end.value).Abs() > off {
				t.Errorf("%s: the run shows %v, not %v\n%s\n%s %s", th.name, one.bound.Least, end.value, showCase(end.c), s.Profile.Version, showSubject(s))
			}
		}
	})
}

func showSubject(s *Subject) string {
	out := showPod(s.pod)
	for _, p := range trace.ProbeTypes {
		if q := s.Probe(p); q != nil {
			out += fmt.Sprintf("%s delay %d period %d threshold %d timeout %d success %d exec %v tcp %v\n", p, q.InitialDelaySeconds, q.PeriodSeconds, q.FailureThreshold, q.TimeoutSeconds, q.SuccessThreshold, q.Exec != nil, q.TCPSocket != nil)
		}
	}
	return out
}
