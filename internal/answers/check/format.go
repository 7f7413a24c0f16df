package check

import (
	"fmt"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/value"
)

// tenth is the precision of durations in texts below ten minutes; above, it is a second.
const tenth = 100 * time.Millisecond

// span is a duration, in reports or elsewhere.
type span interface{ time.Duration | value.Seconds }

// FormatDown formats a duration for people, rounded down.
func FormatDown[S span](s S) string {
	d := time.Duration(s)
	if d == bounds.Never {
		return format(d)
	}
	return format(d.Truncate(unit(d)))
}

// FormatUp formats a duration for people, rounded up.
func FormatUp[S span](s S) string {
	d := time.Duration(s)
	if u := unit(d); d != bounds.Never && d%u != 0 {
		d = d.Truncate(u) + u
	}
	return format(d)
}

// FormatTime formats a time of a report for people: rounded up, or "never".
func FormatTime(s value.Seconds) string {
	if s.IsNever() {
		return "never"
	}
	return FormatUp(s)
}

// Format formats the guaranteed value of a row for people: a limit rounded down, a time rounded up.
func (id RowID) Format(s value.Seconds) string {
	if id.IsLimit() {
		return FormatDown(s)
	}
	return FormatTime(s)
}

// Worse says for people that the value of a row gets worse.
func (id RowID) Worse(before, after value.Seconds) string {
	return fmt.Sprintf("%s %s, not %s", rowOf(id).text, id.Format(after), id.Format(before))
}

// FormatDifference formats the difference of two values for people, such as +15.0s, rounded to the
// nearest tenth of a second or coarser. Neither may be bounds.Never.
func FormatDifference(before, after value.Seconds) string {
	d, sign := time.Duration(after-before), "+"
	if d < 0 {
		d, sign = -d, "-"
	}
	return sign + format(d.Round(unit(d)))
}

// unit is the precision of a duration in texts.
func unit(d time.Duration) time.Duration {
	if d < 10*time.Minute {
		return tenth
	}
	return time.Second
}

func format(d time.Duration) string {
	switch {
	case d == bounds.Never:
		return "no limit"
	case d == 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 10*time.Minute && d%time.Second != 0:
		return fmt.Sprintf("%dm%04.1fs", d/time.Minute, (d % time.Minute).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm%02ds", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// Clock formats a time in the life of a container for people, to the second.
func Clock[S span](s S) string {
	d := time.Duration(s).Round(time.Second)
	switch {
	case d == 0:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
}
