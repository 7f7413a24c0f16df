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
	out := &checkedWriter{Writer: stdout}
	root := newRoot(out, stderr)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if out.err != nil {
		err = writeError(out.err)
	}
	if err == nil {
		return exitOK
	}
	var coded *exitError
	if !errors.As(err, &coded) {
		coded = &exitError{code: exitUsage, err: fmt.Errorf("%w\n%s", err, hint(command, args))}
	}
	if coded.err != nil {
		fmt.Fprintf(stderr, "probesim: %v\n", coded.err)
	}
	return coded.code
}

// hint says what to do after bad usage.
func hint(command *cobra.Command, args []string) string {
	if !command.HasParent() && len(args) > 0 {
		if _, err := os.Stat(args[0]); err == nil {
			return "Did you mean 'probesim run " + quote(args[0]) + "'?"
		}
	}
	return "Run '" + command.CommandPath() + " --help' for usage"
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "probesim",
		Short: "Say what a kubelet makes of your probes",
		Long: `probesim runs the liveness, readiness and startup probes of Pods through
kubelet logic on a virtual clock, against containers whose programs follow a
script, and says what the kubelet does: when each probe runs, when the pod
becomes Ready, when a container is killed, restarted, backed off. An hour of
node time takes milliseconds, and the same input gives the same trace, byte for
byte, on every machine.`,
		Example:       "  probesim run scenarios/library/quickstart\n  probesim run my-scenario.yaml -o jsonl",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newRun(), newDiff(), newWhy(), newInit(), newExplain(), newSchema(), newVersion())
	root.SetOut(stdout)
	root.SetErr(stderr)
	improveUsage(root)
	return root
}
