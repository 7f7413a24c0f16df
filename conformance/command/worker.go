package command

import (
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// message is a line that a worker writes: a sign of life from a seed, or its result.
type message struct {
	Seed   int
	Result *seedResult `json:",omitempty"`
}

// workerCommand is the name of the command of a worker.
const workerCommand = "random-worker"

// newRandomWorker returns the command that compares some seeds for the command random. It ends when its
// standard input does.
func newRandomWorker(t *testing.T, common *flags) *cobra.Command {
	f := &randomFlags{flags: common}
	c := &cobra.Command{
		Use: workerCommand, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			signal.Ignore(os.Interrupt) // it reaches all processes of a terminal; whoever started this one decides
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				os.Exit(exitInterrupted)
			}()
			first, last, err := f.span()
			if err != nil {
				return err
			}
			return work(t, os.Stdout, f, first, last)
		},
	}
	c.Flags().StringVar(&f.seeds, "seeds", "", "")
	c.Flags().IntVar(&f.budget, "budget", 0, "")
	c.Flags().DurationVar(&f.shrink, "shrink", 0, "")
	c.Flags().BoolVar(&f.scenario.StepClock, "step-clock", false, "")
	return c
}

// lifeEvery is how often a worker says that it lives.
const lifeEvery = time.Second

// work compares seeds and writes messages.
func work(t *testing.T, w io.Writer, f *randomFlags, first, last int) error {
	encoder := json.NewEncoder(w)
	for seed := first; seed <= last; seed++ {
		var alive time.Time
		o := seedOptions{procs: f.procs, budget: f.budget, shrink: f.shrink, scenario: f.scenario, step: func() error {
			if time.Since(alive) < lifeEvery {
				return nil
			}
			alive = time.Now()
			return encoder.Encode(message{Seed: seed})
		}}
		result := compareSeed(t, seed, o)
		if err := encoder.Encode(message{Seed: seed, Result: &result}); err != nil {
			return err
		}
	}
	return nil
}
