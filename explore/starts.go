package explore

import (
	"slices"
	"time"

	"probesim.dev/sim/choose"
)

// Start is what the young probe workers of a kubelet drew that was started at T.
type Start struct {
	T         time.Duration
	Fractions []float64 // from 0 to below 1
	// Runs are the first runs of the workers as far as they are known: they say which of them drew which.
	Runs []FirstRun
}

// FirstRun is the first run of a probe worker, which the simulator's process of that name makes.
type FirstRun struct {
	Worker string
	T      time.Duration
	Period time.Duration // of the probe
}

// known returns which of the start delays this worker got, if that is known by its first run.
func (s *Start) known(worker string, now time.Duration) (fraction float64, ok bool) {
	for _, r := range s.Runs {
		for _, f := range s.Fractions {
			if r.Worker == worker && now+time.Duration(f*float64(r.Period)) == r.T {
				return f, true
			}
		}
	}
	return 0, false
}

// kubelet returns which of the kubelets that were started runs now, -1 if that is not known.
func (c *chooser) kubelet() int {
	i := len(c.starts) - 1
	for i >= 0 && c.starts[i].T > c.now() {
		i--
	}
	return i
}

// startFraction picks which of the start delays that a kubelet drew this worker got: the one that is known; or the next
// in turn, or the one that is asked for, counted from 1.
func (c *chooser) startFraction(id choose.Choice, worker string, kubelet int) float64 {
	if f, ok := c.starts[kubelet].known(worker, c.now()); ok {
		return f
	}
	fractions := c.starts[kubelet].Fractions
	n := len(fractions)
	picked := c.Replay.Choose(id, n+1)
	c.decisions = append(c.decisions, decision{t: c.now(), choice: id, n: n + 1, picked: picked, start: true, kubelet: kubelet})
	turn := c.started[kubelet]
	c.started[kubelet]++
	if picked > 0 {
		return fractions[picked-1]
	}
	return fractions[turn%n]
}

// taken reports whether a start delay was chosen for another worker of the same kubelet.
func taken(a attempt, d decision, value int) bool {
	return slices.ContainsFunc(a.decisions, func(o decision) bool {
		return o.start && o.kubelet == d.kubelet && o.choice != d.choice && o.picked == value && value > 0
	})
}
