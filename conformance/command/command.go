package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"testing"

	"github.com/spf13/cobra"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/realkubelet"
	"probesim.dev/report"
	"probesim.dev/scenarios"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Exit codes, as those of probesim.
const (
	exitDiffers     = 1
	exitBadInput    = 2
	exitFault       = 3
	exitInterrupted = 130 // as shells report it
)

// flags of all commands that run something.
type flags struct {
	seed    int64
	seeded  bool
	procs   int
	verbose bool
}

// faultError is an error that is not the user's.
type faultError struct{ error }

var (
	errDiffers = errors.New("there are differences")
	errFaults  = faultError{errors.New("there are faults")}
)

// execute runs the command and returns its exit code.
func execute(t *testing.T, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second one ends the process at once
	out := bufio.NewWriter(os.Stdout)
	root := command(t, out)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	err = errors.Join(err, out.Flush())
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errDiffers):
		return exitDiffers
	}
	if !errors.Is(err, errFaults) {
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	if errors.As(err, &faultError{}) {
		return exitFault
	}
	return exitBadInput
}

func command(t *testing.T, out *bufio.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubelet",
		Short:         "Run scenario files on the real kubelet of Kubernetes " + kubernetesVersion() + " under virtual time",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	f := &flags{}
	root.PersistentFlags().IntVar(&f.procs, "procs", 1, "how many goroutines run at once; with more than 1 runs do not repeat")
	sub := func(use, short string, run func(c *cobra.Command, paths []string) error) *cobra.Command {
		c := &cobra.Command{
			Use: use, Short: short, Args: cobra.MinimumNArgs(1),
			RunE: func(c *cobra.Command, paths []string) error {
				f.seeded = c.Flags().Changed("seed")
				return run(c, paths)
			},
		}
		c.Flags().Int64Var(&f.seed, "seed", 0, "run once, with this seed, whatever the scenario says")
		return c
	}
	write := func(use, short string, write func(io.Writer, *report.Run, trace.Header, bool) error) *cobra.Command {
		c := sub(use, short, func(c *cobra.Command, paths []string) error { return runFiles(t, c, out, f, paths, write) })
		c.Flags().BoolVar(&f.verbose, "verbose", false, "record every call to the container runtime and the API server too")
		return c
	}
	root.AddCommand(
		write("trace PATH...", "Print the traces as JSON, one record a line", writeTrace),
		write("timeline PATH...", "Draw the runs", writeTimeline),
		newCompare(t, out, f, sub),
		newRandom(t, out, f),
		newRandomWorker(t, f),
	)
	return root
}

// runFiles runs all scenarios of files and folders for this version, and writes each run when it is over.
func runFiles(t *testing.T, c *cobra.Command, out *bufio.Writer, f *flags, paths []string, write func(io.Writer, *report.Run, trace.Header, bool) error) error {
	all, err := scenarios.Load(paths...)
	if err != nil {
		return err
	}
	plans := plansFor(all, f, c.ErrOrStderr())
	for _, plan := range plans {
		if c.Context().Err() != nil {
			return c.Context().Err()
		}
		run, err := runPlan(t, plan, f)
		if err != nil {
			return faultError{fmt.Errorf("%s: %w", plan.Scenario.Metadata.Name, err)}
		}
		h := trace.Header{Scenario: run.Scenario, Kubernetes: run.Kubernetes, Seed: run.Seed, File: plan.Scenario.File, Line: plan.Scenario.Line}
		if err := errors.Join(write(out, run, h, len(plans) > 1), out.Flush()); err != nil {
			return err
		}
	}
	return nil
}

// plansFor returns the runs of scenarios with the version that this program is built of.
func plansFor(all []*scenarios.Scenario, f *flags, warnings io.Writer) []*scenarios.Plan {
	var plans []*scenarios.Plan
	for _, s := range all {
		if s.StepsClock() && !realkubelet.ClockSteps {
			fmt.Fprintf(warnings, "%s:%d: skipped %s: %v\n", s.File, s.Line, s.Metadata.Name, realkubelet.ErrStepClock)
			continue
		}
		n := len(plans)
		for _, plan := range s.Plans() {
			switch {
			case plan.Version != kubernetesVersion():
			case !f.seeded:
				plans = append(plans, plan)
			case len(plans) == n:
				plans = append(plans, s.Plan(plan.Version, &f.seed))
			}
		}
		if len(plans) == n {
			fmt.Fprintf(warnings, "%s:%d: skipped %s: it is not for Kubernetes %s\n", s.File, s.Line, s.Metadata.Name, kubernetesVersion())
		}
	}
	return plans
}

// runPlan runs a scenario once.
func runPlan(t *testing.T, plan *scenarios.Plan, f *flags) (*report.Run, error) {
	r, err := realkubelet.Run(t, realkubelet.ForPlan(plan, realkubelet.Options{Procs: f.procs, Internal: f.verbose}),
		func(w scenarios.World) { plan.Drive(w) })
	if err != nil {
		return nil, err
	}
	return &report.Run{
		Scenario: plan.Scenario.Metadata.Name, Description: plan.Scenario.Spec.Description,
		Kubernetes: plan.Version, Seed: plan.Seed, Until: virtual.At(plan.Duration),
		Records: r.Records, Steps: len(r.Records), Restarts: report.CountRestarts(r.Records), Hash: trace.Hash(r.Records),
	}, nil
}

// kubernetesVersion returns the version of the kubelet in this program.
func kubernetesVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "k8s.io/kubernetes" {
				return m.Version
			}
		}
	}
	return release.Version // a test of this package has no such list
}

// writeTrace writes the records, after a header if there is more than one run.
func writeTrace(w io.Writer, run *report.Run, h trace.Header, several bool) error {
	var line []byte
	if several {
		line = append(trace.AppendHeader(line, &h), '\n')
	}
	for i := range run.Records {
		line = append(trace.AppendJSON(line, &run.Records[i]), '\n')
	}
	_, err := w.Write(line)
	return err
}

func writeTimeline(w io.Writer, run *report.Run, _ trace.Header, _ bool) error {
	o := report.Options{}
	_, newline := io.WriteString(w, "\n")
	return errors.Join(report.Heading(w, run, o), report.Timeline(w, run, o), newline, report.Events(w, run, o), newline)
}
