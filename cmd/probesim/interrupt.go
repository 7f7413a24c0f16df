package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"probesim.dev/internal/runner/cleanup"
)

// patience is how long an interrupted command may take to end by itself and to print what it has. Then the process ends.
var patience = 700 * time.Millisecond

// untilInterrupted executes a command. After the first signal, the context of the command is done. If the command has not ended
// after the patience, or at the second signal, untilInterrupted ends it: it cleans up and returns exitInterrupted, and the caller must
// exit the process.
func untilInterrupted(signals <-chan os.Signal, stderr io.Writer, execute func(context.Context) int) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- execute(ctx) }()
	select {
	case code := <-ended:
		return code
	case <-signals:
		cancel()
	}
	select {
	case code := <-ended:
		return code
	case <-signals:
	case <-time.After(patience):
	}
	cleanup.Process.Run()
	fmt.Fprintln(stderr, "probesim: interrupted")
	return exitInterrupted
}
