package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/diff"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// Comparison holds the runs of a scenario that differ in their version only.
type Comparison struct {
	jobs  []*Job
	seeds int           // number of comparisons of the scenario
	until time.Duration // 0: the duration of the scenario
}

func (c Comparison) names() []string {
	var names []string
	for _, j := range c.jobs {
		names = append(names, j.Plan.Version)
	}
	return names
}

// Comparisons returns the comparisons of versions to make, or an error if there are none. It notes
// skipped scenarios on stderr.
func (s *Selection) Comparisons(all []*scenarios.Scenario, stderr io.Writer) ([]Comparison, error) {
	if !slices.ContainsFunc(all, s.Matches) {
		return nil, s.NoMatch(all)
	}
	var list []Comparison
	var skipped, excluded []string
	skippedAt := ""
	for _, scenario := range all {
		if !s.Matches(scenario) {
			continue
		}
		one := *s
		one.Versions = s.comparable(scenario)
		if len(one.Versions) < 2 {
			skipped = append(skipped, scenario.Metadata.Name)
			skippedAt = cmp.Or(skippedAt, fmt.Sprintf("%s:%d:1", printable.Text(scenario.File), scenario.Line))
			continue
		}
		if excludes(scenario, one.Versions) {
			excluded = append(excluded, scenario.Metadata.Name)
		}
		list = append(list, one.bySeed(scenario)...)
	}
	if len(skipped) > 0 {
		fmt.Fprintf(stderr, "probesim: skipped scenarios that allow only one version: %s; use --kubernetes to "+
			"compare them anyway\n", printable.Few(skipped))
	}
	if len(excluded) > 0 {
		fmt.Fprintf(stderr, "probesim: scenarios run with versions that their kubernetesVersions exclude: %s\n",
			printable.Few(excluded))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: there is nothing to compare", skippedAt)
	}
	return list, nil
}

// comparable returns the versions to compare a scenario with.
func (s *Selection) comparable(scenario *scenarios.Scenario) []string {
	if s.Versions != nil {
		return s.Versions
	}
	versions := profile.Names()
	if len(scenario.Spec.KubernetesVersions) > 0 {
		versions = WithoutPreviews(Planned(scenario), 2)
	}
	if len(versions) < 2 {
		return versions
	}
	return []string{versions[0], versions[len(versions)-1]}
}

// excludes reports whether kubernetesVersions of a scenario excludes one of these versions.
func excludes(scenario *scenarios.Scenario, versions []string) bool {
	if len(scenario.Spec.KubernetesVersions) == 0 {
		return false
	}
	allowed := Planned(scenario)
	return slices.ContainsFunc(versions, func(v string) bool { return !slices.Contains(allowed, v) })
}

// bySeed returns the comparisons of a scenario, one for each seed.
func (s *Selection) bySeed(scenario *scenarios.Scenario) []Comparison {
	plans := s.plans(scenario)
	seeds := len(plans) / len(s.Versions)
	list := make([]Comparison, seeds)
	for i, plan := range plans {
		c := &list[i%seeds]
		c.seeds, c.until = seeds, s.Until
		c.jobs = append(c.jobs, s.job(plan))
	}
	return list
}

// compare runs the simulations of a comparison.
func (c Comparison) compare(ctx context.Context, p *Progress) *report.Diff {
	scenario := c.jobs[0].Plan.Scenario
	d := &report.Diff{Scenario: scenario.Metadata.Name, File: scenario.File, Line: scenario.Line,
		Seed: c.jobs[0].Plan.Seed, Names: c.names(), Replay: c.replay()}
	var runs []diff.Run
	for _, j := range c.jobs {
		d.Notes = append(d.Notes, j.Plan.Notes()...)
		s := j.Simulate(ctx, false, nil, p.Virtual())
		if s.Err != nil {
			d.Err = fmt.Errorf("%s: %w", j.Plan.Version, s.Err)
			return d
		}
		runs = append(runs, diff.Run{Records: s.Records, End: s.End})
	}
	for i := range len(runs) - 1 {
		d.Pairs = append(d.Pairs, diff.Compare(runs[i], runs[i+1]))
	}
	d.Changed = diff.Changed(runs...)
	return d
}

// DiffFormats are the values of Options.Format for Diff. Without a value, it is text.
var DiffFormats = []string{"text", "lines", "json"}

// Diff makes the comparisons and writes them in order. The outcome is Failed if some runs differ.
// The error is an Interrupted if the context is done before all comparisons are complete, and
// otherwise about writing.
func Diff(ctx context.Context, list []Comparison, o Options) (report.Outcome, error) {
	out := newDiffOutput(list, o)
	defer out.progress.Stop()
	err := pool.InOrder(ctx, len(list), o.Pool, func(ctx context.Context, i int) *report.Diff {
		return list[i].compare(ctx, out.progress)
	}, out.emit)
	out.progress.Stop()
	if err == nil && o.Format == "json" {
		err = report.DiffJSON(out.stdout, out.all, out.summaries)
	}
	if err == nil {
		err = out.writeRest()
	}
	if err == nil && ctx.Err() != nil && out.done() < len(list) {
		err = interrupted(ctx, ": %d of %d comparisons completed", out.done(), len(list))
	}
	if err != nil {
		return report.OK, err
	}
	return out.summarize()
}

func newDiffOutput(list []Comparison, o Options) *diffOutput {
	o.Stdout, o.Stderr = cmp.Or(o.Stdout, io.Discard), cmp.Or(o.Stderr, io.Discard)
	var jobs []*Job
	for _, c := range list {
		jobs = append(jobs, c.jobs...)
	}
	o.Format = cmp.Or(o.Format, "text")
	out := &diffOutput{o: o, stdout: o.Stdout, text: terminal.Options(o.Stdout), pad: pad(jobs), many: len(list) > 1,
		list: list, compared: map[report.Kind]int{}}
	if o.Format != "json" {
		out.stdout = terminal.Safe(out.stdout)
	}
	out.progress = NewProgress(o.Stderr, jobs)
	return out
}

// diffOutput writes comparisons.
type diffOutput struct {
	o        Options
	stdout   io.Writer
	text     document.Options
	pad      int
	many     bool
	list     []Comparison
	progress *Progress
	all      []*report.Diff // for JSON
	stopped  bool           // ignore the remaining comparisons

	compared  map[report.Kind]int // numbers of comparisons
	invalid   int                 // of those that ended early: because of what the files say
	noted     string              // scenario whose notes have been written
	summaries []*report.DiffSummary
}

func (out *diffOutput) emit(i int, d *report.Diff) error {
	if out.stopped || errors.Is(d.Err, simulate.ErrInterrupted) {
		out.stopped = true
		return nil
	}
	out.compared[d.Kind()]++
	if isInvalid(d.Err) {
		out.invalid++
	}
	out.progress.Done((i + 1) * len(d.Names))
	defer out.progress.Resume()
	c := &out.list[i]
	if c.seeds > 1 {
		out.add(d)
	}
	switch {
	case out.o.Format == "json":
		out.all = append(out.all, d)
		return nil
	case c.seeds > 1 && out.o.Format == "text":
		if s := out.summaries[len(out.summaries)-1]; s.Seeds.Count() == c.seeds {
			return s.Write(out.stdout, out.pad, out.text)
		}
		return nil
	case out.many || out.o.Format == "lines" || d.Err != nil:
		line := *d
		if scenario := fmt.Sprint(d.File, ":", d.Line); out.noted == scenario {
			line.Notes = nil // as for the previous seed
		} else {
			out.noted = scenario
		}
		return report.DiffLine(out.stdout, &line, out.pad, out.text)
	}
	return report.DiffText(out.stdout, d, out.text)
}

// done returns the number of comparisons.
func (out *diffOutput) done() (n int) {
	for _, of := range out.compared {
		n += of
	}
	return n
}

// writeRest writes the summary of a scenario that was interrupted.
func (out *diffOutput) writeRest() error {
	n := len(out.summaries)
	if out.o.Format != "text" || n == 0 || out.done() == len(out.list) {
		return nil
	}
	s, last := out.summaries[n-1], out.list[out.done()-1]
	if last.seeds == 1 || s.Seeds.Count() == last.seeds {
		return nil
	}
	return s.Write(out.stdout, out.pad, out.text)
}

// add adds a comparison to the summary of its scenario.
func (out *diffOutput) add(d *report.Diff) {
	n := len(out.summaries)
	if n == 0 || out.summaries[n-1].File != d.File || out.summaries[n-1].Line != d.Line {
		out.summaries = append(out.summaries, &report.DiffSummary{})
	}
	out.summaries[len(out.summaries)-1].Add(d)
}

func (c Comparison) replay() string {
	s := c.jobs[0].Plan.Scenario
	text := "probesim diff"
	for _, word := range simulate.Words(s) {
		text += " " + simulate.Quote(word)
	}
	text += " --run " + simulate.Quote("^"+s.Metadata.Name+"$") + " --kubernetes " + strings.Join(c.names(), ",")
	if seed := c.jobs[0].Plan.Seed; seed != nil {
		text += fmt.Sprintf(" --seed %d", *seed)
	}
	if c.until != 0 {
		text += " --until " + value.Format(c.until)
	}
	return text
}

// summarize writes a summary of several comparisons, and returns the worst outcome.
func (out *diffOutput) summarize() (report.Outcome, error) {
	of := out.compared
	differ := of[report.InTiming] + of[report.InBehavior]
	if out.many && out.o.Format != "json" {
		text := fmt.Sprintf("%d compared: %d same, %d differ", out.done(), of[report.NoDifference], differ)
		if n := of[report.InTiming]; n > 0 {
			text += fmt.Sprintf(", %d of them in timing only", n)
		}
		if _, err := fmt.Fprintln(out.stdout, text); err != nil {
			return report.OK, err
		}
	}
	switch {
	case of[report.EndedEarly] > out.invalid:
		return report.Broken, nil
	case out.invalid > 0:
		return report.Invalid, nil
	case differ > 0:
		return report.Failed, nil
	}
	return report.OK, nil
}
