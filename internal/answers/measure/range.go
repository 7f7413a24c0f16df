package measure

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/value"
)

// Seconds is a duration that is a number of seconds in JSON.
type Seconds time.Duration

// MarshalJSON writes the seconds, with at most three digits after the point.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(float64(time.Duration(s).Round(time.Millisecond)) / float64(time.Second))
}

// UnmarshalJSON reads a number of seconds from 0 to a year.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	var number float64
	if err := json.Unmarshal(data, &number); err != nil {
		return err
	}
	*s = Seconds(min(max(number, 0), 365*24*3600) * float64(time.Second))
	return nil
}

// Range is a time of which the ends are known.
type Range struct {
	Least    Seconds `json:"least"`
	Greatest Seconds `json:"greatest"`
}

func rangeOf(r bounds.Range) *Range { return &Range{Seconds(r.Least), Seconds(r.Greatest)} }

// Join returns the range that contains two, each of which may be nil.
func (r *Range) Join(o *Range) *Range {
	if r == nil || o == nil {
		return cmp.Or(r, o)
	}
	return &Range{min(r.Least, o.Least), max(r.Greatest, o.Greatest)}
}

// String returns the range in whole seconds that contains it, as --start of check reads it.
func (r Range) String() string {
	least, greatest := r.Whole()
	if least == greatest {
		return value.Format(least)
	}
	return value.Format(least) + ".." + value.Format(greatest)
}

// Whole returns the ends of the range in whole seconds that contains it.
func (r Range) Whole() (least, greatest time.Duration) {
	return time.Duration(r.Least).Truncate(time.Second),
		(time.Duration(r.Greatest) + time.Second - 1).Truncate(time.Second)
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
