package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/conformance/realkubelet"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

// newRun returns the command run.
func newRun(f *flags) *cobra.Command {
	output, repeat := "", 1
	c := f.ofFiles("run PATH...", "Run scenarios and check their expectations", func(c *cobra.Command, paths []string) error {
		if repeat < 1 {
			return errors.New("--repeat must be at least 1")
		}
		if output != "" && !slices.Contains(runner.Formats(), output) {
			return fmt.Errorf("--output must be one of %s", strings.Join(runner.Formats(), ", "))
		}
		all, err := scenarios.Load(paths...)
		if err != nil {
			return err
		}
		plans := plansFor(all, f, c.ErrOrStderr())
		if len(plans) == 0 {
			return errors.New("there is nothing to run")
		}
		outcome, err := runner.Write(c.Context(), runner.EngineJobs(repeated(plans, repeat), f.engine, repeatCommand),
			runner.Options{Format: output, Verbose: f.verbose, Stdout: f.out, Stderr: c.ErrOrStderr(),
				Pool: pool.Options{Parallel: 1, Ahead: 1}})
		return errors.Join(err, c.Context().Err(), errorOf(outcome))
	})
	c.Long = `Run runs scenarios on the real kubelet and checks their expectations, as 'probesim run' does. Runs of the real
kubelet vary: with --repeat and --procs 2, the summary counts how often each expectation held.

Exit codes: 0 all expectations held, 1 an expectation failed, 2 invalid files or flags, 3 a run failed,
130 interrupted.`
	c.Example = `  kubelet run my-scenario.yaml
  kubelet run --repeat 100 --procs 2 my-scenario.yaml
  kubelet run -o jsonl my-scenario.yaml`
	c.Flags().StringVarP(&output, "output", "o", "", "output `format` of 'probesim run': "+
		strings.Join(runner.Formats(), ", "))
	c.Flags().IntVar(&repeat, "repeat", 1, "make this many runs of each run of the scenarios")
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false,
		"also record every call to the container runtime and the API server")
	return c
}

// repeated returns each plan n times in a row.
func repeated(plans []*scenarios.Plan, n int) []*scenarios.Plan {
	var list []*scenarios.Plan
	for _, p := range plans {
		list = append(list, slices.Repeat([]*scenarios.Plan{p}, n)...)
	}
	return list
}

// repeatCommand returns the command that makes a run again.
func repeatCommand(p *scenarios.Plan) string {
	text := "kubelet run " + simulate.Quote(p.Scenario.Path())
	if p.Seed != nil {
		text += fmt.Sprintf(" --seed %d", *p.Seed)
	}
	return text
}

// engine makes runs on the real kubelet.
func (f *flags) engine(p *scenarios.Plan, internal bool, start func(drive.World),
	use func(*trace.Record)) ([]trace.Record, error) {
	o := realkubelet.Options{Procs: f.procs, Internal: internal, Details: internal, Rules: use}
	r, err := realkubelet.Run(f.t, realkubelet.ForPlan(p, o), start)
	if err != nil {
		return nil, err
	}
	return r.Records, nil
}

// errorOf returns the error that runs with an outcome end with.
func errorOf(o report.Outcome) error {
	switch o {
	case report.Broken:
		return errFaults
	case report.Failed:
		return errFailed
	case report.Invalid:
		return errors.New("runs ended early because of what the files say")
	}
	return nil
}
