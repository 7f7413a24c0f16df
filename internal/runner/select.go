package runner

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
)

// Selection says which runs of scenarios to make. The zero value selects those that the scenarios
// have.
type Selection struct {
	Pattern  *regexp.Regexp  // of the names of scenarios; nil: all
	Versions []string        // nil: the versions of the scenario
	Seeds    *value.IntRange // nil: the seeds of the scenario
	From     time.Duration   // start of the timeline
	Zero     *time.Duration  // time of day at t=0, for timelines; nil: they have virtual times
	Until    time.Duration   // 0: the duration of the scenario
	Set      string          // name of the delays where the scenario sets none; other names: none
	Memory   pool.Memory     // maximum for the command
}

// Matches reports whether a scenario is selected.
func (s *Selection) Matches(scenario *scenarios.Scenario) bool {
	return s.Pattern == nil || s.Pattern.MatchString(scenario.Metadata.Name)
}

// NoMatch returns the error of a selection that selects none of the scenarios.
func (s *Selection) NoMatch(all []*scenarios.Scenario) error {
	return fmt.Errorf("no scenario name matches %s; the scenarios are: %s", strconv.Quote(s.Pattern.String()),
		printable.Few(Names(all)))
}

// sameDelays is the note about several runs of a manifest without --delays.
const sameDelays = "the node has the same fixed delays with each seed, so probes meet each start in the same phase; " +
	"--delays typical draws the delays of each run"

// Jobs returns the selected runs, in the order of the files. It returns an error if there is none.
func (s *Selection) Jobs(all []*scenarios.Scenario) ([]*Job, error) {
	var jobs []*Job
	for _, scenario := range all {
		if !s.Matches(scenario) {
			continue
		}
		for _, p := range s.plans(scenario) {
			jobs = append(jobs, s.job(p))
		}
	}
	if len(jobs) == 0 {
		return nil, s.NoMatch(all)
	}
	group(jobs)
	for _, j := range jobs {
		if j.Runs > 1 && j.Plan.Scenario.Command != nil && j.Plan.Set == "" { // a manifest has no delays
			j.Notes = append(j.Notes, sameDelays)
		}
	}
	return jobs, nil
}

// EngineJobs returns jobs that an engine makes to the ends of their scenarios. command returns the
// command that repeats a run.
func EngineJobs(plans []*scenarios.Plan, engine simulate.Engine, command func(*scenarios.Plan) string) []*Job {
	var jobs []*Job
	for _, p := range plans {
		j := (&Selection{}).job(p)
		j.Engine, j.Replay = engine, command(p)
		jobs = append(jobs, j)
	}
	group(jobs)
	return jobs
}

// group numbers the groups of jobs, and counts their runs.
func group(jobs []*Job) {
	sizes := make([]int, len(jobs))
	for i, j := range jobs {
		if i > 0 {
			j.Group = jobs[i-1].Group
			if before := jobs[i-1].Plan; before.Scenario != j.Plan.Scenario || before.Version != j.Plan.Version {
				j.Group++
			}
		}
		sizes[j.Group]++
	}
	for _, j := range jobs {
		j.Runs = sizes[j.Group]
	}
}

// Names returns the distinct names of scenarios, in the order of the files.
func Names(all []*scenarios.Scenario) []string {
	var list []string
	for _, scenario := range all {
		if name := scenario.Metadata.Name; !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// plans returns the runs of a scenario, with the versions and seeds of the flags if there are any.
func (s *Selection) plans(scenario *scenarios.Scenario) []*scenarios.Plan {
	versions, seeds := s.Versions, cmp.Or(s.Seeds, scenario.Spec.Seeds)
	if versions == nil {
		versions = Planned(scenario)
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

// Planned returns the versions that a scenario runs with.
func Planned(scenario *scenarios.Scenario) []string {
	return printable.Words(plan.SelectVersions(scenario.Spec.KubernetesVersions), value.Version.String)
}

// Newest returns the newest version that a scenario runs with: a release, if there is one.
func Newest(scenario *scenarios.Scenario) string {
	versions := WithoutPreviews(Planned(scenario), 1)
	return versions[len(versions)-1]
}

// WithoutPreviews returns the releases among the versions, or all versions if that leaves fewer
// than enough.
func WithoutPreviews(versions []string, enough int) []string {
	releases := slices.DeleteFunc(slices.Clone(versions), func(v string) bool {
		p, _ := profile.Named(v)
		return p.Preview()
	})
	if len(releases) < enough {
		return versions
	}
	return releases
}

func (s *Selection) job(p *scenarios.Plan) *Job {
	j := &Job{Plan: p, from: virtual.At(s.From), zero: s.Zero, Until: virtual.At(p.Duration),
		Replay: simulate.Command(p), Memory: s.Memory}
	if delays, known := fakeruntime.DelaySet(s.Set); known {
		p.Delays, p.Set = p.Delays.Over(delays), s.Set
		j.Replay += " --delays " + s.Set
	}
	if s.Until != 0 {
		j.Until = virtual.At(s.Until)
		j.Replay += " --until " + value.Format(s.Until)
	}
	return j
}

// CheckFrom rejects a start of the timeline after the end of a run.
func (s *Selection) CheckFrom(jobs []*Job) error {
	for _, j := range jobs {
		if j.from > 0 && j.from >= j.Until {
			return fmt.Errorf("--from: the run of %s ends at %s, not after %s", j.Plan.Scenario.Metadata.Name,
				value.Format(j.Until.Offset()), value.Format(s.From))
		}
	}
	return nil
}
