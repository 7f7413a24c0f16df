package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"probesim.dev/conformance/compare"
	"probesim.dev/conformance/runs"
	"probesim.dev/internal/proof/random"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// recordFlags are the flags of the command record.
type recordFlags struct {
	*flags
	seeds    string
	budget   int
	parallel int
	worker   string // the runs that this process makes for another one
}

// recordBudget is the default number of simulated runs to spend on following a run. Almost every
// run of the library takes fewer than ten.
const recordBudget = 300

// newRecord returns the command record.
func newRecord(common *flags) *cobra.Command {
	f := &recordFlags{flags: common}
	c := &cobra.Command{
		Use: "record PATH...", Short: "Write what the program conformance/change compares, as JSON",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, paths []string) error {
			r, err := newRecorder(f, paths)
			switch {
			case err != nil:
				return err
			case f.worker != "":
				return runWorker(os.Stdout, f.worker, r.record)
			}
			return r.recordAll(c)
		},
	}
	c.Flags().StringVar(&f.seeds, "seeds", "", "also run the random scenarios of these seeds, such as 1..200")
	c.Flags().IntVar(&f.budget, "budget", recordBudget,
		"number of simulated runs to spend on following one run of the real kubelet")
	c.Flags().IntVar(&f.parallel, "parallel", runtime.NumCPU(), "number of processes")
	c.Flags().StringVar(&f.worker, workerFlag, "", "")
	_ = c.Flags().MarkHidden(workerFlag)
	return c
}

// recorder makes numbered runs: those of scenario files, and then those of seeds.
type recorder struct {
	*recordFlags
	plans       []*scenarios.Plan
	first, last int // seeds; first is greater than last if there are none
}

func newRecorder(f *recordFlags, paths []string) (*recorder, error) {
	if f.parallel < 1 || f.budget < 1 {
		return nil, errors.New("--parallel and --budget must be at least 1")
	}
	r := &recorder{recordFlags: f, first: 1}
	all, err := scenarios.Load(paths...)
	if err == nil && f.seeds != "" {
		r.first, r.last, err = rangeOf("seeds", f.seeds)
	}
	r.plans = plansFor(all, f.flags, os.Stderr)
	return r, err
}

// recordAll makes all runs in worker processes, and writes them in order.
func (r *recorder) recordAll(c *cobra.Command) error {
	w, err := newWorkers(r.args, r.parallel, func(number int, why string) runs.Run {
		run, _, _, err := r.at(number)
		run.Fault = why
		if err != nil {
			run.Fault = err.Error()
		}
		return run
	})
	if err != nil {
		return err
	}
	defer w.close()
	total := len(r.plans) + r.last - r.first + 1
	progress := newProgress(os.Stderr)
	done, encoder := 0, json.NewEncoder(r.out)
	err = w.run(c.Context(), 0, total-1, func(run runs.Run) error {
		done++
		progress.show("%d of %d runs", done, total)
		return encoder.Encode(run)
	})
	progress.Stop()
	return errors.Join(err, c.Context().Err())
}

// at returns what is known of a run before it is made, its plan, and the seed of its jitter.
func (r *recorder) at(number int) (runs.Run, *scenarios.Plan, *int64, error) {
	if number >= len(r.plans) {
		seed := int64(r.first + number - len(r.plans))
		run := runs.Run{Scenario: "random", Seed: &seed}
		file, err := scenarioOf(int(seed), random.Options{})
		if err != nil {
			return run, nil, nil, err
		}
		p, err := firstPlan(file)
		return run, p, &seed, err
	}
	p := r.plans[number]
	m := p.Scenario.Metadata
	return runs.Run{Scenario: m.Name, File: p.Scenario.File, Line: p.Scenario.Line, Seed: p.Seed, Bug: m.Labels["bug"],
		Issue: m.Annotations["issue"]}, p, nil, nil
}

// record makes a run. If the simulator cannot make it, a second run of the same scenario decides:
// runs of the real kubelet vary.
func (r *recorder) record(number int, step func() error) runs.Run {
	run, p, jitter, err := r.at(number)
	if err != nil {
		run.Fault = err.Error()
		return run
	}
	follow := func() (*compare.Outcome, error) {
		return compare.Plan(r.t, p, compare.Options{JitterSeed: jitter, Procs: r.procs, Budget: r.budget, Step: step})
	}
	first, err := follow()
	if err == nil {
		run.Hash = trace.Hash(first.Real)
		if first.Equal() {
			return run
		}
		var second *compare.Outcome
		if second, err = follow(); err == nil && second.Equal() {
			run.Once = true
			return run
		}
	}
	if err != nil {
		run.Fault = err.Error()
		return run
	}
	d := first.Divergence
	run.Difference = &runs.Difference{At: trace.FormatTime(d.At), What: first.Change(), Text: d.Change(first.Want())}
	if run.Failed = failedIn(p, first.Real); len(run.Failed) > 0 {
		for _, v := range plan.SelectVersions(p.Scenario.Spec.KubernetesVersions) {
			if v.String() != p.Version && len(failedIn(p.Scenario.Plan(v.String(), p.Seed), first.Real)) == 0 {
				run.As = append(run.As, v.String())
			}
		}
	}
	return run
}

// failedIn returns the expectations of a plan that do not hold in a trace.
func failedIn(p *scenarios.Plan, records []trace.Record) []string {
	results, err := expect.Check(p, expect.Run{Records: records, End: virtual.At(p.Duration)})
	if err != nil {
		return []string{err.Error()}
	}
	var names []string
	for _, r := range results {
		if r.Outcome == report.Failed {
			names = append(names, cmp.Or(r.Expect.Name, fmt.Sprintf("the expectation in line %d", r.Expect.Line)))
		}
	}
	return names
}
