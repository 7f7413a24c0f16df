package command

import (
	"encoding/json"
	"io"
	"os"
	"os/signal"
	"time"
)

// message is a line of a worker's output: a heartbeat for a result, or the result.
type message[T any] struct {
	Number int
	Result *T `json:",omitempty"`
}

// workerFlag is the hidden flag with which a command makes the results of a range of numbers for
// another process.
const workerFlag = "worker"

// heartbeatInterval is the minimum time between two heartbeats of a worker.
const heartbeatInterval = time.Second

// runWorker makes results and writes messages. make calls step again and again. The process ends when
// its standard input is closed.
func runWorker[T any](w io.Writer, numbers string, make func(number int, step func() error) T) error {
	signal.Ignore(os.Interrupt) // the terminal interrupts all its processes; the parent decides when this one ends
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(exitInterrupted)
	}()
	first, last, err := rangeOf(workerFlag, numbers)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	for number := first; number <= last; number++ {
		var lastHeartbeat time.Time
		result := make(number, func() error {
			if time.Since(lastHeartbeat) < heartbeatInterval {
				return nil
			}
			lastHeartbeat = time.Now()
			return encoder.Encode(message[T]{Number: number})
		})
		if err := encoder.Encode(message[T]{Number: number, Result: &result}); err != nil {
			return err
		}
	}
	return nil
}
