package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/summary"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// CaseSummary writes a summary of the runs of a case: in how many runs each expectation held, the
// distributions of the numbers of each pod, and the commands that repeat the first failed run and
// the worst run.
func CaseSummary(w io.Writer, c *Case, pad int, o Options) error {
	if len(c.Runs) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString(o.caseHeading(c, pad))
	o.Indent += 2
	b.WriteString(o.notes(c.Runs[0].Notes))
	b.WriteString(o.broken(c))
	b.WriteString(o.tallies(c))
	b.WriteString(o.notes(c.Unproven))
	if t := c.table(); t != nil {
		b.WriteString("\n")
		t.Write(&b, o)
	}
	b.WriteString("\n" + o.commands(c) + "\n")
	return o.write(w, b.String())
}

// caseHeading returns the line with the outcome, the name and the facts of a case.
func (o Options) caseHeading(c *Case, pad int) string {
	name := padded(c.Scenario, pad)
	facts := []string{c.Kubernetes, c.seeds().Label()}
	if until := c.Runs[0].Until; !slices.ContainsFunc(c.Runs, func(r *Run) bool { return r.Until != until }) {
		facts = append(facts, shortDuration(until.Offset()))
	}
	facts = append(facts, c.Counts())
	if c.idle() {
		facts = append(facts, nothing)
	}
	line := "  " + strings.Join(facts, "  ")
	if utf8.RuneCountInString(line)+8+utf8.RuneCountInString(name) > o.width() {
		line = "\n" + strings.Join(document.Wrap(line, o.width(), 40), "\n  ")
	}
	return o.mark(c.Outcome()) + "  " + o.paint(bold, name) + line + "\n"
}

func (c *Case) seeds() summary.Seeds {
	var seeds summary.Seeds
	for _, r := range c.Runs {
		seeds.Add(r.SeedOrZero())
	}
	return seeds
}

// SeedOrZero returns the seed of a run, or 0 for a run without a seed.
func (r *Run) SeedOrZero() int64 {
	if r.Seed == nil {
		return 0
	}
	return *r.Seed
}

// Counts returns the number of runs with each outcome: "79 ok, 21 failed".
func (c *Case) Counts() string {
	n := map[Outcome]int{}
	for _, r := range c.Runs {
		n[r.Outcome()]++
	}
	parts := []string{fmt.Sprintf("%d ok", n[OK])}
	if n[Failed] > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n[Failed]))
	}
	if n[Broken] > 0 {
		parts = append(parts, fmt.Sprintf("%d ended early", n[Broken]))
	}
	return strings.Join(parts, ", ")
}

// broken returns the error of the first run that ended early, and the seeds of the others.
func (o Options) broken(c *Case) string {
	k := newChecks(o)
	var more summary.Seeds
	for _, r := range c.Runs {
		switch {
		case r.Err == nil:
		case k.b.Len() > 0:
			more.Add(r.SeedOrZero())
		default:
			text := strings.ReplaceAll(printable.Lines(strings.TrimSpace(r.Err.Error())), "\n", "\n"+k.margin+"  ")
			k.b.WriteString(k.margin + o.paint(bad, "ERROR") + "  " + seedLabel(r) + text + "\n")
		}
	}
	if len(more) > 0 {
		k.hanging("", 2, "and "+more.Label()+" ended early")
	}
	return k.b.String()
}

func seedLabel(r *Run) string {
	if r.Seed == nil {
		return ""
	}
	return fmt.Sprintf("seed %d: ", *r.Seed)
}

// Tally counts the outcomes of an expectation in the runs of a case.
type Tally struct {
	*Expectation               // of the first run in which it failed, or of the first run that has it
	Held         int           // number of runs in which it held
	Broken       int           // number of runs in which it failed
	Unmet        int           // number of runs in which it did not hold, if it needs to hold in only some runs
	Skipped      int           // number of runs to which it does not apply
	Seeds        summary.Seeds // of the runs in which it failed
	First        *Run          // first run in which it failed, or nil
	Over         *Expectation  // outcome across all runs, if it needs to hold in only some runs

	runs int // number of completed runs that have it
}

// Tallies counts the outcomes of each expectation, in the order of the scenario. A step that was
// not executed counts as an expectation of the runs in which this happened.
func (c *Case) Tallies() []*Tally {
	type key struct {
		file         string
		line, column int
		name         string
	}
	byKey := map[key]*Tally{}
	var all []*Tally
	of := func(e *Expectation) *Tally {
		k := key{e.File, e.Line, e.Column, e.Name}
		t := byKey[k]
		if t == nil {
			t = &Tally{Expectation: e}
			byKey[k] = t
			all = append(all, t)
		}
		return t
	}
	for _, r := range c.Runs {
		for i := range r.Expectations {
			of(&r.Expectations[i]).add(&r.Expectations[i], r)
		}
	}
	for _, t := range all { // runs that executed a step have no expectation for it
		t.Held += c.completed() - t.runs
	}
	for i := range c.Expectations {
		of(&c.Expectations[i]).Over = &c.Expectations[i]
	}
	slices.SortStableFunc(all,
		func(a, b *Tally) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	return all
}

// completed returns the number of runs that did not end early.
func (c *Case) completed() int {
	n := 0
	for _, r := range c.Runs {
		if r.Err == nil {
			n++
		}
	}
	return n
}

func (t *Tally) add(e *Expectation, r *Run) {
	if r.Err == nil {
		t.runs++
	}
	switch e.Outcome {
	case OK:
		t.Held++
	case Unmet:
		t.Unmet++
	case Skipped:
		t.Skipped++
	case Failed:
		if t.First == nil {
			t.Expectation, t.First = e, r
		}
		t.Broken++
		t.Seeds.Add(r.SeedOrZero())
	}
}

// Outcome returns Failed if the expectation failed in a run or across all runs, Skipped if it
// applied to no run, and OK otherwise.
func (t *Tally) Outcome() Outcome {
	switch {
	case t.Broken > 0 || t.Over != nil && t.Over.Outcome == Failed:
		return Failed
	case t.Held+t.Unmet == 0:
		return Skipped
	}
	return OK
}

// Count returns in how many runs the expectation held: "held in 79 of 100".
func (t *Tally) Count() string {
	return fmt.Sprintf("held in %d of %d", t.Held, t.Held+t.Broken+t.Unmet)
}

// Note returns what to know about the count: that the expectation does not need to hold in each
// run, or did not apply to some.
func (t *Tally) Note() string {
	var parts []string
	if t.Over != nil {
		parts = append(parts, "one run is enough")
	}
	if t.Skipped > 0 {
		parts = append(parts, "skipped in "+plural(t.Skipped, "run"))
	}
	return strings.Join(parts, ", ")
}

// tallies returns a line for each expectation, and what broke it.
func (o Options) tallies(c *Case) string {
	all := c.Tallies()
	width := 0
	for _, t := range all {
		width = max(width, len(t.Count()))
	}
	k := newChecks(o)
	var last *Tally // that failed
	for _, t := range all {
		mark, st := "ok    ", good
		switch t.Outcome() {
		case Failed:
			mark, st = "FAILED", bad
		case Skipped:
			mark, st = "skipped", dim
		}
		label := fmt.Sprintf("%s  %-*s  ", o.paint(st, mark), width+6-len(mark), t.Count())
		k.hanging(label, 10+width, join(printable.Text(t.Name), parens(t.Note())))
		if t.Outcome() == Failed {
			k.broken(t, last)
			last = t
		}
	}
	return k.b.String()
}

// broken writes where an expectation stands, the seeds that broke it, and what happened in the
// first of their runs. last is the previous expectation that failed, or nil.
func (c *checks) broken(t, last *Tally) {
	c.hanging("  at        ", 12, t.at())
	e, seed := t.Expectation, ""
	if t.First != nil {
		label := t.Seeds.Label()
		if last != nil && t.Seeds.Count() > 1 && slices.Equal(last.Seeds, t.Seeds) {
			label = "the same seeds"
		}
		c.hanging("  broken by ", 12, label)
		seed = fmt.Sprintf(" (seed %d)", t.First.SeedOrZero())
	} else {
		e = t.Over
	}
	if e.Why != "" {
		c.hanging("  ", 2, printable.Text(e.Why))
	}
	if len(e.Failures) > 0 {
		c.hanging("  expected  ", 12, printable.Text(e.Failures[0].Expected))
		c.hanging("  got       ", 12, printable.Text(e.Failures[0].Got)+seed)
	}
	if more := len(e.Failures) - 1 + e.More; more > 0 {
		c.hanging("  ", 2, fmt.Sprintf("and %d more%s", more, seed))
	}
}

// Statistic is a row of the statistics of a pod or container.
type Statistic struct {
	Label, Key string // for people, for programs
	*summary.Distribution
	Times bool // values are times in nanoseconds, not numbers
}

// Rows returns the statistics of a pod or container that have values.
func Rows(s *summary.Statistics) []Statistic {
	return slices.DeleteFunc(allRows(s), func(r Statistic) bool { return r.Count() == 0 })
}

func allRows(s *summary.Statistics) []Statistic {
	return []Statistic{
		{"restarts", "restarts", &s.Restarts, false}, {"time to Ready", "timeToReady", &s.ToReady, true},
		{"not Ready afterwards", "notReady", &s.Unready, true}, {"longest outage", "longestOutage", &s.Outage, true},
		{"rollout took", "rolloutTook", &s.Took, true}, {"fewest Ready", "fewestReady", &s.Fewest, false},
		{"lost requests", "lostRequests", &s.Lost, false},
	}
}

// table returns the table of the statistics of a case, or nil if there are none.
func (c *Case) table() *Table {
	if c.Statistics == nil || c.Statistics.Runs == 0 {
		return nil
	}
	t := &Table{Left: 1}
	t.Head("", "min", "median", "p95", "max", "seed")
	for _, p := range c.Statistics.Pods {
		if len(Rows(&p.Statistics)) == 0 {
			continue
		}
		t.Line(EachLabel(p), bold)
		t.statistics(&p.Statistics)
		for _, k := range p.Shown() {
			name := trace.PodName(p.Name) + "/" + k.Name
			if k.Equal(&p.Statistics) {
				t.Line(name+": the same numbers as the pod", dim)
				continue
			}
			t.Line(name, bold)
			t.statistics(&k.Statistics)
		}
	}
	if n := len(c.Runs) - c.Statistics.Runs; n > 0 {
		t.Line(fmt.Sprintf("The numbers do not include %s that ended early.", plural(n, "run")), dim)
	}
	return t
}

// PodsLabel returns the name of a group of pods: "web", or "web (3 pods)".
func PodsLabel(p *summary.PodStatistics) string { return podsLabel(p, "") }

// EachLabel returns the name of a group of pods above numbers of which each pod of each run has its
// own: "web (3 pods, each counts)".
func EachLabel(p *summary.PodStatistics) string { return podsLabel(p, ", each counts") }

func podsLabel(p *summary.PodStatistics, more string) string {
	switch n := len(p.Pods); n {
	case 0:
		return trace.PodName(p.Name)
	case 1:
		return trace.PodName(p.Pods[0])
	default:
		return fmt.Sprintf("%s (%d pods%s)", trace.PodName(p.Name), n, more)
	}
}

// statistics adds the rows of a pod or container.
func (t *Table) statistics(s *summary.Statistics) {
	for _, r := range Rows(s) {
		if r.Key == "longestOutage" && r.Same() && r.Min() == 0 {
			continue // there is no time without Ready
		}
		never, seeds := r.Never()
		if never == r.Count() {
			t.Row(Cell{"  " + r.Label, plain}, Cell{}, Cell{}, Cell{}, Cell{"never", bad})
			t.Line("    not Ready at any time of the run", dim)
			continue
		}
		max, seed := r.Max()
		row := []Cell{{"  " + r.Label, plain}, r.cell(r.Min()), r.cell(r.Median()), r.cell(r.Quantile(95)), r.cell(max)}
		if !r.Same() {
			row = append(row, Cell{fmt.Sprint(seed), dim})
		}
		t.Row(row...)
		if never > 0 {
			t.Line(fmt.Sprintf("    never: not within the run, %d of %d (%s)", never, r.Count(), seeds.Label()), dim)
		}
	}
}

func (r *Statistic) cell(v int64) Cell { return Cell{r.Text(v), r.style(v)} }

// style marks the values that are bad for a container.
func (r *Statistic) style(v int64) style {
	switch {
	case v == int64(summary.Never):
		return bad
	case v > 0 && r.Key != "timeToReady":
		return warn
	}
	return plain
}

// Text formats a value for people.
func (r *Statistic) Text(v int64) string {
	if !r.Times {
		return fmt.Sprint(v)
	}
	return Span(time.Duration(v))
}

// Span formats a time for people, in the notation of all times of a trace.
func Span(d time.Duration) string {
	if d == summary.Never {
		return "never"
	}
	return trace.FormatTime(virtual.At(d))
}

// worst returns the worst run of a case. A run that ended early is worse than a failed one, which
// is worse than one that is ok; see summary.Worse for the rest. The first of equal runs counts.
func (c *Case) worst() *Run {
	return slices.MinFunc(c.Runs, Worse)
}

// Worse compares two runs by their outcomes and numbers. It returns a negative number if a is
// worse.
func Worse(a, b *Run) int {
	rank := map[Outcome]int{Broken: 0, Failed: 1, OK: 2}
	return cmp.Or(cmp.Compare(rank[a.Outcome()], rank[b.Outcome()]), summary.Worse(a.Total, b.Total))
}

// Choose returns the n most telling runs of a case, or all if it has no more: first those that
// ended early, then the first run that broke each expectation, then the worst. They are in the
// order of the case.
func (c *Case) Choose(n int) []*Run {
	if len(c.Runs) <= n {
		return c.Runs
	}
	first := map[*Run]bool{}
	for _, t := range c.Tallies() {
		first[t.First] = true
	}
	order := slices.Clone(c.Runs)
	slices.SortStableFunc(order, func(a, b *Run) int {
		return cmp.Or(cmp.Compare(early(b), early(a)), cmp.Compare(yes(first[b]), yes(first[a])), Worse(a, b))
	})
	chosen := map[*Run]bool{}
	for _, r := range order[:n] {
		chosen[r] = true
	}
	return slices.DeleteFunc(slices.Clone(c.Runs), func(r *Run) bool { return !chosen[r] })
}

func early(r *Run) int { return yes(r.Err != nil) }

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}

// firstFailed returns the first run that is not ok, or nil.
func (c *Case) firstFailed() *Run {
	if i := slices.IndexFunc(c.Runs, func(r *Run) bool { return r.Outcome() != OK }); i >= 0 {
		return c.Runs[i]
	}
	return nil
}

// commands returns the commands that repeat the first failed run and the worst run.
func (o Options) commands(c *Case) string {
	failed, worst := c.firstFailed(), c.worst()
	switch {
	case failed == nil:
		return o.command("worst run", worst, c.Pods())
	case failed == worst:
		return o.command("first failure and worst run", worst, c.Pods())
	}
	return o.command("first failure", failed, c.Pods()) + o.command("worst run", worst, c.Pods())
}

// Pods returns the number of pods in each run of a case.
func (c *Case) Pods() int {
	n := 0
	if c.Statistics != nil {
		for _, p := range c.Statistics.Pods {
			n += len(p.Pods)
		}
	}
	return n
}

func (o Options) command(label string, r *Run, pods int) string {
	c := newChecks(o)
	c.hanging("", 2, label+": "+strings.Join(r.brief(pods), ", "))
	if r.Replay != "" {
		c.b.WriteString(c.margin + "  " + o.paint(dim, printable.Text(r.Replay)) + "\n")
	}
	return c.b.String()
}

// brief returns the seed and the most important numbers of a run. Those of several pods are of all
// of them.
func (r *Run) brief(pods int) []string {
	var parts []string
	if r.Seed != nil {
		parts = append(parts, fmt.Sprintf("seed %d", *r.Seed))
	}
	if r.Err != nil {
		return append(parts, "ended early")
	}
	n := r.Total
	of := ""
	if pods > 1 {
		of = fmt.Sprintf(" of %d pods", pods)
	}
	if n.Restarts > 0 {
		parts = append(parts, plural(n.Restarts, "restart")+of)
	}
	if n.ToReady != summary.Never {
		parts = append(parts, "Ready after "+Span(n.ToReady))
	} else if pods > 1 {
		parts = append(parts, "a pod never Ready")
	} else {
		parts = append(parts, "never Ready")
	}
	if n.Unready > 0 {
		parts = append(parts, "not Ready for "+Span(n.Unready)+" afterwards")
	}
	return parts
}
