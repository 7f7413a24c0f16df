package search

import (
	"slices"
	"time"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// Start holds the random start delays that the probe workers of one kubelet drew. The kubelet
// started at T.
type Start struct {
	T         virtual.Time
	Fractions []float64 // from 0 to below 1
	// Runs are the known first runs of the workers. They show which worker drew which delay.
	Runs []FirstRun
}

// FirstRun is the first run of a probe worker. Worker is the name of its process in the simulator.
type FirstRun struct {
	Worker string
	T      virtual.Time
	Period time.Duration // periodSeconds of the probe
}

// known returns the start delay of a worker if its first run shows it. Several workers can have the
// same name, one after the other: the earliest run is that of the one that starts now, because each
// sync of a young kubelet replaces a worker that has ended.
func (s *Start) known(worker string, now virtual.Time) (fraction float64, ok bool) {
	var earliest virtual.Time
	for _, r := range s.Runs {
		for _, f := range s.Fractions {
			if r.Worker == worker && now.Add(time.Duration(f*float64(r.Period))) == r.T && (!ok || r.T < earliest) {
				fraction, earliest, ok = f, r.T, true
			}
		}
	}
	return fraction, ok
}

// kubelet returns the index in starts of the kubelet that runs now, or -1.
func (c *chooser) kubelet() int {
	i := len(c.starts) - 1
	for i >= 0 && c.starts[i].T > c.now() {
		i--
	}
	return i
}

// startFraction picks one of the start delays of a kubelet for a worker: the known one; otherwise
// the one that the replayed choice names, counted from 1, or the next in turn if no first run is
// known. A worker whose first run is not among the known ones did not run, so it gets the longest.
func (c *chooser) startFraction(id choose.Choice, worker string, kubelet int) float64 {
	if f, ok := c.starts[kubelet].known(worker, c.now()); ok {
		return f
	}
	fractions := c.starts[kubelet].Fractions
	n := len(fractions)
	picked := c.Replay.Choose(id, n+1)
	c.decisions = append(c.decisions,
		decision{t: c.now(), choice: id, n: n + 1, picked: picked, start: true, kubelet: kubelet})
	turn := c.started[kubelet]
	c.started[kubelet]++
	switch {
	case picked > 0:
		return fractions[picked-1]
	case len(c.starts[kubelet].Runs) > 0:
		return slices.Max(fractions)
	}
	return fractions[turn%n]
}

// taken reports whether another worker of the same kubelet got this start delay.
func taken(a attempt, d decision, value int) bool {
	return slices.ContainsFunc(a.decisions, func(o decision) bool {
		return o.start && o.kubelet == d.kubelet && o.choice != d.choice && o.picked == value && value > 0
	})
}
