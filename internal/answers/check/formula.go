package check

import (
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
	if id.End(all) == bounds.Never {
		return ""
	}
	switch id {
	case Start:
		return sum(id, all.Least, "until the first run that counts", periods(killerOf(b)))
	case Restart, Retry:
		return fmt.Sprintf("%s: as for start, less the failures before the start that count too",
			FormatDown(value.Seconds(all.Least)))
	case Stall:
		return sum(id, all.Least, "for the last answer in time", periods(b.Probe(trace.Liveness)))
	case Silence:
		return sum(id, all.Least, "", periods(b.Probe(trace.Liveness)))
	case ServingSilence:
		if p := b.Probe(trace.Liveness); p != nil && b.Survives(bounds.Hang).Least == all.Least {
			return sum(id, all.Least, "", periods(p))
		}
		return sum(id, all.Least, "", periods(b.Probe(trace.Readiness)))
	case Answer, ServingAnswer:
		return fmt.Sprintf("%s = timeoutSeconds", FormatDown(value.Seconds(all.Least)))
	case Early:
		return fmt.Sprintf("%s: the longest start, less the time until the status in the API shows that the "+
			"container runs", FormatTime(value.Seconds(all.Greatest)))
	case Serving:
		if p := b.Probe(trace.Liveness); p != nil && b.Survives(bounds.Stall).Least == all.Least {
			return sum(id, all.Least, "for the last answer in time, of the liveness probe", periods(p))
		}
		return sum(id, all.Least, "for the last answer in time", periods(b.Probe(trace.Readiness)))
	case Ready:
		return fmt.Sprintf("%s: until a run of each probe succeeds, at a tick or after a sync, and the API has the "+
			"status", FormatTime(value.Seconds(all.Greatest)))
	case Unready, HungUnready:
		m, rest := bounds.Refuse, "for the last run and the status"
		if id == HungUnready {
			m, rest = bounds.Hang, "for the last run, its timeout and the status"
		}
		if p := b.Probe(trace.Liveness); p != nil && b.UntilStopped(m).Least < all.Greatest {
			return fmt.Sprintf("%s: the readiness probe, or the liveness probe and the restart, whichever is first",
				FormatTime(value.Seconds(all.Greatest)))
		}
		return sum(id, all.Greatest, rest, periodsAfter(b.Probe(trace.Readiness)))
	case Detect:
		return sum(id, all.Greatest, "for the last run, the wait for a relist and the stop",
			periodsAfter(b.Probe(trace.Liveness)))
	}
	return fmt.Sprintf("%s: the failures of the liveness probe, the grace period, the next start and its probes",
		FormatTime(value.Seconds(all.Greatest)))
}

// killerOf returns the probe that stops a container which does not come up, if it has one.
func killerOf(b *bounds.Container) *v1.Probe {
	if p := b.Probe(trace.Startup); p != nil {
		return p
	}
	return b.Probe(trace.Liveness)
}

// term is a number of periods of a probe.
type term struct {
	text  string
	value time.Duration
}

// periods are those from the first run that the threshold needs to the last one.
func periods(p *v1.Probe) term {
	n := p.FailureThreshold - 1
	return term{fmt.Sprintf("(failureThreshold - 1) x periodSeconds = %d x %ds", n, p.PeriodSeconds),
		time.Duration(n) * time.Duration(p.PeriodSeconds) * time.Second}
}

// periodsAfter are those from a moment just after a run.
func periodsAfter(p *v1.Probe) term {
	n := p.FailureThreshold
	return term{fmt.Sprintf("failureThreshold x periodSeconds = %d x %ds", n, p.PeriodSeconds),
		time.Duration(n) * time.Duration(p.PeriodSeconds) * time.Second}
}

// sum writes a value as the sum of some periods and the rest. Runs that last longer than their
// period make the rest longer.
func sum(id RowID, whole time.Duration, rest string, t term) string {
	text := id.Format(value.Seconds(whole)) + " = " + t.text
	if left := whole - t.value; left.Abs() >= time.Millisecond && rest != "" {
		text += fmt.Sprintf(" %s %s %s", map[bool]string{true: "-", false: "+"}[left < 0],
			FormatUp(value.Seconds(left.Abs())), rest)
	}
	return text
}
