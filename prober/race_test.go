package prober

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/kube/profile"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// interrupt interrupts processes at one preemption point until all other enabled processes have
// run.
type interrupt string

func (i interrupt) Choose(c choose.Choice, _ int) int {
	if c.Kind == choose.Preemption && strings.HasPrefix(c.Key, string(i)) {
		return 1
	}
	return 0
}
func (interrupt) Next([]choose.Choice) int       { return 0 }
func (interrupt) Fraction(choose.Choice) float64 { return 0.5 }

// The kubelet triggers the readiness worker before it stores the status (B6 in
// scenarios/library/bugs). If the kubelet stores the status before the worker runs, the first probe
// is at 2 s. If the worker runs first, it does not find the container, and the trigger only
// restarts the period: the first probe is at 7 s. Without the restart of the period, it is at 5 s.
func TestTriggerRacesStoredStatus(t *testing.T) {
	for _, c := range []struct {
		name    string
		chooser choose.Chooser
		reset   bool
		want    virtual.Time
	}{
		{"status stored first", nil, true, virtual.At(2 * time.Second)},
		{"worker runs first", interrupt("readiness triggered, status not stored"), true, virtual.At(7 * time.Second)},
		{"worker runs first, ticker not reset", interrupt("readiness triggered, status not stored"), false,
			virtual.At(5 * time.Second)},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := podWith(&v1.Probe{PeriodSeconds: 5, SuccessThreshold: 1, FailureThreshold: 3})
			pod.Spec.Containers[0].ReadinessProbe.Exec = &v1.ExecAction{}
			p := profile.Newest()
			p.ManualTriggerResetsTicker = c.reset
			w := newWorld(worldOptions{t: t, pod: pod, uptime: time.Hour, profile: p, chooser: c.chooser})
			defer w.sim.Close()
			first := virtual.Time(-1)
			w.manager.Runner = runner(func(p *sim.Proc, _ Command) Output {
				if first < 0 {
					first = p.Now()
				}
				return Output{}
			})
			w.sim.At(0, "add", func() { w.manager.ReconcilePod(nil, pod) })
			w.sim.At(virtual.At(2*time.Second), "start", func() {
				w.sim.Go("pod worker", func(p *sim.Proc) {
					w.setContainer("app", "running", []string{"c1"})
					generated := w.status
					w.status, w.known = v1.PodStatus{}, false // not stored yet
					w.manager.UpdatePodStatus(p, pod, &generated)
					w.status, w.known = generated, true
				})
			})
			w.runUntil(time.Minute)
			if first != c.want {
				t.Errorf("first probe at %v, want %v", first, c.want)
			}
		})
	}
}
