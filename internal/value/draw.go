package value

import (
	"cmp"
	"fmt"

	"probesim.dev/internal/strict"
)

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
