package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// pairs returns the runs of the scenarios with each manifest, in the same order.
func (o *compareOptions) pairs(cmd *cobra.Command, before, after []input.File) (pairs [2][]*runner.Job, err error) {
	if o.scenario == "" {
		return pairs, nil
	}
	s := o.run.Selection
	s.Versions = o.versions
	for i, files := range [][]input.File{before, after} {
		options := loadOptions(cmd)
		for _, f := range files {
			options.Instead = append(options.Instead, scenarios.Source(f))
		}
		all, err := options.Load(o.scenario)
		if err == nil {
			pairs[i], err = s.Jobs(all)
		}
		if err != nil {
			return pairs, nothing("compared", err)
		}
		if !usesWorkload(all, options.Instead) {
			return pairs, fmt.Errorf("nothing was compared: no scenario in %s uses a workload in %s",
				printable.Text(o.scenario), listed(files))
		}
	}
	return pairs, nil
}

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

// runPairs runs the scenarios with both manifests, and compares the runs.
func (o *compareOptions) runPairs(cmd *cobra.Command, pairs [2][]*runner.Job) ([]compare.Scenario, error) {
	if len(pairs[0]) > 0 {
		defer watchMemory(cmd, o.run.Memory)()
	}
	list, err := runner.Pairs(cmd.Context(), pairs[0], pairs[1], pool.Options{Parallel: o.parallel}, cmd.ErrOrStderr())
	return list, broken(err)
}
