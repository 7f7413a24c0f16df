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
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// Comparison holds the runs of a scenario that differ in their version only.
type Comparison struct {
	jobs  []*Job
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
		c.until = s.Until
		c.jobs = append(c.jobs, s.job(plan))
	}
	return list
}

// compare runs the simulations of a comparison.
func (c Comparison) compare(ctx context.Context, p *Progress) *report.Diff {
	scenario := c.jobs[0].Plan.Scenario
	d := &report.Diff{Scenario: scenario.Metadata.Name, File: scenario.File, Line: scenario.Line,
		Seed: c.jobs[0].Plan.Seed, Names: c.names(), Replay: c.replay(),
		Pairs: []*diff.Difference{}, Changed: []diff.Row{}}
	var runs []diff.Run
	for _, j := range c.jobs {
		d.Notes = append(d.Notes, j.Plan.Notes()...)
		s := j.Simulate(ctx, false, nil, p.Virtual())
		if s.Err != nil {
			d.Err = fmt.Errorf("%s: %w", j.Plan.Version, s.Err)
			return d
		}
		runs = append(runs, diff.Run{Name: j.Plan.Version, Records: s.Records, End: s.End})
	}
	for i := range len(runs) - 1 {
		d.Pairs = append(d.Pairs, diff.Compare(runs[i], runs[i+1]))
	}
	d.Changed = diff.Changed(runs...)
	return d
}

// DiffFormats are the values of Options.Format for Diff. Without a value, it is text.
var DiffFormats = []string{"text", "lines", "json"}

// Diff makes the comparisons and writes those that are complete. The outcome is Failed if some runs
// differ. The error is an Interrupted if the context is done before all comparisons are complete,
// and otherwise about writing.
func Diff(ctx context.Context, list []Comparison, o Options) (report.Outcome, error) {
	o.Stdout, o.Stderr = cmp.Or(o.Stdout, io.Discard), cmp.Or(o.Stderr, io.Discard)
	var jobs []*Job
	for _, c := range list {
		jobs = append(jobs, c.jobs...)
	}
	progress := NewProgress(o.Stderr, jobs)
	defer progress.Stop()
	var all report.Diffs
	done, invalid := 0, 0
	_ = pool.InOrder(ctx, len(list), o.Pool, func(ctx context.Context, i int) *report.Diff {
		return list[i].compare(ctx, progress)
	}, func(i int, d *report.Diff) error {
		if len(all.List) < i || errors.Is(d.Err, simulate.ErrInterrupted) {
			return nil // and none after it counts
		}
		all.List = append(all.List, d)
		done += len(list[i].jobs)
		progress.Count(done)
		if isInvalid(d.Err) {
			invalid++
		}
		return nil
	})
	progress.Stop()
	all.Some = len(all.List) < len(list)
	w, text := o.Stdout, terminal.Options(o.Stdout)
	if o.Format != "json" {
		w = terminal.Safe(w)
	}
	if err := all.Write(w, cmp.Or(o.Format, "text"), text); err != nil {
		return report.OK, err
	}
	if all.Some {
		return report.OK, interrupted(ctx, ": %d of %d comparisons completed", len(all.List), len(list))
	}
	switch of := all.Count(); {
	case of[report.EndedEarly] > invalid:
		return report.Broken, nil
	case invalid > 0:
		return report.Invalid, nil
	case of[report.InTiming]+of[report.InBehavior] > 0:
		return report.Failed, nil
	}
	return report.OK, nil
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
