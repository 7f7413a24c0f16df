package runner

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/diff"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/summary"
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
		c.jobs = append(c.jobs, s.job(plan, i))
	}
	return list
}

// compare runs the simulations of a comparison.
func (c Comparison) compare(ctx context.Context, p *Progress) *report.Diff {
	scenario := c.jobs[0].Plan.Scenario
	d := &report.Diff{Scenario: scenario.Metadata.Name, File: scenario.File, Line: scenario.Line,
		Seed: c.jobs[0].Plan.Seed, Names: c.names()}
	var runs []diff.Run
	for _, j := range c.jobs {
		d.Notes = append(d.Notes, j.Plan.Notes()...)
		s := j.Simulate(ctx, false, nil, p.Virtual())
		if s.Err != nil {
			d.Err = fmt.Errorf("%s: %w", j.Plan.Version, s.Err)
			return d
		}
		runs = append(runs, diff.Run{Records: s.Records, End: s.End})
		d.Numbers = append(d.Numbers, summary.Measure(s.Records, s.End))
	}
	for i := range len(runs) - 1 {
		d.Pairs = append(d.Pairs, diff.Compare(runs[i], runs[i+1]))
	}
	d.Changed = diff.Changed(runs...)
	return d
}
