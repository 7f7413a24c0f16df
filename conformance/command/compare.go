package command

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/conformance/compare"
	"probesim.dev/scenarios"
)

// compareFlags are the flags of the commands that compare in this process.
type compareFlags struct {
	*flags
	jitterSeed int64
	jittered   bool
	effort
	whole bool // the runs are those of whole nodes, whose times of syncs must be equal too
}

// newCompare returns the command compare.
func newCompare(common *flags) *cobra.Command {
	f := &compareFlags{flags: common}
	c := f.ofFiles("compare PATH...", "Compare the simulator with the real kubelet, and show the first difference of "+
		"each run", func(c *cobra.Command, paths []string) error {
		f.jittered = c.Flags().Changed("jitter-seed")
		all, err := scenarios.Load(paths...)
		if err = cmp.Or(f.check(), err); err != nil {
			return err
		}
		return f.compare(c, plansFor(all, f.flags, c.ErrOrStderr()))
	})
	c.Long = `Compare runs each scenario on the real kubelet, and searches for choices with which the simulator
writes the same records at the same nanoseconds. A choice is, for example, the order of two events at one
instant. If no choice explains a record, compare shows the first such record with both sides around it.

Exit codes: 0 all runs are equal, 1 a run differs, 2 invalid files or flags, 3 a run failed, 130 interrupted.`
	c.Example = `  kubelet compare ../../scenarios/library/quickstart
  kubelet compare --repeat 5 --jitter-seed 3 my-scenario.yaml`
	c.Flags().Int64Var(&f.jitterSeed, "jitter-seed", 0,
		"draw the kubelet's jitter from this seed (default: the seed of the run, or the middle value without one)")
	f.addTo(c, 10000, repeatUsage)
	c.Flags().BoolVar(&f.verbose, "verbose", false,
		"also show the calls to the container runtime and the API server around a difference")
	return c
}

// compare compares runs with the real kubelet, and writes the results and their totals.
func (f *compareFlags) compare(c *cobra.Command, plans []*scenarios.Plan) error {
	o := compare.Options{Procs: f.procs, Budget: f.budget, Internal: f.verbose, Step: c.Context().Err}
	if f.jittered {
		o.JitterSeed = &f.jitterSeed
	}
	pad := 0
	for _, p := range plans {
		pad = max(pad, len(runName(p)))
	}
	var sum summary
	for _, p := range plans {
		name := fmt.Sprintf("%-*s", pad, runName(p))
		run := func() (*compare.Outcome, error) { return compare.Plan(f.t, p, o) }
		for range f.repeat {
			outcome, err := run()
			if stop := o.Step(); stop != nil {
				return errors.Join(sum.write(f.out, true), stop)
			}
			if err != nil {
				sum.faults++
				fmt.Fprintln(f.out, faultLine(name, err.Error()))
			} else {
				f.write(&sum, name, outcome, run)
			}
			if err := f.out.Flush(); err != nil {
				return err
			}
		}
	}
	return errors.Join(sum.write(f.out, false), sum.err())
}

// runName returns the name of a run for the output.
func runName(p *scenarios.Plan) string {
	if p.Seed != nil {
		return fmt.Sprintf("%s seed %d", p.Scenario.Metadata.Name, *p.Seed)
	}
	return p.Scenario.Metadata.Name
}

// write writes the line of a comparison, and the difference if there is one. run makes another run.
func (f *compareFlags) write(sum *summary, name string, o *compare.Outcome, run func() (*compare.Outcome, error)) {
	counts := countsOf(o)
	counts.Equal = counts.Equal && !(f.whole && o.OnlyRecords)
	sum.add(counts)
	line := counts.line(name)
	if f.whole {
		line += fmt.Sprintf("  real kubelet %7s, %7s to follow", o.RealTime.Round(time.Millisecond),
			o.FollowTime.Round(time.Millisecond))
	}
	switch fmt.Fprintln(f.out, line); {
	case o.Equal() && !counts.Equal:
		fmt.Fprintln(f.out, "    the records are equal, but not the times of syncs and manual triggers")
		return
	case o.Equal():
		return
	}
	writeIndented(f.out, o.Text())
	if f.verbose {
		writeIndented(f.out, o.Calls())
	}
	if f.repeat == 1 && !f.whole {
		again := compareSecondRun(o, run)
		fmt.Fprintf(f.out, "    %s\n\n", again)
		sum.addSecond(again)
	}
}

func writeIndented(out *bufio.Writer, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprint(out, "    ", line)
	}
	fmt.Fprintln(out)
}
