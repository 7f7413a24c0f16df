// Package command is the command line of each release's directory. It runs scenario files on the
// real kubelet of that release under virtual time.
package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/conformance/realkubelet"
	"probesim.dev/scenarios"
)

// Exit codes, which are the same as in the command probesim.
const (
	exitDiffers     = 1
	exitBadInput    = 2
	exitFault       = 3
	exitInterrupted = 130 // the code that shells report
)

// flags are the flags of all commands that run scenarios.
type flags struct {
	t       *testing.T
	out     *bufio.Writer
	args    []string // the command line
	seed    int64
	seeded  bool
	procs   int
	verbose bool
}

// effort are the flags of how much a comparison does.
type effort struct{ budget, repeat int }

// addTo adds the flags to a command.
func (e *effort) addTo(c *cobra.Command, budget int, repeatUsage string) {
	c.Flags().IntVar(&e.budget, "budget", budget,
		"number of simulated runs to spend on following one run of the real kubelet")
	c.Flags().IntVar(&e.repeat, "repeat", 1, repeatUsage)
}

func (e *effort) check() error {
	if e.repeat < 1 || e.budget < 1 {
		return errors.New("--repeat and --budget must be at least 1")
	}
	return nil
}

const repeatUsage = "compare this many runs of each scenario, because runs of the real kubelet vary; all must be " +
	"explained. With 1, a run that differs is repeated once"

// faultError is an error that the user did not cause.
type faultError struct{ error }

var (
	errDiffers = errors.New("some runs differ")
	errFailed  = errors.New("some expectations failed")
	errFaults  = faultError{errors.New("some runs failed")}
)

// execute runs the command and returns its exit code.
func execute(t *testing.T, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process immediately
	out := bufio.NewWriter(os.Stdout)
	root := command(t, out, args)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	err = errors.Join(err, out.Flush())
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errDiffers), errors.Is(err, errFailed):
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

func command(t *testing.T, out *bufio.Writer, args []string) *cobra.Command {
	root := &cobra.Command{
		Use: "kubelet",
		Short: "Run scenario files on the real kubelet of Kubernetes " + release.Version +
			" under virtual time",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	f := &flags{t: t, out: out, args: args}
	root.PersistentFlags().IntVar(&f.procs, "procs", 1,
		"number of goroutines that run in parallel; with more than 1, runs are not repeatable")
	root.AddCommand(newRun(f), newCompare(f), newNodes(f), newRandom(f), newRecord(f))
	return root
}

// ofFiles returns a command that takes paths of scenario files.
func (f *flags) ofFiles(use, short string, run func(c *cobra.Command, paths []string) error) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, paths []string) error {
			f.seeded = c.Flags().Changed("seed")
			return run(c, paths)
		}}
	c.Flags().Int64Var(&f.seed, "seed", 0, "run once with this seed instead of the seeds of the scenario")
	return c
}

// plansFor returns the runs of the scenarios for the Kubernetes version of this program. It writes
// a warning for each scenario that it skips.
func plansFor(all []*scenarios.Scenario, f *flags, warnings io.Writer) []*scenarios.Plan {
	var plans []*scenarios.Plan
	for _, s := range all {
		if err := realkubelet.Refuse(s); err != nil {
			fmt.Fprintf(warnings, "%s:%d: skipped %s: %v\n", s.File, s.Line, s.Metadata.Name, err)
			continue
		}
		n := len(plans)
		for _, plan := range s.PlansWith(release.Version) {
			switch {
			case !f.seeded:
				plans = append(plans, plan)
			case len(plans) == n:
				plans = append(plans, s.Plan(plan.Version, &f.seed))
			}
		}
		if len(plans) == n {
			fmt.Fprintf(warnings, "%s:%d: skipped %s: it is not for Kubernetes %s\n", s.File, s.Line, s.Metadata.Name,
				release.Version)
		}
	}
	return plans
}

// Main runs the command inside a test, because testing/synctest creates bubbles only in tests.
func Main() {
	args := os.Args[1:]
	os.Args = os.Args[:1] // hide the command's flags from package testing
	everything := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{{Name: "conformance", F: func(t *testing.T) {
		// Exit here, so that the command determines the exit code and package testing prints
		// nothing.
		os.Exit(execute(t, args))
	}}}, nil, nil)
}
