package value

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"probesim.dev/internal/strict"
)

// Never is the duration until something that does not happen, and a limit that does not exist.
const Never time.Duration = math.MaxInt64

// LongestLimit is the longest start, stop, limit or time that check and rollout determine: 6 hours.
const LongestLimit = 6 * time.Hour

// Seconds is a duration that JSON has as a number of seconds, or as null for Never.
type Seconds time.Duration

// IsNever reports whether a limit does not exist, or something never happens.
func (s Seconds) IsNever() bool { return s == Seconds(Never) }

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) {
	if s.IsNever() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, time.Duration(s).Seconds(), 'f', -1, 64), nil
}

// UnmarshalJSON implements json.Unmarshaler. It reads at most a year, in both directions.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	const year = 365 * 24 * 3600
	if string(data) == "null" {
		*s = Seconds(Never)
		return nil
	}
	var f float64
	err := json.Unmarshal(data, &f)
	*s = Seconds(math.Round(min(max(f, -year), year) * 1e9))
	return err
}

// Interval is the durations from Min to Max, both included, written 45s or 40s..50s. JSON has its
// ends in seconds: least and greatest.
type Interval struct{ Min, Max time.Duration }

// ParseInterval parses an interval without open ends.
func ParseInterval(text string) (Interval, error) {
	var d Draw
	err := d.UnmarshalText([]byte(text))
	return Interval(d), err
}

func (i Interval) String() string { return TimeRange(i).String() }

// Join returns the interval that contains two, each of which may be nil.
func (i *Interval) Join(other *Interval) *Interval {
	if i == nil || other == nil {
		return cmp.Or(i, other)
	}
	return &Interval{min(i.Min, other.Min), max(i.Max, other.Max)}
}

// Whole returns the least interval with ends in whole seconds that contains the interval.
func (i Interval) Whole() Interval {
	return Interval{i.Min.Truncate(time.Second), (i.Max + time.Second - 1).Truncate(time.Second)}
}

type jsonInterval struct {
	Least    Seconds `json:"least"`
	Greatest Seconds `json:"greatest"`
}

// MarshalJSON implements json.Marshaler.
func (i Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonInterval{Seconds(i.Min), Seconds(i.Max)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *Interval) UnmarshalJSON(data []byte) error {
	var read jsonInterval
	err := json.Unmarshal(data, &read)
	*i = Interval{time.Duration(read.Least), time.Duration(read.Greatest)}
	return err
}

// Draw is a duration that a run draws uniformly from a closed range, written 45s or 40s..50s. A run
// without a seed takes the middle.
type Draw Interval

// UnmarshalText parses a draw.
func (d *Draw) UnmarshalText(text []byte) error {
	lo, hi, err := parseRange(string(text), OpenMinTime, OpenMaxTime, ParseDuration, cmp.Compare)
	if err != nil {
		return err
	}
	if lo == OpenMinTime || hi == OpenMaxTime {
		return fmt.Errorf("%s has an open end: write both ends, to draw a time between them",
			strict.Quote(string(text)))
	}
	d.Min, d.Max = lo, hi
	return nil
}

// DrawOrNever is a draw, or never.
type DrawOrNever struct {
	Draw
	Never bool
}

// UnmarshalText parses a draw or never.
func (d *DrawOrNever) UnmarshalText(text []byte) error {
	if string(text) == "never" {
		d.Never = true
		return nil
	}
	return d.Draw.UnmarshalText(text)
}

func (d DrawOrNever) String() string {
	if d.Never {
		return "never"
	}
	return d.Draw.String()
}

func (d Draw) String() string { return TimeRange(d).String() }
