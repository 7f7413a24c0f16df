package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/conformance/realkubelet"
	"probesim.dev/internal/random"
	"probesim.dev/internal/value"
)

// randomFlags are those of the command random.
type randomFlags struct {
	*flags
	seeds    string
	print    uint64
	out      string
	shrink   time.Duration
	budget   int
	parallel int
	scenario random.Options
}

// maxSeeds is how many seeds a command takes.
const maxSeeds = 1_000_000

// newRandom returns the command that compares random scenarios.
func newRandom(t *testing.T, out *bufio.Writer, common *flags) *cobra.Command {
	f := &randomFlags{flags: common}
	c := &cobra.Command{
		Use: "random", Short: "Compare random scenarios", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("print") {
				_, err := out.Write(f.scenario.Scenario(f.print))
				return err
			}
			if f.scenario.StepClock && !realkubelet.ClockSteps {
				return realkubelet.ErrStepClock
			}
			return runRandom(c, out, f)
		},
	}
	c.Flags().StringVar(&f.seeds, "seeds", "1..100", "which: a number, or the first and the last; a seed draws the kubelet's jitters too")
	c.Flags().Uint64Var(&f.print, "print", 0, "print the scenario file of this seed and do nothing else")
	c.Flags().BoolVar(&f.scenario.StepClock, "step-clock", false, "have the wall clock jump in each; it takes a program that was built for it")
	c.Flags().StringVar(&f.out, "out", "", "write a scenario file of each difference, made small, to this folder")
	c.Flags().DurationVar(&f.shrink, "shrink", 30*time.Second, "how long to try to make such a file small; 0 leaves it as it is")
	c.Flags().IntVar(&f.budget, "budget", 2000, budgetUsage)
	c.Flags().IntVar(&f.parallel, "parallel", runtime.NumCPU(), "how many processes compare at once")
	return c
}

// span parses the seeds.
func (f *randomFlags) span() (first, last int, err error) {
	var r value.IntRange
	if err := r.UnmarshalText([]byte(f.seeds)); err != nil {
		return 0, 0, fmt.Errorf("--seeds: %w", err)
	}
	if r.Min < 0 || r.Max-r.Min < 0 || r.Max-r.Min >= maxSeeds {
		return 0, 0, fmt.Errorf("--seeds must have a first and a last seed, at most %d of them, as in 1..100; it is %q", maxSeeds, f.seeds)
	}
	return r.Min, r.Max, nil
}

// runRandom has workers compare the seeds, and writes what they say in order.
func runRandom(c *cobra.Command, out *bufio.Writer, f *randomFlags) error {
	first, last, err := f.span()
	if err != nil {
		return err
	}
	if f.parallel < 1 || f.budget < 1 || f.shrink < 0 {
		return errors.New("--parallel and --budget must be at least 1, --shrink at least 0")
	}
	w, err := newWorkers(f)
	if err != nil {
		return err
	}
	defer w.close()
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	results, failed := w.run(ctx, first, last)
	r := &randomReport{out: out, dir: f.out, scenario: f.scenario, next: first, waiting: map[int]seedResult{}, progress: newProgress(os.Stderr, last-first+1)}
	for result := range results {
		if err := r.add(result); err != nil {
			cancel()
			for range results {
			}
			return err
		}
	}
	r.progress.clear()
	if err := errors.Join(r.flush(), <-failed); err != nil {
		return err
	}
	return errors.Join(r.sum.write(out, c.Context().Err() != nil), c.Context().Err(), r.sum.err())
}

// randomReport writes results in the order of their seeds.
type randomReport struct {
	out      *bufio.Writer
	dir      string // for files; empty: none are written
	scenario random.Options
	sum      summary
	next     int                // the seed whose turn it is
	waiting  map[int]seedResult // for their turn
	progress *progress
}

func (r *randomReport) add(result seedResult) error {
	r.waiting[result.Seed] = result
	for {
		result, ok := r.waiting[r.next]
		if !ok {
			break
		}
		delete(r.waiting, r.next)
		r.next++
		if err := r.write(result); err != nil {
			return err
		}
	}
	r.progress.show(r.sum.equal+r.sum.differ+r.sum.faults+len(r.waiting), r.sum.differ)
	return nil
}

// flush writes what is left when the turn of some never came.
func (r *randomReport) flush() error {
	for _, seed := range slices.Sorted(maps.Keys(r.waiting)) {
		if err := r.write(r.waiting[seed]); err != nil {
			return err
		}
	}
	return nil
}

func (r *randomReport) write(result seedResult) error {
	name := fmt.Sprintf("seed %d", result.Seed)
	if result.Fault != "" {
		r.sum.faults++
		r.progress.clear()
		fmt.Fprintln(r.out, faultLine(name, result.Fault))
		return r.out.Flush()
	}
	r.sum.add(result.counts)
	if result.Second {
		r.sum.second++
	}
	if result.Equal {
		return nil
	}
	r.progress.clear()
	fmt.Fprintf(r.out, "%s  %v; %s\n", result.line(name), result.RealTime.Round(time.Millisecond), result.Again)
	writeIndented(r.out, result.Text)
	return errors.Join(r.save(result), r.out.Flush())
}

// save writes the file of a difference.
func (r *randomReport) save(result seedResult) error {
	if r.dir == "" {
		return nil
	}
	file := result.Shrunk
	if file == nil {
		file = commented(r.scenario.Scenario(uint64(result.Seed)), fmt.Sprintf("Seed %d; %s\n\n%s", result.Seed, result.Again, result.Text))
	}
	path := filepath.Join(r.dir, fmt.Sprintf("random-%d.yaml", result.Seed))
	fmt.Fprintf(r.out, "    written to %s (%d bytes)\n\n", path, len(file))
	return os.WriteFile(path, file, 0o644)
}
