// Command soak simulates millions of random scenarios and looks for panics, for records that break
// the rules of package invariant, and for runs of one seed that differ.
//
//	go run ./internal/proof/soak --runs 1000000
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/proof/random"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/kube/profile"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	os.Exit(execute(ctx, os.Args[1:], os.Stdout))
}

// Exit codes.
const (
	exitFound       = 1
	exitUsage       = 2
	exitInterrupted = 130
)

var (
	errFound       = errors.New("some runs broke a rule")
	errInterrupted = errors.New("interrupted")
)

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, out io.Writer) int {
	c := newCommand()
	c.SetArgs(args)
	c.SetOut(out)
	switch err := c.ExecuteContext(ctx); {
	case err == nil:
		return 0
	case errors.Is(err, errFound):
		return exitFound
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	default:
		fmt.Fprintf(os.Stderr, "soak: %v\nSee 'go run ./internal/proof/soak --help' for usage\n", err)
		return exitUsage
	}
}

// options are the flags of the command.
type options struct {
	first    uint64
	runs     int64
	long     bool
	changes  bool
	parallel int
	versions []string
}

// seedsOfScenario is the number of seeds of each scenario file.
const seedsOfScenario = 20

// maxFindings is the number of scenarios with findings after which the command stops: a defect
// often shows in many of them.
const maxFindings = 50

func newCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "soak",
		Short: "Simulate random scenarios and look for defects of the simulator",
		Long: `Simulate random scenarios and look for defects of the simulator.

Each scenario has 20 seeds, and the seeds run with the supported releases of Kubernetes in turn. The command
makes each run twice: as 'probesim run' does, and with the internal records and checks. It reports

  - panics and exceeded limits,
  - records that break a rule of the simulation, such as a cause after its effect,
  - questions of the kernel that have no unique identity,
  - two runs of one seed whose traces differ.

It prints its progress each minute, and a summary at the end.

Exit codes: 0 nothing was found, 1 something was found, 2 invalid flags, 130 interrupted.`,
		Example: `  # Make a million runs
  go run ./internal/proof/soak --runs 1000000

  # Go on where the first million ended
  go run ./internal/proof/soak --first 25001 --runs 1000000

  # Change the probes of running pods
  go run ./internal/proof/soak --change-probes --runs 100000

  # Repeat the runs of one scenario
  go run ./internal/proof/soak --first 1234 --runs 40`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(c *cobra.Command, _ []string) error { return soak(c.Context(), c.OutOrStdout(), o) },
	}
	c.Flags().Uint64Var(&o.first, "first", 1, "seed of the first scenario")
	c.Flags().Int64Var(&o.runs, "runs", 10_000, "number of runs; rounded up to whole scenarios")
	c.Flags().BoolVar(&o.long, "long", false, "simulate scenarios of up to 20 minutes instead of short ones")
	c.Flags().BoolVar(&o.changes, "change-probes", false,
		"change the probes of running pods, with the gate MutableContainerProbes of v1.38-preview")
	c.Flags().IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "number of scenarios at the same time")
	c.Flags().StringSliceVar(&o.versions, "kubernetes", profile.Names(),
		"versions to run in turn; name a preview to include it")
	return c
}

// soak makes the runs and writes what it finds.
func soak(ctx context.Context, out io.Writer, o options) error {
	if o.runs < 1 || o.parallel < 1 {
		return errors.New("--runs and --parallel must be at least 1")
	}
	for _, v := range o.versions {
		if _, known := profile.Named(v); !known {
			return fmt.Errorf("--kubernetes: there is no version %q; the versions are %s", v,
				strings.Join(profile.NamesWithPreviews(), ", "))
		}
	}
	if o.changes {
		o.versions = []string{"v1.38-preview"} // the only version with the gate
	}
	debug.SetGCPercent(800) // the heap of a run is small, and the runs allocate much
	began := time.Now()
	report := &summary{out: out, versions: o.versions, began: began, next: began.Add(time.Minute)}
	random := random.Options{Seeds: seedsOfScenario, Short: !o.long, WithProbeChanges: o.changes}
	perScenario := int64(2 * seedsOfScenario)
	scenarios := int((o.runs + perScenario - 1) / perScenario)
	err := pool.InOrder(ctx, scenarios, pool.Options{Parallel: o.parallel}, func(ctx context.Context, i int) result {
		return checkScenario(ctx, random, o.first+uint64(i), o.versions)
	}, func(_ int, r result) error {
		if report.add(r); report.found >= maxFindings {
			return errFound
		}
		return nil
	})
	interrupted := err == nil && ctx.Err() != nil
	report.write(interrupted)
	switch {
	case report.found > 0:
		return errFound
	case interrupted:
		return errInterrupted
	}
	return nil
}
