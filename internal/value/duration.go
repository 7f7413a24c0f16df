// Package value parses and formats the notation of scenario files: durations, ranges, draws,
// versions, matches and answers.
package value

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/strict"
)

// MaxDuration is the longest duration that a file can contain.
const MaxDuration = 30 * 24 * time.Hour

// Duration is a length of virtual time, from 0 to MaxDuration.
type Duration time.Duration

// UnmarshalText parses Go's notation, such as 1m30s.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// Time returns d as a time.Duration.
func (d Duration) Time() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return Format(time.Duration(d)) }

// ParseDuration parses a duration in Go's notation, from 0s to MaxDuration. It rejects -0s, which
// can only be a mistake.
func ParseDuration(s string) (time.Duration, error) {
	d, err := parseSigned(s)
	if d < 0 || err == nil && strings.HasPrefix(s, "-") {
		return 0, fmt.Errorf("%s is negative", strict.Quote(s))
	}
	return d, err
}

// parseSigned parses a duration in Go's notation, up to MaxDuration in both directions. It returns
// a longer duration along with an error. It rejects durations that time.ParseDuration rounds to 0.
func parseSigned(s string) (time.Duration, error) {
	if _, err := strconv.ParseFloat(s, 64); err == nil && strings.Trim(s, "+-.0123456789") == "" {
		return 0, fmt.Errorf("%s has no unit: write %ss or %sms", strict.Quote(s), s, s)
	}
	d, err := time.ParseDuration(s)
	switch {
	case s == "":
		return 0, errors.New("a duration is missing, such as 45s or 1m30s")
	case err != nil && strings.HasPrefix(err.Error(), "time: invalid duration") && enormous(strings.TrimPrefix(s, "-")):
		return 0, fmt.Errorf("%s is longer than %s (30 days)", strict.Quote(s), Format(MaxDuration))
	case err != nil:
		return 0, fmt.Errorf("%s is not a duration such as 45s, 1m30s or 150.337s%s", strict.Quote(s), meant(s))
	case d == 0 && strings.ContainsAny(s, "123456789"):
		return 0, fmt.Errorf("%s is shorter than 1ns, the unit of virtual time", strict.Quote(s))
	case d.Abs() > MaxDuration:
		return d, fmt.Errorf("%s is longer than %s (30 days)", strict.Quote(s), Format(MaxDuration))
	}
	return d, nil
}

var numberAndUnit = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([a-zA-Z]+)$`)

// meant suggests a duration in place of a number with another unit, such as 12sec or 2d.
func meant(s string) string {
	m := numberAndUnit.FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	const suggestion = " (did you mean %s%s?)"
	switch unit := strings.ToLower(m[2]); {
	case unit[0] == 's', unit[0] == 'm', unit[0] == 'h':
		return fmt.Sprintf(suggestion, m[1], unit[:1])
	case unit[0] == 'd' && !strings.Contains(m[1], "."):
		days, _ := strconv.Atoi(m[1])
		return fmt.Sprintf(suggestion, strconv.Itoa(24*days), "h")
	}
	return ""
}

// enormous reports whether s overflows a time.Duration but is otherwise valid.
func enormous(s string) bool {
	digits := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if digits < 4 {
		return false
	}
	_, err := time.ParseDuration("1" + s[digits:])
	return err == nil
}

// Format formats a duration in Go's notation without trailing zero units: 1m, not 1m0s.
func Format(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// Bounds of open ranges.
const (
	OpenMinTime = time.Duration(math.MinInt64)
	OpenMaxTime = time.Duration(math.MaxInt64)
	OpenMin     = math.MinInt
	OpenMax     = math.MaxInt
)

// Offset is a signed length of time, from -MaxDuration to MaxDuration, but not 0.
type Offset time.Duration

// UnmarshalText parses Go's notation, such as -1m30s or 45s.
func (o *Offset) UnmarshalText(text []byte) error {
	d, err := parseSigned(string(text))
	switch {
	case err != nil:
		return err
	case d == 0:
		return errors.New("must not be 0s")
	}
	*o = Offset(d)
	return nil
}

// Time returns o as a time.Duration.
func (o Offset) Time() time.Duration { return time.Duration(o) }

func (o Offset) String() string { return Format(time.Duration(o)) }
