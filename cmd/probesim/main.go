// Command probesim runs the liveness, readiness and startup probes of Pods through kubelet logic on a
// virtual clock and says what the kubelet does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second one ends the process at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var coded *exitError
	if !errors.As(err, &coded) {
		coded = &exitError{code: exitUsage, err: fmt.Errorf("%w\nRun '%s --help' for usage", err, command.CommandPath())}
	}
	if coded.err != nil {
		fmt.Fprintf(stderr, "probesim: %v\n", coded.err)
	}
	return coded.code
}

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1   // an expectation failed
	exitUsage       = 2   // bad usage, or a bad file
	exitBroken      = 3   // a limit was hit, or the program is at fault
	exitInterrupted = 130 // as shells report it
	exitPipe        = 141 // stdout was closed, as shells report it
)

// exitError ends the program with a code, and a message if there is one.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "probesim",
		Short: "Say what a kubelet makes of your probes",
		Long: `probesim runs the liveness, readiness and startup probes of Pods through kubelet logic on a virtual
clock, against containers whose programs follow a script, and says what the kubelet does: when each
probe runs, when the pod becomes Ready, when a container is killed, restarted, backed off. An hour of
node time takes milliseconds, and the same input gives the same trace, byte for byte, on every machine.`,
		Example:       "  probesim run scenarios/library/quickstart\n  probesim run my-scenario.yaml -o jsonl",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newRun(), newVersion())
	return root
}
