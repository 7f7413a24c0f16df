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

// No case passes a bound by more than the tolerance of the search. What follows a verdict also depends on what the kubelet does at
// that time, which is not searched, so a time has a greater tolerance than a limit.
func TestNoCasePassesABound(t *testing.T) {
	list := slices.DeleteFunc(theorems(), func(th theorem) bool {
		if *only != "" {
			return *only != th.name
		}
		return slices.Contains(unproved, th.name)
	})
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
			c := drawCase(d, s, n)
			x, err := th.draw(d, s, c)
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

func showSubject(s *Subject) string {
	out := ""
	for _, p := range probeTypes {
		if q := s.Probe(p); q != nil {
			out += fmt.Sprintf("%s delay %d period %d threshold %d timeout %d success %d exec %v tcp %v\n", p, q.InitialDelaySeconds, q.PeriodSeconds, q.FailureThreshold, q.TimeoutSeconds, q.SuccessThreshold, q.Exec != nil, q.TCPSocket != nil)
		}
	}
	return out
}
