package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/summary"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// CaseSummary writes a summary of the runs of a case: in how many runs each expectation held, the
// distributions of the numbers of each pod, and the commands that repeat the first failed run and
// the worst run.
func CaseSummary(w io.Writer, c *Case, o document.Options) error {
	if len(c.Runs) == 0 {
		return nil
	}
	line := lineOf(c.Outcome(), c.Scenario, 0, c.facts()...)
	line.Body = &document.Body{}
	c.AddSummary(line.Body)
	if err := document.WriteText(w, o, func(b *document.Body) { b.Item(line) }); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// facts returns the facts about a case with several runs.
func (c *Case) facts() []string {
	facts := []string{c.Kubernetes}
	if seeds := c.seeds(); len(seeds) > 0 {
		facts = append(facts, seeds.Label())
	}
	if until := c.Runs[0].Until; !slices.ContainsFunc(c.Runs, func(r *Run) bool { return r.Until != until }) {
		facts = append(facts, value.Format(until.Offset()))
	}
	facts = append(facts, c.Counts())
	if c.idle() {
		facts = append(facts, nothing)
	}
	return facts
}

// AddSummary adds what a summary of the runs of a case has.
func (c *Case) AddSummary(b *document.Body) {
	AddNotes(b, c.Runs[0].Notes)
	c.broken(b)
	c.addTallies(b)
	AddNotes(b, c.Unproven)
	c.table(b)
	b.Gap()
	failed, worst := c.firstFailed(), c.worst()
	switch {
	case failed == nil:
		c.command(b, "worst run", worst)
	case failed == worst:
		c.command(b, "first failure and worst run", worst)
	default:
		c.command(b, "first failure", failed)
		c.command(b, "worst run", worst)
	}
}

func (c *Case) seeds() summary.Seeds {
	var seeds summary.Seeds
	for _, r := range c.Runs {
		r.addSeed(&seeds)
	}
	return seeds
}

// addSeed adds the seed of a run, if it has one. An engine can make several runs without a seed.
func (r *Run) addSeed(to *summary.Seeds) {
	if r.Seed != nil {
		to.Add(*r.Seed)
	}
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
	return countsOf(n, "")
}

// countsOf formats numbers of runs, with what to add to those that are ok.
func countsOf(n map[Outcome]int, ok string) string {
	text := printable.Thousands(n[OK]) + " ok" + ok
	if n[Failed] > 0 {
		text += ", " + printable.Thousands(n[Failed]) + " failed"
	}
	if n[Broken] > 0 {
		text += ", " + printable.Thousands(n[Broken]) + " ended early"
	}
	return text
}

// broken adds the error of the first run that ended early, and the seeds of the others.
func (c *Case) broken(b *document.Body) {
	var more summary.Seeds
	var first *Run
	for _, r := range c.Runs {
		switch {
		case r.Err == nil:
		case first != nil:
			more.Add(r.SeedOrZero())
		default:
			first = r
			lines := errorLines(r.Err)
			b.Item(document.Item{Mark: "ERROR", Style: bad, Text: seedLabel(r) + lines[0], Notes: lines[1:]})
		}
	}
	if len(more) > 0 {
		b.Text(plain, "and "+more.Label()+" ended early")
	}
}

func seedLabel(r *Run) string {
	if r.Seed == nil {
		return ""
	}
	return fmt.Sprintf("seed %d: ", *r.Seed)
}

// tally counts the outcomes of an expectation in the runs of a case.
type tally struct {
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

// tallies counts the outcomes of each expectation, in the order of the scenario. A step that was
// not executed counts as an expectation of the runs in which this happened.
func (c *Case) tallies() []*tally {
	type key struct {
		file         string
		line, column int
		name         string
	}
	byKey := map[key]*tally{}
	var all []*tally
	of := func(e *Expectation) *tally {
		k := key{e.File, e.Line, e.Column, e.Name}
		t := byKey[k]
		if t == nil {
			t = &tally{Expectation: e}
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
		func(a, b *tally) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
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

func (t *tally) add(e *Expectation, r *Run) {
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
		r.addSeed(&t.Seeds)
	}
}

// Outcome returns Failed if the expectation failed in a run or across all runs, Skipped if it
// applied to no run, and OK otherwise.
func (t *tally) Outcome() Outcome {
	switch {
	case t.Broken > 0 || t.Over != nil && t.Over.Outcome == Failed:
		return Failed
	case t.Held+t.Unmet == 0:
		return Skipped
	}
	return OK
}

// Count returns in how many runs the expectation held: "held in 79 of 100".
func (t *tally) Count() string {
	return fmt.Sprintf("held in %d of %d", t.Held, t.Held+t.Broken+t.Unmet)
}

// Note returns what to know about the count: that the expectation does not need to hold in each
// run, or did not apply to some.
func (t *tally) Note() string {
	var parts []string
	if t.Over != nil {
		parts = append(parts, "one run is enough")
	}
	if t.Skipped > 0 {
		parts = append(parts, "skipped in "+Plural(t.Skipped, "run"))
	}
	return strings.Join(parts, ", ")
}

// addTallies adds a line for each expectation, and what broke it.
func (c *Case) addTallies(b *document.Body) {
	all := c.tallies()
	width := 0
	for _, t := range all {
		width = max(width, len(t.Count()))
	}
	b.List()
	var last *tally // that failed
	for _, t := range all {
		mark, style := markOf(t.Outcome(), 7)
		x := document.Item{Mark: fmt.Sprintf("%s %-*s", mark, width, t.Count()), Style: style,
			Text: t.Name + parens(t.Note())}
		if t.Outcome() == Failed {
			x.Body = &document.Body{}
			t.broken(x.Body, last)
			last = t
		}
		b.Item(x)
	}
}

// broken adds where an expectation stands, the seeds that broke it, and what happened in the first
// of their runs. last is the previous expectation that failed, or nil.
func (t *tally) broken(b *document.Body, last *tally) {
	e, seeds, seed := t.Over, "", ""
	switch {
	case t.First != nil && t.First.Seed == nil:
		e = t.Expectation
	case t.First != nil:
		e, seeds, seed = t.Expectation, t.Seeds.Label(), fmt.Sprintf(" (seed %d)", *t.First.Seed)
		if last != nil && t.Seeds.Count() > 1 && slices.Equal(last.Seeds, t.Seeds) {
			seeds = "the same seeds"
		}
	}
	first := *e
	if n := len(e.Failures); n > 0 {
		first.Failures, first.More = []Failure{{Expected: e.Failures[0].Expected, Got: e.Failures[0].Got}}, e.More+n-1
	}
	first.details(b, seeds, seed)
}

// statistic is a row of the statistics of a pod or container.
type statistic struct {
	summary.Kind
	*summary.Distribution
}

// rowsOf returns the statistics of a pod or container that have values.
func rowsOf(s *summary.Statistics) (rows []statistic) {
	for i, d := range s.Distributions() {
		if d.Count() > 0 {
			rows = append(rows, statistic{summary.Kinds[i], d})
		}
	}
	return rows
}

// table adds the table of the statistics of a case, if there are any.
func (c *Case) table(b *document.Body) {
	if c.Statistics == nil || c.Statistics.Runs == 0 {
		return
	}
	t := &document.Table{Left: 1, Head: []string{"", "min", "median", "p95", "max", "seed"}}
	for _, p := range c.Statistics.Pods {
		if len(rowsOf(&p.Statistics)) == 0 {
			continue
		}
		t.Line(bold, eachLabel(p))
		c.addStatistics(t, &p.Statistics)
		for _, k := range p.Shown() {
			name := trace.PodName(p.Name) + "/" + k.Name
			if k.Equal(&p.Statistics) {
				t.Line(dim, name+": the same numbers as the pod")
				continue
			}
			t.Line(bold, name)
			c.addStatistics(t, &k.Statistics)
		}
	}
	if n := len(c.Runs) - c.Statistics.Runs; n > 0 {
		t.Line(dim, fmt.Sprintf("The numbers do not include %s that ended early.", Plural(n, "run")))
	}
	b.Table(t)
}

// eachLabel returns the name of a group of pods above numbers of which each pod of each run has its
// own: "web (3 pods, each counts)".
func eachLabel(p *summary.PodStatistics) string {
	switch n := len(p.Pods); n {
	case 0:
		return trace.PodName(p.Name)
	case 1:
		return trace.PodName(p.Pods[0])
	default:
		return fmt.Sprintf("%s (%d pods, each counts)", trace.PodName(p.Name), n)
	}
}

// addStatistics adds the rows of a pod or container.
func (c *Case) addStatistics(t *document.Table, s *summary.Statistics) {
	for _, r := range rowsOf(s) {
		if r.Key == "longestOutage" && r.Same() && r.Min() == 0 {
			continue // there is no time without Ready
		}
		never, seeds := r.Never()
		if never == r.Count() {
			t.Row(document.Cell{Text: "  " + r.Label}, document.Cell{}, document.Cell{}, document.Cell{},
				document.Cell{Text: "never", Style: bad})
			t.Line(dim, "    not Ready at any time of the run")
			continue
		}
		t.Row(c.cells(&r)...)
		if never > 0 {
			t.Line(dim, fmt.Sprintf("    never: not within the run, %d of %d (%s)", never, r.Count(), seeds.Label()))
		}
	}
}

// cells returns a row of a distribution: least, median, 95th percentile and greatest, and unless
// all are the same the seed of the greatest, and a histogram for a page.
func (c *Case) cells(r *statistic) []document.Cell {
	most, seed := r.Max()
	row := []document.Cell{{Text: "  " + r.Label}, r.cell(r.Min()), r.cell(r.Median()), r.cell(r.Quantile(95)),
		r.cell(most)}
	if r.Same() {
		return row
	}
	of := document.Cell{Text: fmt.Sprint(seed), Style: dim}
	for _, run := range c.Runs {
		if run.SeedOrZero() == seed {
			of.Link = run.Link()
		}
	}
	return append(row, of, document.Cell{Bars: r.histogram()})
}

// bins is the number of ranges of equal width in a histogram. The last bar has the values that are
// never.
const bins = 24

func (r *statistic) histogram() (bars []document.Bar) {
	values := r.Values()
	never, _ := r.Never()
	counts := make([]int, bins+1)
	counts[bins] = never
	width := (values[max(len(values)-never, 1)-1]-values[0])/bins + 1
	for _, v := range values[:len(values)-never] {
		counts[(v-values[0])/width]++
	}
	for i, n := range counts {
		class := "span"
		if i == bins {
			class = "never"
		}
		if n > 0 {
			bars = append(bars, document.Bar{Class: class, From: float64(i) / (bins + 1), To: float64(i+1) / (bins + 1),
				Part: float64(n) / float64(slices.Max(counts))})
		}
	}
	return bars
}

func (r *statistic) cell(v int64) document.Cell {
	return document.Cell{Text: r.Text(v), Style: r.style(v)}
}

// style marks the values that are bad for a container.
func (r *statistic) style(v int64) document.Style {
	switch {
	case v == int64(summary.Never):
		return bad
	case v > 0 && r.Key != "timeToReady":
		return warn
	}
	return plain
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
	for _, t := range c.tallies() {
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

// command adds what to know about a run, and the command that repeats it.
func (c *Case) command(b *document.Body, label string, r *Run) {
	b.Text(plain, label+": "+strings.Join(r.brief(c.Pods()), ", "))
	b.Command(r.Replay)
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
		parts = append(parts, Plural(n.Restarts, "restart")+of)
	}
	if n.ToReady != summary.Never {
		parts = append(parts, "Ready after "+summary.Span(n.ToReady))
	} else if pods > 1 {
		parts = append(parts, "a pod never Ready")
	} else {
		parts = append(parts, "never Ready")
	}
	if n.Unready > 0 {
		parts = append(parts, "not Ready for "+summary.Span(n.Unready)+" afterwards")
	}
	return parts
}
