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
	candidates []choose.Choice // set if the choice is which process goes next
}

// others returns the alternatives that were not picked.
func (d decision) others() (list []choose.Made) {
	for i := range d.n {
		switch {
		case i == d.picked && d.candidates != nil:
			list = append(list, choose.Made{Choice: d.candidates[i], Last: true})
		case i == d.picked:
		case d.candidates != nil:
			list = append(list, choose.Made{Choice: d.candidates[i]})
		default:
			list = append(list, choose.Made{Choice: d.choice, Value: i})
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
	now       func() virtual.Time
	fractions map[virtual.Time]float64
	requeues  []virtual.Time // the times at which the run asked for a requeue jitter
	starts    []Start
	decisions []decision
}

func (c *chooser) Choose(id choose.Choice, n int) int {
	v := c.Replay.Choose(id, n)
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
	c.decisions = append(c.decisions, decision{
		t: c.now(), n: len(candidates), picked: v, candidates: append([]choose.Choice(nil), candidates...),
	})
	return v
}

func (c *chooser) Fraction(id choose.Choice) float64 {
	if worker, ok := prober.StartJitter.Drawer(id); ok {
		if s := c.start(); s != nil && len(s.Fractions) > 0 {
			return s.of(worker, c.now())
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

// start returns what is known of the kubelet that runs now, or nil.
func (c *chooser) start() *Start {
	for i := range slices.Backward(c.starts) {
		if c.starts[i].T <= c.now() {
			return &c.starts[i]
		}
	}
	return nil
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

// of returns the start delay of a worker, which its first run shows. Several workers can have the
// same name, one after the other: the earliest run is that of the one that starts now, because each
// sync of a young kubelet replaces a worker that has ended. A worker whose first run is not among
// the known ones did not run, so it gets the longest.
func (s *Start) of(worker string, now virtual.Time) float64 {
	fraction, earliest := slices.Max(s.Fractions), virtual.Max
	for _, r := range s.Runs {
		for _, f := range s.Fractions {
			if r.Worker == worker && now.Add(time.Duration(f*float64(r.Period))) == r.T && r.T < earliest {
				fraction, earliest = f, r.T
			}
		}
	}
	return fraction
}
