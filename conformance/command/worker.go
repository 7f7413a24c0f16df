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

// message is a line of a worker's output: a heartbeat for a seed, or the result of the seed.
type message struct {
	Seed   int
	Result *seedResult `json:",omitempty"`
}

// workerCommand is the name of the hidden command that a worker runs.
const workerCommand = "random-worker"

// newRandomWorker returns the command that compares some seeds for the command random. The process
// ends when its standard input is closed.
func newRandomWorker(t *testing.T, common *flags) *cobra.Command {
	f := &randomFlags{flags: common}
	c := &cobra.Command{
		Use: workerCommand, Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			// the terminal interrupts all its processes; the parent decides when this one ends
			signal.Ignore(os.Interrupt)
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				os.Exit(exitInterrupted)
			}()
			first, last, err := f.seedRange()
			if err != nil {
				return err
			}
			return runWorker(t, os.Stdout, f, first, last)
		},
	}
	c.Flags().StringVar(&f.seeds, "seeds", "", "")
	c.Flags().IntVar(&f.budget, "budget", 0, "")
	c.Flags().IntVar(&f.repeat, "repeat", 1, "")
	c.Flags().DurationVar(&f.shrink, "shrink", 0, "")
	c.Flags().IntVar(&f.scenario.Pods, "pods", 0, "")
	c.Flags().BoolVar(&f.scenario.StepClock, "step-clock", false, "")
	c.Flags().BoolVar(&f.scenario.Rollouts, "rollouts", false, "")
	return c
}

// heartbeatInterval is the minimum time between two heartbeats of a worker.
const heartbeatInterval = time.Second

// runWorker compares seeds and writes messages.
func runWorker(t *testing.T, w io.Writer, f *randomFlags, first, last int) error {
	encoder := json.NewEncoder(w)
	for seed := first; seed <= last; seed++ {
		var lastHeartbeat time.Time
		o := seedOptions{procs: f.procs, budget: f.budget, repeat: f.repeat, shrink: f.shrink, scenario: f.scenario,
			step: func() error {
				if time.Since(lastHeartbeat) < heartbeatInterval {
					return nil
				}
				lastHeartbeat = time.Now()
				return encoder.Encode(message{Seed: seed})
			}}
		result := compareSeed(t, seed, o)
		if err := encoder.Encode(message{Seed: seed, Result: &result}); err != nil {
			return err
		}
	}
	return nil
}
