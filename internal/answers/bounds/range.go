package bounds

import (
	"time"

	"probesim.dev/internal/value"
)

// Never is the value of an end that nothing reaches: nothing happens, however long the misfortune
// lasts.
const Never = value.Never

// LongestLimit is the greatest limit or time that bounds determine. A probe that needs longer to
// stop a container counts as none.
const LongestLimit = value.LongestLimit

// Range is the range of a time over everything that varies.
//
// A limit is a Range too: what stays below Least always goes well, and what exceeds Greatest never
// does.
type Range struct {
	Least, Greatest time.Duration // or Never
}

// Time is the range of a time, with its mean over the phases of the event on a node in the middle
// of the delays. The mean is 0 if more decides, so there is none.
type Time struct {
	Range
	Mean time.Duration
}

// Or returns the range over the cases of both.
func (a Range) Or(b Range) Range {
	return Range{min(a.Least, b.Least), max(a.Greatest, b.Greatest)}
}

// never is the range of what does not happen.
var never = Range{Never, Never}

func exactly(d time.Duration) Range { return Range{d, d} }

// plus returns the range of the sum of times. Nothing comes after what never happens.
func (a Range) plus(list ...Range) Range {
	for _, b := range list {
		a.Least, a.Greatest = later(a.Least, b.Least), later(a.Greatest, b.Greatest)
	}
	return a
}

// later returns the sum of two times, or Never.
func later(a, b time.Duration) time.Duration {
	if a == Never || b == Never {
		return Never
	}
	return a + b
}

// most returns the range of a time that something limits.
func (a Range) most(d time.Duration) Range { return Range{min(a.Least, d), min(a.Greatest, d)} }

// middle returns the middle of the range.
func (a Range) middle() time.Duration { return a.Least + (a.Greatest-a.Least)/2 }

// modulo returns the remainder of a division, which is at least 0.
func modulo(a, b time.Duration) time.Duration { return (a%b + b) % b }

// ceil returns the least multiple of a period that is at least a time.
func ceil(d, period time.Duration) time.Duration { return d + modulo(-d, period) }

// nextTick returns the range of the time from a start to the first tick that is at least some time
// after it. The start comes some time after a tick.
func nextTick(after Range, period time.Duration, start Range) Range {
	return Range{leastTick(after.Least, period, start), greatestTick(after.Greatest, period, start)}
}

func leastTick(after, period time.Duration, start Range) time.Duration {
	if ceil(start.Least+after, period) <= start.Greatest+after { // some start meets a tick
		return after
	}
	return ceil(start.Greatest+after, period) - start.Greatest
}

func greatestTick(after, period time.Duration, start Range) time.Duration {
	if ceil(start.Least+after, period) <= start.Greatest+after { // some start just misses a tick
		return after + period
	}
	return ceil(start.Least+after, period) - start.Least
}

// firstFrom returns the least time, from a moment on, of a tick. The ticks begin in a range of
// times.
func firstFrom(moment, period time.Duration, begin Range) time.Duration {
	if moment <= begin.Greatest {
		return max(moment, begin.Least)
	}
	periods := (moment - begin.Greatest + period - 1) / period
	return max(moment, begin.Least+periods*period)
}

// lastFrom returns the greatest time of the first tick from a moment on. The ticks begin in a range
// of times before.
func lastFrom(moment, period time.Duration, begin Range) time.Duration {
	periods := max(0, (moment-begin.Greatest+period-1)/period)
	if moment-periods*period > begin.Least {
		return moment + period
	}
	return begin.Greatest + periods*period
}

// divisor returns the greatest common divisor of two periods.
func divisor(a, b time.Duration) time.Duration {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
