package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/require"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// RowID names a row of the report.
type RowID string

// Limits: how long something may last without a bad outcome.
const (
	Start   RowID = "start"   // the first start of the container
	Restart RowID = "restart" // a start after a kill, or after a crash of a program that was up
	Retry   RowID = "retry"   // a start after a crash while starting
	Stall   RowID = "stall"   // a stall that the liveness probe survives
	Silence RowID = "silence" // a time without any answer, or with late ones, that the liveness probe survives
	Answer  RowID = "answer"  // the time that each answer may take without a restart
	Serving RowID = "serving" // a stall in which the container stays ready

	// a time without any answer, or with late ones, in which the container stays ready
	ServingSilence RowID = "serving-silence"
	// a time of failures at once, such as status 503 and refused connections, that the liveness
	// probe survives, and in which the container stays ready
	Errors        RowID = "errors"
	ServingErrors RowID = "serving-errors"
	ServingAnswer RowID = "serving-answer" // the time that each answer may take while the container stays ready
)

// Times: how long the kubelet takes.
const (
	Ready   RowID = "ready"   // from up to ready
	Unready RowID = "unready" // from broken to not ready
	Detect  RowID = "detect"  // from hung to the stop signal
	Recover RowID = "recover" // from hung to ready again

	HungUnready RowID = "hung-unready" // from hung to not ready
	// Early is how long a container is ready before its program is up. A container without a
	// startup and a readiness probe has it, if it is known how long a start takes. There are no
	// requirements on it.
	Early RowID = "early"
)

// row is a row of the report: its text, the probes that decide about it, its values, and how they
// come about.
type row struct {
	id      RowID
	limit   bool // how long something may last; otherwise how long it takes
	text    string
	probes  []trace.Probe
	values  valuesOf
	formula formulaOf
}

// valuesOf returns the values of a row. The time is how long a start takes at most, if that is
// known.
type valuesOf func(b *bounds.Container, start time.Duration) []Value

// rows lists all rows in the order of a report.
var rows = []row{
	{Start, true, "comes up if its start takes up to", killers, starts(bounds.FirstInstance, bounds.YoungKubelet),
		periods("until the first run that counts", killers...)},
	{Restart, true, "survives a restart of up to", killers,
		starts(bounds.AfterLivenessKill, bounds.AfterStartupKill, bounds.AfterCrash), asForStart},
	{Retry, true, "survives a retried start of up to", killers, starts(bounds.AfterCrashWhileStarting),
		asForStart},
	{Stall, true, "survives a stall of up to", liveness, during(bounds.Stall, (*bounds.Container).Survives),
		periods("for the last answer in time", trace.Liveness)},
	{Silence, true, "survives late or no answers for up to", liveness, silence((*bounds.Container).Survives),
		periods("", trace.Liveness)},
	{Errors, true, "survives errors or refusals for up to", liveness, failures((*bounds.Container).Survives),
		periods("for the last connection", trace.Liveness)},
	{Answer, true, "tolerates answers of up to", killers, answers(trace.Startup, trace.Liveness),
		words(" = timeoutSeconds")},
	{Serving, true, "stays in its Service in a stall of up to", readiness,
		during(bounds.Stall, (*bounds.Container).StaysReady),
		servedUntil(bounds.Stall, periods("for the last answer in time, of the liveness probe", trace.Liveness),
			periods("for the last answer in time", trace.Readiness))},
	{ServingSilence, true, "in its Service, late or no answers up to", readiness,
		silence((*bounds.Container).StaysReady),
		servedUntil(bounds.Hang, periods("", trace.Liveness), periods("", trace.Readiness))},
	{ServingErrors, true, "in its Service, errors or refusals up to", readiness,
		failures((*bounds.Container).StaysReady),
		servedUntil(bounds.Fail, periods("", trace.Liveness), periods("", trace.Readiness))},
	{ServingAnswer, true, "stays in its Service at answers of up to", readiness, answers(trace.Readiness),
		words(" = timeoutSeconds")},
	{Early, false, "Ready before it is up for", nil, nil,
		words(": the longest start, less the time until the status in the API shows that the container runs")},
	{Ready, false, "up -> Ready", []trace.Probe{trace.Readiness, trace.Startup}, ready,
		words(": until a run of each probe succeeds, at a tick or after a sync, and the API has the status")},
	{Unready, false, "broken -> out of the Service", readiness, during(bounds.Refuse, (*bounds.Container).UntilUnready),
		untilUnready(bounds.Refuse, "for the last run and the status")},
	{HungUnready, false, "hung -> out of the Service", readiness, during(bounds.Hang, (*bounds.Container).UntilUnready),
		untilUnready(bounds.Hang, "for the last run, its timeout and the status")},
	{Detect, false, "hung -> SIGTERM", liveness, during(bounds.Hang, (*bounds.Container).UntilStopped),
		periodsAfter("for the last run, the wait for a relist and the stop", trace.Liveness)},
	{Recover, false, "hung -> Ready again", liveness, recovers,
		words(": the failures of the liveness probe, the grace period, the next start and its probes")},
}

var asForStart = words(": as for start, less the failures before the start that count too")

var (
	killers   = []trace.Probe{trace.Startup, trace.Liveness}
	liveness  = []trace.Probe{trace.Liveness}
	readiness = []trace.Probe{trace.Readiness}
)

// Value is the range of a row in one case and one version.
type Value struct {
	Case       string // such as "after a crash"; empty if the row has only one
	Kubernetes string
	bounds.Range
}

// Values returns the values of a row of a container, one for each case: none if the container does
// not have the row, or its probes notice nothing. A start of the next instance takes up to some
// time, which only Recover needs.
func Values(b *bounds.Container, id RowID, start time.Duration) []Value {
	r := rowOf(id)
	if !slices.ContainsFunc(r.probes, func(p trace.Probe) bool { return notices(b.Probe(p)) }) {
		return nil
	}
	values := r.values(b, start)
	for i := range values {
		values[i].Kubernetes = b.Version()
	}
	return values
}

// starts returns the values of those of some starts that a container can have.
func starts(which ...bounds.StartCase) valuesOf {
	return func(b *bounds.Container, _ time.Duration) (list []Value) {
		for _, c := range b.StartCases() {
			if slices.Contains(which, c) {
				list = append(list, Value{Case: string(c), Range: b.Start(c)})
			}
		}
		return list
	}
}

// during returns the value of a misfortune.
func during(m bounds.Misfortune, of limitOf) valuesOf {
	return func(b *bounds.Container, _ time.Duration) []Value {
		return []Value{{Range: of(b, m)}}
	}
}

// The cases of Silence, Errors, and their rows about a Service.
const (
	noAnswers   = "no answers"
	LateAnswers = "late answers"
	refusals    = "refusals"
	Failures    = "errors"
)

// silence returns how long a program need not answer in time. A late answer differs from none if a
// connection without an answer ends before the timeout.
func silence(of limitOf) valuesOf {
	return either(of, bounds.Hang, noAnswers, bounds.Slow, LateAnswers)
}

// failures returns how long a program may fail at once. An error differs from a refusal if the
// probe connects again, as a gRPC probe does.
func failures(of limitOf) valuesOf { return either(of, bounds.Refuse, refusals, bounds.Fail, Failures) }

type limitOf = func(*bounds.Container, bounds.Misfortune) bounds.Range

// either returns the limits of two misfortunes. A TCP probe does not notice the second one.
func either(of limitOf, a bounds.Misfortune, caseA string, b bounds.Misfortune, caseB string) valuesOf {
	return func(c *bounds.Container, _ time.Duration) []Value {
		first, second := of(c, a), of(c, b)
		if first == second || second.Least == bounds.Never {
			return []Value{{Range: first}}
		}
		return []Value{{Case: caseA, Range: first}, {Case: caseB, Range: second}}
	}
}

// answers returns how long an answer to each of some probes may take: the one with the shortest
// timeout decides.
func answers(probes ...trace.Probe) valuesOf {
	return func(b *bounds.Container, _ time.Duration) (list []Value) {
		for _, p := range probes {
			if b.Probe(p) != nil {
				list = append(list, Value{Case: string(p) + " probe", Range: b.Tolerates(p)})
			}
		}
		slices.SortStableFunc(list, func(a, b Value) int { return cmp.Compare(a.Least, b.Least) })
		return list[:min(1, len(list))]
	}
}

// early returns how long a container is ready before its program is up, or nothing if a probe finds
// out when that is.
func early(b *bounds.Container, start value.Interval) []Value {
	if b.Probe(trace.Startup) != nil || b.Probe(trace.Readiness) != nil {
		return nil
	}
	ready := b.ReadyUnasked()
	return []Value{{Kubernetes: b.Version(),
		Range: bounds.Range{Least: max(0, start.Min-ready.Greatest), Greatest: max(0, start.Max-ready.Least)}}}
}

// UpAtOnce is the case of Ready of a program that is up when its container starts.
const UpAtOnce = "up at once"

// ready returns the values of Ready, whose least ones are not known.
func ready(b *bounds.Container, _ time.Duration) []Value {
	value := func(which string, atOnce bool) Value {
		return Value{Case: which, Range: bounds.Range{Least: bounds.Never, Greatest: b.UntilReady(atOnce)}}
	}
	return []Value{value(UpAtOnce, true), value("up later", false)}
}

// recovers returns the value of Recover, whose least one is not known. A start that is longer than
// its limit never ends, or need not.
func recovers(b *bounds.Container, start time.Duration) []Value {
	if len(b.StartCases()) <= 2 { // it does not restart
		return nil
	}
	until := bounds.Range{Least: bounds.Never, Greatest: b.UntilRecovered(start)}
	if start > 0 && start > b.Start(bounds.AfterLivenessKill).Least {
		until.Greatest = bounds.Never
	}
	return []Value{{Range: until}}
}

// Rows returns all rows, in the order of a report.
func Rows() []RowID {
	var list []RowID
	for _, r := range rows {
		list = append(list, r.id)
	}
	return list
}

func rowOf(id RowID) row {
	if i := slices.IndexFunc(rows, func(r row) bool { return r.id == id }); i >= 0 {
		return rows[i]
	}
	return row{id: id}
}

// IsLimit reports whether a row is a limit and not a time.
func (id RowID) IsLimit() bool { return rowOf(id).limit }

// Like returns the row that a report has instead where the two do not differ, or nothing.
func (id RowID) Like() RowID {
	return map[RowID]RowID{Errors: Silence, ServingErrors: ServingSilence}[id]
}

// Probes returns the probes that decide about a row. A container without any of them does not have
// the row.
func (id RowID) Probes() []trace.Probe { return rowOf(id).probes }

// End returns the end of a range that decides about the row: the least value of a limit, or the
// greatest one of a time.
func (id RowID) End(r bounds.Range) time.Duration {
	if id.IsLimit() {
		return r.Least
	}
	return r.Greatest
}

// Worst returns the value of the row that decides, of at least one.
func (id RowID) Worst(values []Value) Value {
	return slices.MinFunc(values, func(a, b Value) int {
		if id.IsLimit() {
			return cmp.Compare(a.Least, b.Least)
		}
		return cmp.Compare(b.Greatest, a.Greatest)
	})
}

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

// Requirement is a requirement on a row: a limit that must be at least a duration, or a time that
// must be at most one.
type Requirement struct {
	Container string // that it is about; empty: each ordinary container that no other requirement on the row names
	Row       RowID
	Duration  time.Duration
}

// Requirements must all hold.
type Requirements []Requirement

// needs reports whether a row of a container has no meaning if a probe can never run. Without a
// startup probe that succeeds, no other probe runs.
func (id RowID) needs(p trace.Probe, c *v1.Container) bool {
	switch {
	case p == trace.Startup || id == Recover:
		return true
	case p == trace.Liveness && c.StartupProbe != nil && (id == Start || id == Restart || id == Retry):
		return false
	}
	return slices.Contains(id.Probes(), p)
}

// Missing says that some containers do not have the row.
func (id RowID) Missing(containers []string) string {
	has := "container %s has no %s probe"
	if len(containers) > 1 {
		has = "containers %s have no %s probe"
	}
	probes := printable.Words(id.Probes(), func(p trace.Probe) string { return string(p) })
	return fmt.Sprintf(has, printable.And(containers), strings.Join(probes, " or "))
}

// String returns the requirement as package require parses it.
func (r Requirement) String() string {
	return require.Requirement{Container: r.Container, Word: string(r.Row), Duration: r.Duration}.String()
}

// RequirementsOf returns the requirements of a list that are about containers. Package rollout
// judges the others.
func RequirementsOf(list []require.Requirement) (all Requirements) {
	containers, _ := require.Split(list)
	for _, r := range containers {
		all = append(all, Requirement{r.Container, RowID(r.Word), r.Duration})
	}
	return all
}

// Holds reports whether a value meets the requirement: the Always of a limit, or the Worst of a
// time.
func (r Requirement) Holds(v value.Seconds) bool {
	if r.Row.IsLimit() {
		return v >= value.Seconds(r.Duration)
	}
	return v <= value.Seconds(r.Duration)
}

// Margin returns by how much values meet the requirement, or miss it if the margin is negative, and
// the value that decides. The margin is bounds.Never if nothing limits what must be possible. There
// must be a value.
func (r Requirement) Margin(values []Value) (time.Duration, Value) {
	worst := r.Row.Worst(values)
	end := r.Row.End(worst.Range)
	switch {
	case r.Row.IsLimit() && end == bounds.Never:
		return bounds.Never, worst
	case r.Row.IsLimit():
		return end - r.Duration, worst
	case end == bounds.Never:
		return -bounds.Never, worst
	}
	return r.Duration - end, worst
}
