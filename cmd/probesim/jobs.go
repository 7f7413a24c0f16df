package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// job is one run to simulate.
type job struct {
	plan   *scenarios.Plan
	from   virtual.Time // start of the timeline
	until  virtual.Time
	group  int    // the same for all runs of one scenario and version
	runs   int    // number of runs of its group
	replay string // command that repeats this run

	title   string         // instead of the name of the scenario; empty: that name
	notes   []string       // about the run, for its report
	chooser choose.Chooser // makes the choices of the run; nil: the seed of the plan does

	surveyed *finished // results of an earlier run of this job; see output.survey
	chosen   bool      // the report shows this run, although it does not show all runs of its case
}

// sameDelays is the note about several runs of a manifest without --delays.
const sameDelays = "the node has the same fixed delays with each seed, so probes meet each start in the same phase; --delays typical draws the delays of each run"

// jobs returns the selected runs, in the order of the files.
func (s *selection) jobs(all []*scenarios.Scenario) ([]*job, error) {
	var jobs []*job
	group := 0
	for _, scenario := range all {
		if s.pattern != nil && !s.pattern.MatchString(scenario.Metadata.Name) {
			continue
		}
		for _, plan := range s.plans(scenario) {
			if n := len(jobs); n > 0 && (jobs[n-1].plan.Scenario != scenario || jobs[n-1].plan.Version != plan.Version) {
				group++
			}
			jobs = append(jobs, s.job(plan, group))
		}
	}
	if len(jobs) == 0 {
		return nil, &exitError{exitUsage, fmt.Errorf("no scenario name matches %s; the scenarios are: %s", strconv.Quote(s.pattern.String()), few(names(all)))}
	}
	sizes := make([]int, group+1)
	for _, j := range jobs {
		sizes[j.group]++
	}
	for _, j := range jobs {
		j.runs = sizes[j.group]
		if j.runs > 1 && j.plan.Scenario.Command != nil && s.set == "" { // a manifest has no delays
			j.notes = append(j.notes, sameDelays)
		}
	}
	return jobs, nil
}

// names returns the distinct names of scenarios, in the order of the files.
func names(all []*scenarios.Scenario) []string {
	var list []string
	for _, scenario := range all {
		if name := scenario.Metadata.Name; !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// few lists up to 20 names, and says how many more there are.
func few(names []string) string {
	const limit = 20
	if more := len(names) - limit; more > 1 {
		return strings.Join(names[:limit], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// plans returns the runs of a scenario, with the versions and seeds of the flags if there are any.
func (s *selection) plans(scenario *scenarios.Scenario) []*scenarios.Plan {
	if s.seeds == nil && s.versions == nil {
		return scenario.Plans()
	}
	versions, seeds := s.versions, s.seeds
	if seeds == nil {
		seeds = scenario.Spec.Seeds
	}
	if versions == nil {
		versions = planned(scenario)
	}
	var plans []*scenarios.Plan
	for _, version := range versions {
		if seeds == nil {
			plans = append(plans, scenario.Plan(version, nil))
			continue
		}
		for seed := seeds.Min; seed <= seeds.Max; seed++ {
			plans = append(plans, scenario.Plan(version, new(int64(seed))))
		}
	}
	return plans
}

// planned returns the versions that a scenario runs with.
func planned(scenario *scenarios.Scenario) []string {
	var versions []string
	for _, p := range scenario.Plans() {
		if n := len(versions); n == 0 || versions[n-1] != p.Version {
			versions = append(versions, p.Version)
		}
	}
	return versions
}

// withoutPreviews returns the releases among the versions, or all versions if that leaves fewer than enough.
func withoutPreviews(versions []string, enough int) []string {
	releases := slices.DeleteFunc(slices.Clone(versions), func(v string) bool {
		p, _ := profile.Named(v)
		return p.Preview()
	})
	if len(releases) < enough {
		return versions
	}
	return releases
}

func (s *selection) job(plan *scenarios.Plan, group int) *job {
	j := &job{plan: plan, from: virtual.At(s.from), until: virtual.At(plan.Duration), group: group, replay: simulate.Command(plan)}
	if s.set != "" {
		plan.Delays = plan.Delays.Over(s.delays)
		j.replay += " --delays " + s.set
	}
	if s.until != 0 {
		j.until = virtual.At(s.until)
		j.replay += " --until " + value.Format(s.until)
	}
	return j
}

// checkFrom rejects a start of the timeline after the end of a run.
func (s *selection) checkFrom(jobs []*job) error {
	for _, j := range jobs {
		if j.from > 0 && j.from >= j.until {
			return fmt.Errorf("--from: the run of %s ends at %s, not after %s", j.plan.Scenario.Metadata.Name, value.Format(j.until.Offset()), value.Format(s.from))
		}
	}
	return nil
}

func quote(word string) string { return simulate.Quote(word) }
