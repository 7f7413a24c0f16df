package explore

import (
	"slices"
	"time"

	"probesim.dev/prober"
	"probesim.dev/sim/choose"
)

// decision is a choice that came up in a run, with the value that was picked and the alternatives.
type decision struct {
	t          time.Duration
	choice     choose.Choice
	n, picked  int
	start      bool            // the choice of a start delay of a worker, whose effect may show a whole period later
	kubelet    int             // the index of the kubelet that the worker belongs to, if start is true
	candidates []choose.Choice // set if the choice is which process goes next
}

// about reports whether the decision is about c.
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
	made      []choose.Made
	shaken    *shake // nil if no instant is drawn from a seed
	now       func() time.Duration
	fractions map[time.Duration]float64
	requeues  []time.Duration // the times at which the run asked for a requeue jitter
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

func (c *chooser) Next(candidates []choose.Choice) int {
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
	t time.Duration
}

func (c *chooser) shakes() bool { return c.shaken != nil && c.now() == c.shaken.t }

func (c *chooser) Fraction(id choose.Choice) float64 {
	if worker, ok := prober.StartJitter.Drawer(id); ok {
		if kubelet := c.kubelet(); kubelet >= 0 && len(c.starts[kubelet].Fractions) > 0 {
			return c.startFraction(id, worker, kubelet)
		}
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
