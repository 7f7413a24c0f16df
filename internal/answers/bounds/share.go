package bounds

import "time"

// shareSteps is the number of parts into which StartShare splits the range of each phase.
const shareSteps = 32

// StartShare returns the share of the first starts that succeed, from 0 to 1, if a start takes an
// evenly distributed time between two durations. It is the mean over the phases of the start
// against the ticks, the relists and the whole seconds, on a node whose other latencies are in the
// middle.
func (c *Container) StartShare(from, to time.Duration) float64 {
	p := c.killer()
	if p == nil || p.tooSlow() {
		return 1
	}
	m := c.AtMiddle()
	later := m.killer().later(p.failures-1).Greatest + m.killer().lastChance().middle()
	sum := 0.0
	begins, shown, seconds := c.begins(p).parts(shareSteps), m.shown(true).parts(shareSteps),
		p.delayed().parts(shareSteps)
	for i, begin := range begins {
		for k, show := range shown { // a shifted second for each, so that the phases fill the space evenly
			first := max(show, seconds[(i+k)%shareSteps])
			if c.scoped() {
				sum += share(p.delay+later, from, to)
				continue
			}
			sum += share(ceil(begin+first, p.period)-begin+later, from, to)
		}
	}
	return sum / (shareSteps * shareSteps)
}

// share returns the share of an interval below a limit.
func share(limit, from, to time.Duration) float64 {
	switch {
	case limit >= to:
		return 1
	case limit <= from:
		return 0
	}
	return float64(limit-from) / float64(to-from)
}

// parts returns the middles of some equal parts of the range.
func (a Range) parts(n time.Duration) []time.Duration {
	var list []time.Duration
	for i := range n {
		list = append(list, a.Least+(a.Greatest-a.Least)*(2*i+1)/(2*n))
	}
	return list
}
