package bounds

import (
	"flag"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"probesim.dev/trace"
)

var beside = flag.Bool("beside", false, "draw hooks, and another container of the pod")

// drawBeside adds another container to a pod, before or after its container. Each of the two can have a postStart hook.
func drawBeside(t *rapid.T, spec *v1.PodSpec) {
	other := v1.Container{Name: "other", Image: rapid.SampledFrom([]string{"other:1", "other"}).Draw(t, "other image")}
	spec.Containers[0].Lifecycle, other.Lifecycle = drawHook(t, "hook"), drawHook(t, "other hook")
	switch rapid.SampledFrom([]string{"after", "before", "none"}).Draw(t, "other") {
	case "after":
		spec.Containers = append(spec.Containers, other)
	case "before":
		spec.Containers = append([]v1.Container{other}, spec.Containers...)
	}
}

func drawHook(t *rapid.T, name string) *v1.Lifecycle {
	hook := &v1.LifecycleHandler{}
	switch rapid.SampledFrom([]string{"none", "none", "command", "sleep", "http"}).Draw(t, name) {
	case "none":
		return nil
	case "command":
		hook.Exec = &v1.ExecAction{Command: []string{"prepare"}}
	case "sleep":
		hook.Exec = &v1.ExecAction{Command: []string{"sleep", fmt.Sprint(rapid.IntRange(1, 40).Draw(t, name+" sleeps"))}}
	case "http":
		hook.HTTPGet = &v1.HTTPGetAction{Port: intstr.FromInt32(80)}
	}
	return &v1.Lifecycle{PostStart: hook}
}

// No case passes a bound of the time until ready either if the pod has hooks or another container, on typical nodes and with the numbers of published
// manifests.
func TestNoCaseBesidePassesABound(t *testing.T) {
	defer func(before [3]bool, name string) {
		*beside, *typical, *usual, *only = before[0], before[1], before[2], name
	}([3]bool{*beside, *typical, *usual}, *only)
	*beside, *typical, *usual = true, true, true
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
