package bounds

import (
	"fmt"
	"testing"
	"time"

	"probesim.dev/trace"
)

// No case passes a bound of the time until ready either if the pod has hooks or another container, on typical nodes and with the numbers of published
// manifests.
func TestNoCaseBesidePassesABound(t *testing.T) {
	defer func(before [3]bool, name string) {
		*varied, *typical, *usual, *only = before[0], before[1], before[2], name
	}([3]bool{*varied, *typical, *usual}, *only)
	*varied, *typical, *usual = true, true, true
	if *only != "" {
		noCasePasses(t)
		return
	}
	for _, atOnce := range []bool{true, false} {
		for _, when := range []string{"", " when young"} {
			*only = fmt.Sprintf("until ready%s, at once %v", when, atOnce)
			t.Run(*only, noCasePasses)
		}
	}
}

// readyWhenYoung returns the bounds of the time until ready on a young kubelet.
func readyWhenYoung() []theorem {
	var list []theorem
	for _, atOnce := range []bool{true, false} {
		list = append(list, theorem{
			name: fmt.Sprint("until ready when young, at once ", atOnce), needs: []trace.Probe{trace.Readiness}, tolerance: afterVerdict,
			bound: func(s *Subject, n Nodes) (Bound, error) {
				if !s.SleepsWhenYoung() {
					return Bound{}, errNothing
				}
				return s.UntilReadyOnYoungKubelet(n, atOnce)
			},
			draw: func(d *dice, s *Subject, c Case) (sample, error) {
				_, longest := s.periods()
				c.Uptime = d.duration(0, longest-1)
				return drawUp(d, s, c, atOnce)
			},
		})
	}
	return list
}

// derivedWhenYoung returns the same bounds with their derived ends.
func derivedWhenYoung() []derived {
	var list []derived
	for _, atOnce := range []bool{true, false} {
		list = append(list, derived{
			fmt.Sprint("until ready when young, at once ", atOnce), trace.Readiness,
			func(s *Subject, n Nodes) (Bound, error) { return s.UntilReadyOnYoungKubelet(n, atOnce) },
			func(s *Subject, _ Nodes) bool { return s.derivesReadyWhenYoung() },
			func(s *Subject, n Nodes) (least, greatest time.Duration) { return s.readyLimitsWhenYoung(n, atOnce) },
		})
	}
	return list
}
