package runner

import (
	"context"
	"io"
	"slices"

	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/summary"
)

// pairRun is a run with each manifest.
type pairRun struct {
	runs [2]compare.Run
	err  error
}

// Pairs runs scenarios with two manifests, and compares the runs of each scenario and version. The
// jobs of both sides have the same order. The error is an Interrupted if the context is done before
// all runs are complete, and otherwise about the first run that did not complete.
func Pairs(ctx context.Context, before, after []*Job, o pool.Options, stderr io.Writer) ([]compare.Scenario, error) {
	n := len(before)
	if n == 0 {
		return nil, nil
	}
	progress := terminal.NewCounter(stderr, n, "pairs of runs")
	defer progress.Stop()
	var list []compare.Scenario
	var lists [2][]compare.Run
	err := pool.InOrder(ctx, n, o, func(ctx context.Context, i int) pairRun {
		return runPair(ctx, before[i], after[i])
	}, func(i int, r pairRun) error {
		progress.Step()
		if r.err != nil {
			return r.err
		}
		for side := range lists {
			lists[side] = append(lists[side], r.runs[side])
		}
		if plan := before[i].Plan; i == n-1 || before[i+1].Group != before[i].Group {
			list = append(list, compare.Runs(plan.Scenario.Metadata.Name, plan.Version, lists[0], lists[1]))
			lists = [2][]compare.Run{}
		}
		return nil
	})
	if ctx.Err() != nil {
		err = interrupted(ctx, ": %s done", progress)
	}
	return list, err
}

// runPair runs a scenario with each manifest.
func runPair(ctx context.Context, before, after *Job) pairRun {
	var pair pairRun
	for i, j := range []*Job{before, after} {
		s := j.Simulate(ctx, false, nil, nil)
		if s.Err != nil {
			return pairRun{err: j.failed(s.Err)}
		}
		r := compare.Run{Pods: map[string]summary.Numbers{}}
		if j.Plan.Seed != nil {
			r.Seed = *j.Plan.Seed
		}
		measured := summary.Measure(s.Records, s.End)
		for _, g := range simulate.Groups(j.Plan) {
			var pods []summary.Pod
			for _, p := range measured {
				if slices.Contains(g.Pods, p.Name) {
					pods = append(pods, p)
				}
			}
			r.Pods[g.Name] = summary.Total(pods)
		}
		pair.runs[i] = r
	}
	return pair
}
