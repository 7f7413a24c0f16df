package value

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/strict"
)

// TimeRange is a closed range of times, written 5s, 2s..4s, 2s.., ..4s or two dots.
type TimeRange struct {
	Min time.Duration // OpenMinTime if the range is open
	Max time.Duration // OpenMaxTime if the range is open
}

// AllTime is the range without bounds, written as two dots.
var AllTime = TimeRange{OpenMinTime, OpenMaxTime}

// Contains reports whether t is in the range.
func (r TimeRange) Contains(t time.Duration) bool { return r.Min <= t && t <= r.Max }

// UnmarshalText parses a range.
func (r *TimeRange) UnmarshalText(text []byte) (err error) {
	*r = AllTime
	r.Min, r.Max, err = parseRange(string(text), OpenMinTime, OpenMaxTime, ParseDuration, cmp.Compare)
	return err
}

func (r TimeRange) String() string {
	return formatRange(r.Min, r.Max, OpenMinTime, OpenMaxTime, Format)
}

// IntRange is a closed range of integers, written 5, 2..4, 2.., ..4 or two dots. A nil IntRange
// contains every integer.
type IntRange struct {
	Min int // OpenMin if the range is open
	Max int // OpenMax if the range is open
}

// Contains reports whether n is in the range.
func (r *IntRange) Contains(n int) bool { return r == nil || r.Min <= n && n <= r.Max }

// UnmarshalText parses a range.
func (r *IntRange) UnmarshalText(text []byte) (err error) {
	r.Min, r.Max, err = parseRange(string(text), OpenMin, OpenMax, parseCount, cmp.Compare)
	return err
}

func (r *IntRange) String() string {
	if r == nil {
		return ".."
	}
	return formatRange(r.Min, r.Max, OpenMin, OpenMax, strconv.Itoa)
}

// maxCount is the largest integer that a file can contain.
const maxCount = 1_000_000_000

func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	switch {
	case err == nil && strings.HasPrefix(s, "-"):
		return 0, fmt.Errorf("%s is negative", strict.Quote(s))
	case err == nil && n <= maxCount:
		return n, nil
	case s != "" && strings.Trim(s, "0123456789") == "":
		return 0, fmt.Errorf("%s is larger than %d", strict.Quote(s), maxCount)
	}
	return 0, fmt.Errorf("%s is not a whole number", strict.Quote(s))
}

// parseRange parses the bounds of a range. A single value is both bounds.
func parseRange[T any](s string, openMin, openMax T, parse func(string) (T, error),
	compare func(a, b T) int) (lo, hi T, err error) {
	from, to, isRange := strings.Cut(s, "..")
	if !isRange {
		if lo, err = parse(s); err != nil {
			err = cmp.Or(withDash(s, parse), err)
		}
		return lo, lo, err
	}
	lo, hi = openMin, openMax
	if from != "" {
		lo, err = parse(from)
	}
	if to != "" && err == nil {
		hi, err = parse(to)
	}
	if err == nil && compare(lo, hi) > 0 {
		err = fmt.Errorf("%s is empty: it ends before it begins", strict.Quote(s))
	}
	return lo, hi, err
}

// withDash returns an error for a range that is written with a dash, or nil.
func withDash[T any](s string, parse func(string) (T, error)) error {
	from, to, _ := strings.Cut(s, "-")
	for _, bound := range []string{from, to} {
		if _, err := parse(bound); err != nil {
			return nil
		}
	}
	return fmt.Errorf("%s is not a range: write %s..%s", strict.Quote(s), from, to)
}

func formatRange[T int | time.Duration](lo, hi, openMin, openMax T, format func(T) string) string {
	if lo == hi {
		return format(lo)
	}
	from, to := "", ""
	if lo != openMin {
		from = format(lo)
	}
	if hi != openMax {
		to = format(hi)
	}
	return from + ".." + to
}
