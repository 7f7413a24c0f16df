package bounds

import (
	"math"
	"time"
)

// Never is the value of a bound that nothing reaches: nothing happens, however long the misfortune lasts.
const Never time.Duration = math.MaxInt64

// Bound is the range of a time over everything that varies: the least value, the greatest, and a case for each.
//
// A limit is a Bound too: what stays below Least always goes well, and what exceeds Greatest never does.
type Bound struct {
	Least, Greatest     time.Duration // or Never
	AtLeast, AtGreatest Case
	// Mean is the mean over all times of the event, in the middle of the delays. It is 0 if there is no event.
	Mean time.Duration
	// LeastDerived and GreatestDerived say that the end follows from rules of the kubelet. No case passes it, and AtLeast or AtGreatest
	// is the closest one that was found.
	LeastDerived, GreatestDerived bool
	leastShown, greatestShown     time.Duration // of AtLeast and AtGreatest, if the ends are derived
	goal                          *goal         // of the search; nil: none
}

// LeastShown returns the least value that a run shows, that of AtLeast. It differs from Least if Least is derived.
func (b Bound) LeastShown() time.Duration {
	if b.LeastDerived {
		return b.leastShown
	}
	return b.Least
}

// GreatestShown returns the greatest value that a run shows, that of AtGreatest. It differs from Greatest if Greatest is derived.
func (b Bound) GreatestShown() time.Duration {
	if b.GreatestDerived {
		return b.greatestShown
	}
	return b.Greatest
}

// at returns the Bound of a single case.
func at(value time.Duration, c Case) Bound {
	return Bound{Least: value, Greatest: value, AtLeast: c, AtGreatest: c}
}

// none returns the Bound of a case that does not count.
func none(c Case) Bound {
	return Bound{Least: Never, Greatest: math.MinInt64, AtLeast: c, AtGreatest: c}
}

// isNone reports whether no case of the Bound counts.
func (b Bound) isNone() bool { return b.Least > b.Greatest }

// Or returns the Bound over the cases of both. The mean is that of b.
func (b Bound) Or(c Bound) Bound {
	if c.Least < b.Least {
		b.Least, b.AtLeast, b.LeastDerived, b.leastShown = c.Least, c.AtLeast, c.LeastDerived, c.leastShown
	}
	if c.Greatest > b.Greatest {
		b.Greatest, b.AtGreatest, b.GreatestDerived, b.greatestShown = c.Greatest, c.AtGreatest, c.GreatestDerived, c.greatestShown
	}
	return b
}

// end returns the case of the least or the greatest value.
func (b Bound) end(greatest bool) Case {
	if greatest {
		return b.AtGreatest
	}
	return b.AtLeast
}
