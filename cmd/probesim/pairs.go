package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/check"
	"probesim.dev/check/compare"
	"probesim.dev/internal/printable"
	"probesim.dev/report/summary"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/manifests"
	"probesim.dev/scenarios/simulate"
)

// pairs returns the runs of the scenarios with each manifest, in the same order.
func (o *compareOptions) pairs(before, after []check.File) (pairs [2][]*job, err error) {
	if o.scenario == "" {
		return pairs, nil
	}
	var s selection
	if s.seeds, err = parseSeeds(o.seed); err != nil {
		return pairs, fmt.Errorf("--seed: %w", err)
	}
	if s.versions, err = parseVersions(o.kubernetes); err != nil {
		return pairs, fmt.Errorf("--kubernetes: %w", err)
	}
	for i, files := range [][]check.File{before, after} {
		var options scenarios.LoadOptions
		for _, f := range files {
			options.Instead = append(options.Instead, scenarios.Source(f))
		}
		all, err := options.Load(o.scenario)
		if err == nil {
			pairs[i], err = s.jobs(all)
		}
		if err != nil {
			return pairs, &exitError{exitUsage, fmt.Errorf("nothing was compared\n%w", err)}
		}
		if !usesWorkload(all, options.Instead) {
			return pairs, &exitError{exitUsage, fmt.Errorf("nothing was compared: no scenario in %s uses a workload in %s", printable.Text(o.scenario), listed(files))}
		}
	}
	return pairs, nil
}

// usesWorkload reports whether a scenario uses a workload of a manifest.
func usesWorkload(all []*scenarios.Scenario, sources []scenarios.Source) bool {
	var names []string
	for _, source := range sources {
		if m, err := manifests.Read(source.Name, source.Data); err == nil {
			for _, w := range m.Workloads {
				names = append(names, w.Name)
			}
		}
	}
	return slices.ContainsFunc(all, func(s *scenarios.Scenario) bool {
		return slices.ContainsFunc(s.Spec.Pods, func(p format.Pod) bool { return slices.Contains(names, p.Name) })
	})
}

// pairRun is a run with each manifest.
type pairRun struct {
	runs [2]compare.Run
	err  error
}

// runPairs runs the scenarios with both manifests, and compares the runs of each scenario and version.
func (o *compareOptions) runPairs(cmd *cobra.Command, pairs [2][]*job) ([]compare.Scenario, error) {
	if len(pairs[0]) == 0 {
		return nil, nil
	}
	defer o.memory.apply()()
	ctx, n := cmd.Context(), len(pairs[0])
	progress := newCounter(cmd.ErrOrStderr(), n, "pairs of runs")
	defer progress.stop()
	var list []compare.Scenario
	var lists [2][]compare.Run
	err := inOrder(ctx, n, pool{parallel: o.parallel, ahead: 2 * o.parallel, memory: o.memory}, func(a *account) pairRun {
		return runPair(a, pairs[0][a.number], pairs[1][a.number])
	}, func(i int, r pairRun) error {
		progress.step()
		if r.err != nil {
			return r.err
		}
		for side := range lists {
			lists[side] = append(lists[side], r.runs[side])
		}
		if plan := pairs[0][i].plan; i == n-1 || pairs[0][i+1].group != pairs[0][i].group {
			list = append(list, compare.Runs(plan.Scenario.Metadata.Name, plan.Version, lists[0], lists[1]))
			lists = [2][]compare.Run{}
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, &exitError{exitInterrupted, fmt.Errorf("interrupted: %s done", progress)}
	case err != nil:
		return nil, &exitError{exitBroken, err}
	}
	return list, nil
}

// runPair runs a scenario with each manifest.
func runPair(a *account, before, after *job) pairRun {
	var pair pairRun
	for i, j := range []*job{before, after} {
		s := j.simulate(a, false, nil, nil)
		if s.err != nil {
			return pairRun{err: fmt.Errorf("%s: %s %s: %w", j.plan.Scenario.Pos, j.plan.Scenario.Metadata.Name, j.plan.Version, s.err)}
		}
		r := compare.Run{Pods: map[string]summary.Numbers{}}
		if j.plan.Seed != nil {
			r.Seed = *j.plan.Seed
		}
		measured := summary.Measure(s.records, s.end)
		for _, g := range simulate.Groups(j.plan) {
			var pods []summary.Pod
			for _, p := range measured {
				if slices.Contains(g.Pods, p.Name) {
					pods = append(pods, p)
				}
			}
			r.Pods[g.Name] = summary.Total(pods)
		}
		pair.runs[i] = r
		a.shrink(0)
	}
	return pair
}
