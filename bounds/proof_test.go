package bounds

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/fakeruntime"
)

// samples is the number of drawn cases of each drawn container.
const samples = 50

// provable returns the bounds to prove: all, or the one of -only.
func provable() []theorem {
	return slices.DeleteFunc(theorems(), func(th theorem) bool { return *only != "" && *only != th.name })
}

// No case passes a bound by more than the tolerance of the search. What follows a verdict also depends on what the kubelet does at
// that time, which is not searched, so a time has a greater tolerance than a limit.
func TestNoCasePassesABound(t *testing.T) {
	list := provable()
	type figures struct {
		manifests, cases, bad, runs int
		worst                       time.Duration
	}
	all := map[string]*figures{}
	rapid.Check(t, func(t *rapid.T) {
		th := rapid.SampledFrom(list).Draw(t, "theorem")
		s, n := drawSubject(t, th.needs...), drawNodes(t)
		if slices.Contains(ofTypicalNodes, th.name) {
			n.Delays, _ = fakeruntime.DelaySet("typical")
		}
		b, err := th.bound(s, n)
		if errors.Is(err, errNothing) {
			t.Skip("the container never becomes ready")
		}
		if err != nil {
			t.Fatal(err)
		}
		f := all[th.name]
		if f == nil {
			f = &figures{}
			all[th.name] = f
		}
		f.manifests++
		f.runs += s.Runs
		d := drawDice(t)
		for range samples {
			c := drawCase(d, s, n, !slices.Contains(inUsualOrder, th.name))
			one, err := th.draw(d, s, c)
			x := one.bound.Least
			if errors.Is(err, errSkip) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			f.cases++
			over := max(b.Least-x, x-b.Greatest)
			f.worst = max(f.worst, over)
			if over > th.tolerance {
				f.bad++
				t.Errorf("%s: %v passes the bound of %v to %v by %v", th.name, x, b.Least, b.Greatest, over)
				if *only != "" {
					t.Logf("%s %s\n%s\nleast: %s\ngreatest: %s\nnodes: %s", s.Profile.Version, showCase(c), showSubject(s), showCase(b.AtLeast), showCase(b.AtGreatest), showCase(Case{Delays: n.Delays}))
				}
			}
		}
	})
	for _, th := range list {
		if f := all[th.name]; f != nil {
			t.Logf("%-36s %3d manifests, %5d cases, greatest excess %v, %d of them too much, %d runs a bound", th.name, f.manifests, f.cases, f.worst, f.bad, f.runs/f.manifests)
		}
	}
}

// The limit that is read from one run with a misfortune for ever is the limit: if the misfortune ends then, nothing happens, and if it lasts
// a nanosecond longer, the outcome comes.
func TestLimitsAreExact(t *testing.T) {
	list := slices.DeleteFunc(provable(), func(th theorem) bool { return th.tolerance != tolerance })
	rapid.Check(t, func(t *rapid.T) {
		th := rapid.SampledFrom(list).Draw(t, "theorem")
		s, n, d := drawSubject(t, th.needs...), drawNodes(t), drawDice(t)
		one, err := th.draw(d, s, drawCase(d, s, n, true))
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

// Each end of a bound is that of a run, not only a limit of the search.
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
		}{{b.Least, b.AtLeast}, {b.Greatest, b.AtGreatest}} {
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
	out := ""
	for _, p := range probeTypes {
		if q := s.Probe(p); q != nil {
			out += fmt.Sprintf("%s delay %d period %d threshold %d timeout %d success %d exec %v tcp %v\n", p, q.InitialDelaySeconds, q.PeriodSeconds, q.FailureThreshold, q.TimeoutSeconds, q.SuccessThreshold, q.Exec != nil, q.TCPSocket != nil)
		}
	}
	return out
}
