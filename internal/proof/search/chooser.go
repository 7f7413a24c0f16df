package search

import (
	"slices"
	"time"

	"probesim.dev/internal/world/controller/replicaset"
	"probesim.dev/prober"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// decision is a choice that came up in a run, with the value that was picked and the alternatives.
type decision struct {
	t          virtual.Time
	choice     choose.Choice
	n, picked  int
	start      bool            // the choice of a start delay of a worker, whose effect may show a whole period later
	kubelet    int             // the index of the kubelet that the worker belongs to, if start is true
	candidates []choose.Choice // set if the choice is which process goes next
}

func (d decision) about(c choose.Choice) bool {
	return d.choice == c || slices.Contains(d.candidates, c)
}

// others returns the alternatives that were not picked.
func (d decision) others() []option {
	var list []option
	add := func(m choose.Made) { list = append(list, option{d.t, m}) }
	for i := range d.n {
		switch {
		case i == d.picked && d.candidates != nil:
			add(choose.Made{Choice: d.candidates[i], Last: true})
		case i == d.picked:
		case d.candidates != nil:
			add(choose.Made{Choice: d.candidates[i]})
		default:
			add(choose.Made{Choice: d.choice, Value: i})
		}
	}
	return list
}

// chooser replays choices and recorded jitters, and notes every decision that comes up.
type chooser struct {
	*choose.Replay
	log       *log // nil if there is no log of the real run
	reordered []choose.Choice
	made      []choose.Made
	shaken    *shake // nil if no instant is drawn from a seed
	now       func() virtual.Time
	fractions map[virtual.Time]float64
	requeues  []virtual.Time // the times at which the run asked for a requeue jitter
	starts    []Start
	started   []int // how many delays of each kubelet the run asked for
	decisions []decision
}

func (c *chooser) Choose(id choose.Choice, n int) int {
	v := c.Replay.Choose(id, n)
	if c.shakes() {
		v = c.shaken.Choose(id, n)
		c.made = append(c.made, choose.Made{Choice: id, Value: v})
	}
	c.decisions = append(c.decisions, decision{t: c.now(), choice: id, n: n, picked: v})
	return v
}

// Place implements choose.Guide.
func (c *chooser) Place(process, point string) (int, bool) {
	return c.log.place(process, point, c.now())
}

// Walk implements choose.Guide.
func (c *chooser) Walk(name, process, by string) (items []string, ok bool) {
	return c.log.walk(name, process, by, c.now())
}

// Turn implements choose.Guide.
func (c *chooser) Turn(process, point string) { c.log.do(process, point, c.now()) }

// Next moves the candidate that the log has first to the front, where it is the canonical one.
func (c *chooser) Next(candidates []choose.Choice) int {
	first := c.log.first(candidates, c.now())
	if first == 0 {
		return c.next(candidates)
	}
	c.reordered = append(append(append(c.reordered[:0], candidates[first]), candidates[:first]...),
		candidates[first+1:]...)
	switch v := c.next(c.reordered); {
	case v == 0:
		return first
	case v <= first:
		return v - 1
	default:
		return v
	}
}

func (c *chooser) next(candidates []choose.Choice) int {
	v := c.Replay.Next(candidates)
	if c.shakes() {
		v = c.shaken.Next(candidates)
		c.made = append(c.made, choose.Made{Choice: candidates[v], Before: candidates[0]})
	}
	c.decisions = append(c.decisions, decision{
		t: c.now(), n: len(candidates), picked: v, candidates: append([]choose.Choice(nil), candidates...),
	})
	return v
}

// shake draws all choices of one instant from a seed.
type shake struct {
	choose.Seeded
	t virtual.Time
}

func (c *chooser) shakes() bool { return c.shaken != nil && c.now() == c.shaken.t }

func (c *chooser) Fraction(id choose.Choice) float64 {
	if worker, ok := prober.StartJitter.Drawer(id); ok {
		if kubelet := c.kubelet(); kubelet >= 0 && len(c.starts[kubelet].Fractions) > 0 {
			return c.startFraction(id, worker, kubelet)
		}
	}
	if _, ok := replicaset.UIDOf.Drawer(id); ok {
		return c.Replay.Fraction(id)
	}
	if _, ok := prober.ConnectJitter.Drawer(id); ok {
		return c.Replay.Fraction(id)
	}
	c.requeues = append(c.requeues, c.now())
	if f, ok := c.fractions[c.now()]; ok {
		return f
	}
	return c.Replay.Fraction(id)
}

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
