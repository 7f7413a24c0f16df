package command

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/conformance/compare"
	"probesim.dev/scenarios"
)

// compareFlags are the flags of the command compare.
type compareFlags struct {
	*flags
	jitterSeed int64
	jittered   bool
	effort
}

// newCompare returns the command compare.
func newCompare(common *flags) *cobra.Command {
	f := &compareFlags{flags: common}
	c := f.ofFiles("compare PATH...", "Compare the simulator with the real kubelet, and show the first difference of "+
		"each run", func(c *cobra.Command, paths []string) error {
		f.jittered = c.Flags().Changed("jitter-seed")
		if err := f.check(); err != nil {
			return err
		}
		return compareFiles(c, f, paths)
	})
	c.Long = `Compare runs each scenario on the real kubelet, and searches for choices with which the simulator
writes the same records at the same nanoseconds. A choice is, for example, the order of two events at one
instant. If no choice explains a record, compare shows the first such record with both sides around it.

Exit codes: 0 all runs are equal, 1 a run differs, 2 invalid files or flags, 3 a run failed, 130 interrupted.`
	c.Example = `  kubelet compare ../../scenarios/library/quickstart
  kubelet compare --repeat 5 --jitter-seed 3 my-scenario.yaml`
	c.Flags().Int64Var(&f.jitterSeed, "jitter-seed", 0,
		"draw the kubelet's jitter from this seed (default: the seed of the run, or the middle value without one)")
	f.addTo(c, 2000, repeatUsage)
	c.Flags().BoolVar(&f.verbose, "verbose", false,
		"also show the calls to the container runtime and the API server around a difference")
	return c
}

// compareFiles compares all runs of the scenarios for this version.
func compareFiles(c *cobra.Command, f *compareFlags, paths []string) error {
	all, err := scenarios.Load(paths...)
	if err != nil {
		return err
	}
	plans := plansFor(all, f.flags, c.ErrOrStderr())
	s := &session{out: f.out, step: c.Context().Err}
	pad := 0
	for _, p := range plans {
		pad = max(pad, len(runName(p)))
	}
	for _, p := range plans {
		name := fmt.Sprintf("%-*s", pad, runName(p))
		run := func() (*compare.Outcome, error) { return compare.Plan(f.t, p, f.options(c)) }
		err := s.compare(name, f.repeat, run, func(o *compare.Outcome) {
			s.sum.add(countsOf(o))
			writeOutcome(f.out, name, o, f.verbose)
			if !o.Equal() && f.repeat == 1 {
				again := compareSecondRun(o, run)
				fmt.Fprintf(f.out, "    %s\n\n", again)
				if again == secondExplained {
					s.sum.second++
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return s.end()
}

func (f *compareFlags) options(c *cobra.Command) compare.Options {
	o := compare.Options{Procs: f.procs, Budget: f.budget, Internal: f.verbose, Step: c.Context().Err}
	if f.jittered {
		o.JitterSeed = &f.jitterSeed
	}
	return o
}

// runName returns the name of a run for the output.
func runName(p *scenarios.Plan) string {
	if p.Seed != nil {
		return fmt.Sprintf("%s seed %d", p.Scenario.Metadata.Name, *p.Seed)
	}
	return p.Scenario.Metadata.Name
}

// writeOutcome writes the line of a comparison, and the difference if there is one.
func writeOutcome(out *bufio.Writer, name string, o *compare.Outcome, calls bool) {
	fmt.Fprintln(out, countsOf(o).line(name))
	if !o.Equal() {
		writeIndented(out, o.Text())
		if calls {
			writeIndented(out, o.Calls())
		}
	}
}

func writeIndented(out *bufio.Writer, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprint(out, "    ", line)
	}
	fmt.Fprintln(out)
}
