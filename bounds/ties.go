package bounds

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/choose"
)

// offTies returns a case close to another one, and its sample, in which no two events that decide are at one instant: if one of the
// times of the case changes by half the margin, the value changes by about as much.
func (s *Subject) offTies(c Case) (Case, sample, error) {
	c, err := s.ordered(c.inMiddle())
	if err == nil && c.Seed == nil {
		c, err = s.seeded(c)
	}
	if err != nil {
		return c, sample{}, err
	}
	original, err := c.question.measure(s, c)
	if err != nil || original.bound.Least == Never {
		return c, original, err
	}
	best, found, least := c, original, time.Duration(math.MaxInt64)
	moves := c.moves()
	for i, first := range moves {
		for _, second := range moves[i:] {
			moved := c.moved(first, margin).moved(second, margin)
			value, rough, err := s.roughness(moved, moves)
			if err != nil {
				return c, original, err
			}
			if off := (value.bound.Least - original.bound.Least).Abs() + rough; off < least {
				best, found, least = moved, value, off
			}
			if least <= 10*margin {
				return best, found, nil
			}
		}
	}
	return best, found, nil
}

// roughness returns the sample of a case, and the greatest change of its value if one of the times of the case changes by half the
// margin.
func (s *Subject) roughness(c Case, moves []move) (middle sample, rough time.Duration, err error) {
	if middle, err = c.question.measure(s, c); err != nil {
		return middle, 0, err
	}
	for _, m := range moves {
		next, err := c.question.measure(s, c.moved(m, margin/2))
		if err != nil {
			return middle, 0, err
		}
		rough = max(rough, (next.bound.Least - middle.bound.Least).Abs())
	}
	return middle, rough, nil
}

// move is a change of a time of a case.
type move func(c *Case, by time.Duration)

// moves returns changes of the times of a case, in both directions. The first one changes nothing.
func (c *Case) moves() []move {
	list := []move{func(*Case, time.Duration) {}}
	add := func(m move) { list = append(list, m, func(c *Case, by time.Duration) { m(c, -by) }) }
	if c.Event > 0 {
		add((*Case).shift)
	}
	for i, r := range c.Rules {
		if r.From > margin && r.Clock != fakeruntime.AtScenario {
			add(func(c *Case, by time.Duration) { c.Rules[i].From += by })
		}
	}
	add(func(c *Case, by time.Duration) {
		d := c.value(runPodSandbox) + by
		c.Delays.RunPodSandbox = &fakeruntime.Draw{Min: d, Max: d}
	})
	add(func(c *Case, by time.Duration) { c.Uptime += by })
	if c.Wall > 0 {
		add(func(c *Case, by time.Duration) { c.Wall = modulo(c.Wall+by, time.Second) })
	}
	return list
}

func (c Case) moved(m move, by time.Duration) Case {
	c = c.clone()
	m(&c, by)
	c.Uptime = max(c.Uptime, time.Millisecond)
	return c
}

// inMiddle returns the case with each range of its delays replaced by the middle, because a seed would draw from it.
func (c Case) inMiddle() Case {
	delays := reflect.ValueOf(&c.Delays).Elem()
	for i := range delays.NumField() {
		if d := delays.Field(i).Interface().(*fakeruntime.Draw); d != nil {
			middle := fakeruntime.Exactly(d.Min + (d.Max-d.Min)/2)
			delays.Field(i).Set(reflect.ValueOf(&middle))
		}
	}
	return c
}

// value returns a delay of the case.
func (c *Case) value(of delay) time.Duration {
	d := *of(&c.Delays)
	if d == nil {
		defaults := fakeruntime.DefaultDelays()
		d = *of(&defaults)
	}
	return d.Min + (d.Max-d.Min)/2
}

func (c Case) clone() Case {
	c.Rules = slices.Clone(c.Rules)
	return c
}

// seeds is the number of seeds among which seeded looks for the best.
const seeds = 100_000

// closestSeeds is the number of seeds with the closest jitters among which seeded looks for one with the usual order of events.
const closestSeeds = 20

// seeded returns the case with a seed in place of its jitters, because a scenario file has a seed only. The seed draws jitters that
// are close to those of the case. If possible, its order of events at one instant leads to the same value as the usual order.
func (s *Subject) seeded(c Case) (Case, error) {
	if !c.decidesJitter() {
		return c, nil
	}
	noted := &jitters{of: &c}
	c.noted = noted
	_, err := c.question.measure(s, c)
	c.noted = nil
	if err != nil {
		return c, err
	}
	if c.SyncJitter != 0.5 && len(noted.list) > 1 { // the last but one leads to the last sync, and the last one to a later sync
		noted.list = noted.list[len(noted.list)-2 : len(noted.list)-1]
	}
	type candidate struct {
		seed int64
		off  float64
	}
	var closest []candidate
	for seed := range int64(seeds) {
		off := 0.0
		for _, choice := range noted.list {
			off += math.Abs(choose.Seeded(seed).Fraction(choice) - c.Fraction(choice))
		}
		if len(closest) == closestSeeds && off >= closest[closestSeeds-1].off {
			continue
		}
		i, _ := slices.BinarySearchFunc(closest, off, func(one candidate, off float64) int { return cmp.Compare(one.off, off) })
		closest = slices.Insert(closest[:min(len(closest), closestSeeds-1)], min(i, closestSeeds-1), candidate{seed, off})
	}
	for _, one := range closest {
		usual := c
		usual.jitterSeed, c.Seed = &one.seed, &one.seed
		want, err := usual.question.measure(s, usual)
		if err != nil {
			return c, err
		}
		got, err := c.question.measure(s, c)
		if err != nil || (got.bound.Least-want.bound.Least).Abs() < 10*margin {
			return c, err
		}
	}
	c.Seed = &closest[0].seed
	return c, nil
}

// decidesJitter reports whether the case decides a jitter.
func (c *Case) decidesJitter() bool {
	return c.StartJitter != 0.5 || c.SyncJitter != 0.5 || len(c.sleeps) > 0
}

// jitters notes the jitters that a case decides.
type jitters struct {
	of   *Case
	list []choose.Choice
}

func (j *jitters) Choose(c choose.Choice, n int) int { return j.of.Choose(c, n) }
func (j *jitters) Next(list []choose.Choice) int     { return j.of.Next(list) }

func (j *jitters) Fraction(c choose.Choice) float64 {
	if f := j.of.Fraction(c); f != 0.5 {
		j.list = append(j.list, c)
	}
	return j.of.Fraction(c)
}
