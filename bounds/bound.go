package bounds

import (
	"time"
)

// Bound is the range of a time over everything that varies: the least value, the greatest, and a case for each.
//
// A limit is a Bound too: what stays below Least always goes well, and what exceeds Greatest never does.
type Bound struct {
	Least, Greatest     time.Duration
	AtLeast, AtGreatest Case
}

// Case is an environment, and the virtual time of the event in it: 0 if there is none besides the start of the container.
type Case struct {
	Environment
	Event time.Duration
}

// at returns the Bound of a single case.
func at(value time.Duration, c Case) Bound { return Bound{value, value, c, c} }

// or returns the Bound over the cases of both.
func (b Bound) or(c Bound) Bound {
	if c.Least < b.Least {
		b.Least, b.AtLeast = c.Least, c.AtLeast
	}
	if c.Greatest > b.Greatest {
		b.Greatest, b.AtGreatest = c.Greatest, c.AtGreatest
	}
	return b
}
