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

var far = flag.Duration("far", time.Hour, "describe the ends that are farther from the closest run")

// derived is a bound with two derived ends.
type derived struct {
	name   string
	needs  trace.Probe
	bound  func(*Subject, Nodes) (Bound, error)
	holds  func(*Subject, Nodes) bool // the rules from which the limits follow hold for the container
	limits func(*Subject, Nodes) (least, greatest time.Duration)
}

func allDerived() []derived {
	var list []derived
	for _, which := range []StartCase{FirstInstance, YoungKubelet, AfterLivenessKill, AfterStartupKill, AfterCrash, AfterCrashWhileStarting} {
		needs := trace.Liveness
		if which == AfterStartupKill {
			needs = trace.Startup
		}
		list = append(list, derived{
			string(which), needs,
			func(s *Subject, n Nodes) (Bound, error) { return s.Start(n, which) },
			func(s *Subject, _ Nodes) bool { return s.derivesStart() },
			func(s *Subject, n Nodes) (least, greatest time.Duration) { return s.startLimits(n, which) },
		})
	}
	for _, m := range []Misfortune{Hang, Stall, Refuse} {
		list = append(list, derived{
			"until unready " + string(m), trace.Readiness,
			func(s *Subject, n Nodes) (Bound, error) { return s.UntilUnready(n, m) },
			func(s *Subject, n Nodes) bool { return s.derivesUnready(n, m) },
			func(s *Subject, n Nodes) (least, greatest time.Duration) { return s.unreadyLimits(n, m) },
		})
		list = append(list, derived{
			"stays ready " + string(m), trace.Readiness,
			func(s *Subject, n Nodes) (Bound, error) { return s.StaysReady(n, m) },
			func(s *Subject, n Nodes) bool { return s.derivesStaysReady(n, m) },
			func(s *Subject, n Nodes) (least, greatest time.Duration) { return s.lastsAtMost(n, m) },
		})
	}
	for _, atOnce := range []bool{true, false} {
		list = append(list, derived{
			fmt.Sprint("until ready, at once ", atOnce), trace.Readiness,
			func(s *Subject, n Nodes) (Bound, error) { return s.UntilReady(n, atOnce) },
			func(s *Subject, _ Nodes) bool { return s.derivesReady() },
			func(s *Subject, n Nodes) (least, greatest time.Duration) { return s.readyLimits(n, atOnce) },
		}, derived{
			fmt.Sprint("until ready without readiness probe, at once ", atOnce), trace.Startup,
			func(s *Subject, n Nodes) (Bound, error) { return s.UntilReady(n, atOnce) },
			func(s *Subject, _ Nodes) bool { return s.Probe(trace.Readiness) == nil && s.derivesReady() },
			func(s *Subject, n Nodes) (least, greatest time.Duration) { return s.readyLimits(n, atOnce) },
		})
	}
	return append(list, derivedWhenYoung()...)
}

// No run that a search finds passes a derived limit. A bound takes the wider of both, so a bound alone does not show a limit that is wrong.
// The middle of a delay is rounded. The test logs how far the runs stay from the limits.
func TestSearchStaysWithinDerivedLimits(t *testing.T) {
	list := slices.DeleteFunc(allDerived(), func(d derived) bool { return *only != "" && *only != d.name })
	distances := map[string][2][]time.Duration{}
	rapid.Check(t, func(r *rapid.T) {
		d := rapid.SampledFrom(list).Draw(r, "bound")
		s, n := drawSubject(r, d.needs), drawNodes(r)
		if *typical || rapid.Bool().Draw(r, "typical") {
			n.Delays, _ = fakeruntime.DelaySet("typical")
		}
		if !d.holds(s, n) {
			r.Skip("the rules do not hold for the container")
		}
		s.searchesOn = true
		b, err := d.bound(s, n)
		if errors.Is(err, errNothing) || err == nil && b.Least == Never {
			r.Skip("the container never becomes ready")
		}
		if err != nil {
			r.Fatal(err)
		}
		least, greatest := d.limits(s, n)
		if b.AtLeast.question.startsUp() && b.AtLeast.Event == 0 && d.needs == trace.Readiness { // no node was found on which the program comes up later
			limits, never := s.readyLimits, s.neverLater(n)
			if b.AtLeast.Uptime < s.old() {
				limits, never = s.readyLimitsWhenYoung, s.neverLaterWhenYoung(n)
			}
			atOnceLeast, atOnceGreatest := limits(n, true)
			if never {
				least, greatest = atOnceLeast, atOnceGreatest
			}
			least, greatest = min(least, atOnceLeast), max(greatest, atOnceGreatest)
		}
		if least-b.Least > time.Microsecond || b.Greatest-greatest > time.Microsecond && b.Greatest != Never {
			r.Errorf("%s: a search finds %v to %v, the limits are %v to %v\n%s %s\nleast: %s\ngreatest: %s", d.name, b.Least, b.Greatest, least, greatest, s.Profile.Version, showSubject(s), showCase(b.AtLeast), showCase(b.AtGreatest))
		}
		only := *s
		only.searchesOn, only.EndsOnly = false, true
		if quick, err := d.bound(&only, n); err != nil || (quick.Least-b.Least).Abs() > time.Microsecond || (quick.Greatest-b.Greatest).Abs() > time.Microsecond {
			r.Errorf("%s: the ends alone are %v to %v, %v, those of the search %v to %v", d.name, quick.Least, quick.Greatest, err, b.Least, b.Greatest)
		}
		for i, off := range []time.Duration{b.LeastShown() - b.Least, b.Greatest - b.GreatestShown()} {
			if off > *far {
				t.Logf("%s: far end %d off %v; %v (%v) to %v (%v), %s\n%sleast: %s\ngreatest: %s", d.name, i, off, b.Least, b.LeastShown(), b.Greatest, b.GreatestShown(), s.Profile.Version, showSubject(s), showCase(b.AtLeast), showCase(b.AtGreatest))
			}
		}
		ends := distances[d.name]
		ends[0], ends[1] = append(ends[0], b.LeastShown()-b.Least), append(ends[1], b.Greatest-b.GreatestShown())
		distances[d.name] = ends
	})
	for _, d := range list {
		for i, end := range []string{"least", "greatest"} {
			if all := distances[d.name][i]; len(all) > 0 {
				slices.Sort(all)
				t.Logf("%-22s %3d containers, from the %s end to the closest run: half %v, nine of ten %v, all %v", d.name, len(all), end, all[len(all)/2], all[len(all)*9/10], all[len(all)-1])
			}
		}
	}
}
