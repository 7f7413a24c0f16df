package command

import (
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"testing"
	"time"
)

// message is a line of a worker's output: a heartbeat for a seed, or the result of the seed.
type message struct {
	Seed   int
	Result *seedResult `json:",omitempty"`
}

// workerFlag is the hidden flag of the command random with which it compares some seeds for another
// process.
const workerFlag = "worker"

// heartbeatInterval is the minimum time between two heartbeats of a worker.
const heartbeatInterval = time.Second

// runWorker compares seeds and writes messages. The process ends when its standard input is closed.
func runWorker(t *testing.T, w io.Writer, f *randomFlags) error {
	signal.Ignore(os.Interrupt) // the terminal interrupts all its processes; the parent decides when this one ends
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(exitInterrupted)
	}()
	first, last, err := f.seedRange()
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	for seed := first; seed <= last; seed++ {
		var lastHeartbeat time.Time
		o := f.seedOptions
		o.step = func() error {
			if time.Since(lastHeartbeat) < heartbeatInterval {
				return nil
			}
			lastHeartbeat = time.Now()
			return encoder.Encode(message{Seed: seed})
		}
		result := compareSeed(t, seed, o)
		if err := encoder.Encode(message{Seed: seed, Result: &result}); err != nil {
			return err
		}
	}
	return nil
}
