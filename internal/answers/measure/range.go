package measure

import (
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/value"
)

// interval returns a range in whole milliseconds.
func interval(r bounds.Range) *value.Interval {
	return &value.Interval{Min: r.Least.Round(time.Millisecond), Max: r.Greatest.Round(time.Millisecond)}
}
