package command

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/conformance/realkubelet"
	"probesim.dev/internal/proof/random"
	"probesim.dev/internal/value"
)

// randomFlags are the flags of the command random.
type randomFlags struct {
	common *flags
	seedOptions
	seeds    string
	print    uint64
	out      string
	parallel int
	worker   string // the seeds that this process compares for another one
}

const podsUsage = "give each scenario up to this many pods, of which many come at once (default: up to 3 pods)"

// maxSeeds is the maximum number of seeds for one command.
const maxSeeds = 1_000_000

// newRandom returns the command random.
func newRandom(common *flags) *cobra.Command {
	f := &randomFlags{common: common}
	c := &cobra.Command{
		Use: "random", Short: "Compare random scenarios", Args: cobra.NoArgs,
		Long: `Random compares one random scenario for each seed, in several processes. It shows the differences in the
order of the seeds, and whether a second run of the real kubelet with the same seed was explained. With
--repeat, each seed has this many runs, and all must be explained.

Exit codes: 0 all runs are equal, 1 a run differs, 2 invalid flags, 3 a run failed, 130 interrupted.`,
		Example: `  kubelet random --seeds 1..400
  kubelet random --seeds 1..60 --repeat 3
  kubelet random --seeds 17 --out differences`,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("print") {
				file, err := scenarioOf(int(f.print), f.scenario)
				if err == nil {
					_, err = common.out.Write(file)
				}
				return err
			}
			f.procs = f.common.procs
			if f.worker != "" {
				return runWorker(os.Stdout, f.worker, func(seed int, step func() error) seedResult {
					f.step = step
					return compareSeed(common.t, seed, f.seedOptions)
				})
			}
			if f.scenario.StepClock && !realkubelet.Overlay {
				return realkubelet.ErrStepClock
			}
			return runRandom(c, f)
		},
	}
	c.Flags().StringVar(&f.seeds, "seeds", "1..100",
		"one seed, or the first and the last seed; each seed also draws the kubelet's jitter")
	c.Flags().Uint64Var(&f.print, "print", 0, "print the scenario file of this seed and exit")
	c.Flags().BoolVar(&f.scenario.StepClock, "step-clock", false,
		"add steps of the wall clock to each scenario; requires a program built with the overlay")
	c.Flags().IntVar(&f.scenario.Pods, "pods", 0, podsUsage)
	c.Flags().BoolVar(&f.scenario.Rollouts, "rollouts", false,
		"compare rollouts of Deployments beside the real controllers, instead of pods")
	c.Flags().StringVar(&f.out, "out", "", "write a shrunk scenario file for each difference to this directory")
	c.Flags().DurationVar(&f.shrink, "shrink", 30*time.Second,
		"time limit for shrinking each file; 0 disables shrinking")
	f.addTo(c, 10000, repeatUsage)
	c.Flags().IntVar(&f.parallel, "parallel", runtime.NumCPU(), "number of processes that compare in parallel")
	c.Flags().StringVar(&f.worker, workerFlag, "", "")
	_ = c.Flags().MarkHidden(workerFlag)
	return c
}

// rangeOf parses the range of a flag.
func rangeOf(flag, text string) (first, last int, err error) {
	var r value.IntRange
	if err := r.UnmarshalText([]byte(text)); err != nil {
		return 0, 0, fmt.Errorf("--%s: %w", flag, err)
	}
	if r.Min < 0 || r.Max-r.Min < 0 || r.Max-r.Min >= maxSeeds {
		return 0, 0, fmt.Errorf("--%s must be a number or a range such as 1..100, with at most %d numbers; got %q",
			flag, maxSeeds, text)
	}
	return r.Min, r.Max, nil
}

// runRandom compares the seeds in worker processes, and writes the results in the order of the
// seeds.
func runRandom(c *cobra.Command, f *randomFlags) error {
	first, last, err := rangeOf("seeds", f.seeds)
	if err != nil {
		return err
	}
	if f.scenario.Pods < 0 || f.scenario.Pods > maxNodePods {
		return fmt.Errorf("--pods must be from 0 to %d", maxNodePods)
	}
	if f.parallel < 1 || f.shrink < 0 {
		return errors.New("--parallel must be at least 1, --shrink at least 0")
	}
	if err := f.check(); err != nil {
		return err
	}
	args := f.common.args
	if f.out == "" {
		args = append(slices.Clip(args), "--shrink", "0")
	}
	w, err := newWorkers(args, f.parallel, faultOfSeed)
	if err != nil {
		return err
	}
	defer w.close()
	w.most = max(1, chunkSize/f.repeat)
	if f.out != "" {
		w.dumps = f.out
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return err
		}
	}
	r := &randomReport{out: f.common.out, dir: f.out, scenario: f.scenario, seeds: last - first + 1,
		progress: newProgress(os.Stderr)}
	err = w.run(c.Context(), first, last, r.add)
	if r.progress.Stop(); err != nil {
		return err
	}
	return errors.Join(r.sum.write(r.out, c.Context().Err() != nil), c.Context().Err(), r.sum.err())
}

// randomReport writes the results of seeds.
type randomReport struct {
	out      *bufio.Writer
	dir      string // directory for scenario files; if empty, no files are written
	scenario random.Options
	sum      summary
	done     int // seeds with a result
	seeds    int // all of them
	progress *progress
}

func (r *randomReport) add(result seedResult) error {
	r.progress.Hide()
	defer r.progress.Resume()
	err := r.write(result)
	r.done++
	r.progress.show("%d of %d seeds, %d differ", r.done, r.seeds, r.sum.differ)
	return err
}

func (r *randomReport) write(result seedResult) error {
	name := fmt.Sprintf("seed %d", result.Seed)
	if result.Fault != "" {
		r.sum.faults++
		fmt.Fprintln(r.out, faultLine(name, result.Fault))
		return r.out.Flush()
	}
	for i, run := range result.Runs {
		r.sum.add(run.counts)
		if run.Equal {
			continue
		}
		line := run.line(name)
		if len(result.Runs) > 1 {
			line = run.line(fmt.Sprintf("%s, run %d", name, i+1))
		}
		fmt.Fprintf(r.out, "%s  %v", line, run.RealTime.Round(time.Millisecond))
		if result.SecondRun != "" {
			fmt.Fprintf(r.out, "; %s", result.SecondRun)
		}
		fmt.Fprintln(r.out)
		writeIndented(r.out, run.Text)
	}
	r.sum.addSecond(result.SecondRun)
	if result.difference() == nil {
		return nil
	}
	return errors.Join(r.save(result), r.out.Flush())
}

// save writes the scenario file of a difference.
func (r *randomReport) save(result seedResult) error {
	if r.dir == "" {
		return nil
	}
	file := result.Shrunk
	if file == nil {
		scenario, err := scenarioOf(result.Seed, r.scenario)
		if err != nil {
			return err
		}
		file = commented(scenario, fmt.Sprintf("Seed %d; %s\n\n%s", result.Seed, result.SecondRun,
			result.difference().Text))
	}
	path := filepath.Join(r.dir, fmt.Sprintf("random-%d.yaml", result.Seed))
	fmt.Fprintf(r.out, "    written to %s (%d bytes)\n\n", path, len(file))
	return os.WriteFile(path, file, 0o644)
}
