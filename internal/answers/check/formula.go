package check

import (
	"cmp"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// formula says how the value of a row that decides comes about, with its numbers: Always of a
// limit, or Worst of a time. docs/limits.md derives the formulas.
func formula(b *bounds.Container, id RowID, all bounds.Range) string {
	end := id.End(all)
	if end == bounds.Never {
		return ""
	}
	return id.Format(value.Seconds(end)) + rowOf(id).formula(b, end)
}

// formulaOf returns the formula of a row, which follows its value.
type formulaOf func(b *bounds.Container, end time.Duration) string

func words(text string) formulaOf {
	return func(*bounds.Container, time.Duration) string { return text }
}

// periods writes a value as the sum of the periods from the first run that the threshold needs to
// the last one, and the rest. Of some probes, the first one that the container has counts.
func periods(rest string, probes ...trace.Probe) formulaOf {
	return sum("(failureThreshold - 1)", -1, rest, probes)
}

// periodsAfter is periods for those from a moment just after a run.
func periodsAfter(rest string, probes ...trace.Probe) formulaOf {
	return sum("failureThreshold", 0, rest, probes)
}

// sum writes a value as the sum of some periods and the rest. Runs that last longer than their
// period make the rest longer.
func sum(threshold string, more int32, rest string, probes []trace.Probe) formulaOf {
	return func(b *bounds.Container, end time.Duration) string {
		var p *v1.Probe
		for _, of := range probes {
			p = cmp.Or(p, b.Probe(of))
		}
		n, sign := p.FailureThreshold+more, "+"
		text := fmt.Sprintf(" = %s x periodSeconds = %d x %ds", threshold, n, p.PeriodSeconds)
		left := end - time.Duration(n)*time.Duration(p.PeriodSeconds)*time.Second
		switch {
		case left.Abs() < time.Millisecond || rest == "":
			return text
		case left < 0:
			sign = "-"
		}
		return text + fmt.Sprintf(" %s %s %s", sign, FormatUp(left.Abs()), rest)
	}
}

// servedUntil takes one formula if the liveness probe ends the readiness, and another one if the
// readiness probe does.
func servedUntil(m bounds.Misfortune, killed, unready formulaOf) formulaOf {
	return func(b *bounds.Container, end time.Duration) string {
		if b.Probe(trace.Liveness) != nil && b.Survives(m).Least == end {
			return killed(b, end)
		}
		return unready(b, end)
	}
}

// untilUnready takes the periods of the readiness probe, unless the liveness probe can be first.
func untilUnready(m bounds.Misfortune, rest string) formulaOf {
	return func(b *bounds.Container, end time.Duration) string {
		if b.Probe(trace.Liveness) != nil && b.UntilStopped(m).Least < end {
			return ": the readiness probe, or the liveness probe that stops the container, whichever is first"
		}
		return periodsAfter(rest, trace.Readiness)(b, end)
	}
}
