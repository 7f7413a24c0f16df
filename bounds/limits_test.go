package bounds

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/trace"
)

// What the settings alone say about a start and about the time until ready is what runs show: on one node, no value passes the limits, and over all nodes,
// the end that decides is the exact one.
func TestPropertyLimitsWithoutRuns(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, n := drawSubject(r, rapid.SampledFrom([]trace.Probe{trace.Startup, trace.Liveness, trace.Readiness}).Draw(r, "probe")), drawNodes(r)
		s.EndsOnly = true
		same := func(name string, limits func(Nodes) (time.Duration, time.Duration, bool), bound func(Nodes) (Bound, error), isLimit bool) {
			least, greatest, exact := limits(n)
			for _, middle := range []bool{true, false} {
				if middle && name == string(AfterCrash) && s.initialDelays() > 0 {
					continue // the place of the start in its second can move the first success after the crash
				}
				n := n
				n.Middle = middle
				b, err := bound(n)
				if errors.Is(err, errNothing) {
					continue
				}
				if err != nil {
					r.Fatal(err)
				}
				never := b.Least == Never || b.Greatest == Never
				switch {
				case never && isLimit && exact:
					r.Errorf("%s: the limits are %v to %v, and nothing stops the container\n%s", name, least, greatest, showSubject(s))
				case never:
				case least-b.Least > time.Microsecond, b.Greatest-greatest > time.Microsecond:
					r.Errorf("%s, middle %v: the limits are %v to %v, and the runs show %v to %v\n%s", name, middle, least, greatest, b.Least, b.Greatest, showSubject(s))
				case !middle && exact && isLimit && (b.Least-least).Abs() > time.Microsecond, !middle && exact && !isLimit && (b.Greatest-greatest).Abs() > time.Microsecond:
					r.Errorf("%s: the limits %v to %v are not exact, the bound is %v to %v\n%s", name, least, greatest, b.Least, b.Greatest, showSubject(s))
				}
			}
		}
		for _, which := range s.StartCases() {
			same(string(which), func(n Nodes) (time.Duration, time.Duration, bool) { return s.StartLimits(n, which) },
				func(n Nodes) (Bound, error) { return s.Start(n, which) }, true)
		}
		for _, young := range []bool{false, true} {
			ask := s.UntilReady
			if young {
				ask = s.UntilReadyOnYoungKubelet
			}
			if len(s.waiting()) == 0 || young && !s.SleepsWhenYoung() {
				continue
			}
			same(fmt.Sprint("until ready, young ", young), func(n Nodes) (time.Duration, time.Duration, bool) { return s.ReadyLimits(n, young) },
				func(n Nodes) (Bound, error) {
					atOnce, err := ask(n, true)
					if err != nil {
						return atOnce, err
					}
					later, err := ask(n, false)
					return atOnce.Or(later), err
				}, false)
		}
	})
}
