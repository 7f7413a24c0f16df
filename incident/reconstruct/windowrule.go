package reconstruct

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// windowRule is a rule that fails a probe in a window.
type windowRule struct {
	first, last int      // the instances; last is allInstances if it has no end
	clock       string   // at, after, or nothing: from the start of an instance on
	open        interval // on the clock
	ends        bool
	length      interval    // if it ends
	probe       trace.Probe // or allProbes
	word        string      // the answer
}

const allInstances = 1 << 30

var windowed = regexp.MustCompile(`^(?:instance: (\d*)(\.\.)?(\d*), )?(?:(at|after): (\S+), )?(?:for: (\S+), )?(startup|liveness|readiness|probes): ([^\[]+)$`)

// parseWindow reads a rule. It reports whether the rule is a window.
func parseWindow(text string) (windowRule, bool) {
	m := windowed.FindStringSubmatch(text)
	if m == nil {
		return windowRule{}, false
	}
	w := windowRule{clock: m[4], ends: m[6] != "", probe: trace.Probe(m[7]), word: m[8]}
	w.first, w.last = parseInstances(m[1], m[2], m[3])
	var errOpen, errLength error
	w.open, errOpen = parseInterval(m[5])
	w.length, errLength = parseInterval(m[6])
	return w, errOpen == nil && errLength == nil
}

// String returns the text of the rule.
func (w windowRule) String() string {
	text := instances(w.first, w.last)
	if w.open.to > 0 {
		clock := w.clock
		if clock == "" {
			clock = "after"
		}
		text += fmt.Sprintf("%s: %s, ", clock, between(w.open.from, w.open.to))
	}
	if w.ends {
		text += fmt.Sprintf("for: %s, ", between(max(w.length.from, time.Millisecond), max(w.length.to, time.Millisecond)))
	}
	return text + fmt.Sprintf("%s: %s", w.probe, w.word)
}

// parseInstances reads the field of instances, in the parts that a pattern finds: the first number, the dots, and the last number.
func parseInstances(from, dots, to string) (first, last int) {
	last = allInstances
	if n, err := strconv.Atoi(from); err == nil {
		first = n
		if dots == "" {
			last = n
		}
	}
	if n, err := strconv.Atoi(to); err == nil {
		last = n
	}
	return first, last
}

// instances returns the field for some instances, with a comma, or nothing for all.
func instances(first, last int) string {
	switch {
	case first == last:
		return fmt.Sprintf("instance: %d, ", first)
	case last < allInstances && first == 0:
		return fmt.Sprintf("instance: ..%d, ", last)
	case last < allInstances:
		return fmt.Sprintf("instance: %d..%d, ", first, last)
	case first > 0:
		return fmt.Sprintf("instance: %d.., ", first)
	}
	return ""
}

// interval has the earliest and the latest time of something.
type interval struct{ from, to time.Duration }

func parseInterval(text string) (interval, error) {
	if text == "" {
		return interval{}, nil
	}
	from, to, isRange := strings.Cut(text, "..")
	a, err := value.ParseDuration(from)
	if err != nil || !isRange {
		return interval{a, a}, err
	}
	b, err := value.ParseDuration(to)
	return interval{a, b}, err
}

// middle is what a run without a seed takes.
func (b interval) middle() time.Duration { return b.from + (b.to-b.from)/2 }

func (b interval) empty() bool { return b.from > b.to }

func (b interval) covers(other interval) bool { return b.from <= other.from && b.to >= other.to }

func (b *interval) narrow(from, to time.Duration) {
	b.from, b.to = max(b.from, from), min(b.to, to)
}

// meet leaves what another range has in common with this one, if the other has bounds. It covers both if they have nothing in common, and it
// is the other if this one is empty.
func (b *interval) meet(from, to time.Time, zero time.Time, start time.Duration) {
	if from.IsZero() || to.IsZero() {
		return
	}
	other := interval{max(from.Sub(zero)-start, 0), to.Sub(zero) - start}
	both := interval{max(b.from, other.from), min(b.to, other.to)}
	switch {
	case b.empty():
		*b = other
	case both.empty():
		*b = interval{min(b.from, other.from), max(b.to, other.to)}
	default:
		*b = both
	}
}

// around returns the smallest range that covers wide and whose middle is in b. It returns b if there is none.
func (b interval) around(wide interval) interval {
	wide.from, wide.to = min(wide.from, b.from), max(wide.to, b.to)
	more := 2*b.from - wide.from - wide.to // at the end, so that the middle is not before b
	less := wide.from + wide.to - 2*b.to   // at the beginning, so that it is not after b
	switch {
	case less > wide.from:
		return b
	case more > 0:
		wide.to += more
	case less > 0:
		wide.from -= less
	}
	return wide
}
