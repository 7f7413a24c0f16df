package bounds

import (
	"math/bits"
	"slices"
	"time"
)

// startPhases are the phases of a start against the ticks of the probes, against the relists, and against the whole seconds of the wall clock.
// An initialDelaySeconds counts from such a second.
type startPhases struct {
	begins, relists dim
	seconds         bool          // the whole seconds matter
	repeat          time.Duration // after which the ticks are in the same phase again
	before          []dim         // move what comes before the start
}

// startPhases returns the phases of the first start. If latest is true, the sync that starts the container ends late.
func (n Nodes) startPhases(s *Subject, c *Case, latest bool) startPhases {
	begins := n.begins(s, c, latest)
	if ahead := s.ahead(); len(ahead) > 0 && s.init() == "" {
		begins = n.total(s.ticksRepeat(c), append(append([]delay{runPodSandbox}, s.starts()...), ahead...)...)
	}
	return startPhases{begins: begins, relists: n.relisting(s, c), seconds: s.delayed(c), repeat: s.ticksRepeat(c)}
}

// phases returns the phases of the start of a case.
func (m *startMoves) phases(s *Subject, c *Case, latest bool) startPhases {
	begins, before := m.ticks(latest), m.before
	if m.exits { // the relist that finds the exit leads to the start
		begins, before = m.phase(c), []dim{begins}
	}
	return startPhases{begins: begins, relists: uptimes(c), seconds: s.delayed(c), repeat: s.ticksRepeat(c), before: before}
}

// middle returns the case whose start is in the middle between the earliest and the latest.
func (p startPhases) middle(c Case) Case {
	return c.in(p.begins, p.begins.from+(p.begins.to-p.begins.from)/2)
}

// effort is how thoroughly search looks.
type effort struct {
	points    int           // at which it begins
	tolerance time.Duration // of each step along a direction
	ends      []bool        // from which it goes on: the least value for false, the greatest for true
}

// search extends a bound by the values of a function over the phases. It begins at points that are spread evenly, and goes on from those with
// the least or the greatest value.
func (p startPhases) search(c Case, e effort, f measure, b Bound) (Bound, error) {
	b, err := p.evenly(c, e.points, f, b)
	for _, greatest := range e.ends {
		if err == nil {
			b, err = p.onward(greatest, e.tolerance, f, b)
		}
	}
	return b, err
}

// evenly extends a bound by the values of a function in cases whose phases are spread evenly.
func (p startPhases) evenly(c Case, points int, f measure, b Bound) (Bound, error) {
	dims := []dim{p.begins.aligned(c.Uptime), p.relists}
	if p.seconds {
		dims = []dim{dims[0].onSecond(), p.relists, walls}
	}
	dims = append(p.before[:len(p.before):len(p.before)], dims...)
	for i := range points {
		if b.found(false) && b.found(true) {
			break
		}
		x := c
		for k, d := range dims {
			part, _ := bits.Mul64(uint64(i+1)*steps[len(dims)][k], uint64(d.to-d.from))
			x = x.in(d, d.from+time.Duration(part))
		}
		one, err := f(x)
		if err != nil {
			return b, err
		}
		b = b.Or(one.bound)
	}
	return b, nil
}

// steps are the distances from one point to the next of a sequence that fills a square, a cube or a space of more dimensions evenly, in 1/2^64
// of each side: powers of the inverse of the generalized golden ratio. The sequence starts again at the other side.
var steps = map[int][]uint64{
	2: {0xc13fa9a902a6328f, 0x91e10da5c79e7b1c},
	3: {0xd1b54a32d192ed03, 0xabc98388fb8fac02, 0x8cb92ba72f3d8dd7},
	4: {0xdb4f0b9175ae2165, 0xbbe0563303a4615f, 0xa0f2ec75a1fe1575, 0x89e182857d9ed688},
	5: {0xe19b01aa9d42c633, 0xc6d1d6c8ed0c9631, 0xaf36d01ef7518dbb, 0x9a69443f36f710e6, 0x881403b9339bd42d},
}

// walls is the dimension of the phase of the wall clock.
var walls = dim{
	to:  time.Second - 1,
	get: func(c *Case) time.Duration { return c.Wall },
	set: func(c *Case, x time.Duration) { c.Wall = x },
}

// onward extends a bound by what a function finds along the directions from the case with the least or the greatest value so far. Each
// direction keeps some phases, so the search follows the edge at which two times meet.
func (p startPhases) onward(greatest bool, tolerance time.Duration, f measure, b Bound) (Bound, error) {
	for range maxRounds {
		if b.found(greatest) {
			break
		}
		before := b
		for _, d := range p.directions(b.end(greatest)) {
			points := []time.Duration{0}
			for i := range pieces + 1 {
				points = append(points, d.from+(d.to-d.from)*time.Duration(i)/pieces)
			}
			slices.Sort(points)
			var err error
			if b, err = parts(b.end(greatest), d, slices.Compact(points), f, b, tolerance); err != nil {
				return b, err
			}
		}
		if before.Least-b.Least < min(tolerance, timeTolerance) && !greatest || b.Greatest-before.Greatest < min(tolerance, timeTolerance) && greatest {
			break
		}
	}
	return b, nil
}

// pieces is the number of pieces into which onward splits a direction at first.
const pieces = 3

// directions returns the directions in which the start, the relists and the whole seconds move against the ticks, each alone and some
// together. They begin at the case.
func (p startPhases) directions(c Case) []dim {
	var list []dim
	for which := 1; which < 8; which++ {
		start, relists, seconds := which&1 > 0, which&2 > 0, which&4 > 0
		if seconds && !p.seconds {
			continue
		}
		width := p.repeat
		switch {
		case start:
		case relists:
			width = c.relistPeriod()
		case seconds:
			width = time.Second
		}
		list = append(list, dim{
			from: -width / 2, to: width / 2,
			set: func(x *Case, by time.Duration) {
				age := x.Uptime
				if start {
					p.begins.set(x, min(max(p.begins.get(x)+by, p.begins.from), p.begins.to))
				}
				if relists {
					x.Uptime = c.Uptime + modulo(age-by-c.Uptime, c.relistPeriod())
				}
				x.Wall -= x.Uptime - age
				if seconds {
					x.Wall -= by
				}
				if x.Wall = modulo(x.Wall, time.Second); !p.seconds {
					x.Wall = 0
				}
			},
		})
	}
	return list
}
