package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/value"
)

// newCommand returns a command for files, with its help texts.
func newCommand(use, short, long, examples string, args cobra.PositionalArgs,
	run func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: examples, Args: args, ValidArgsFunction: completeFiles,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return cmp.Or(rejectEmptyFlags(cmd), rejectIdleFlags(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := run(cmd, args)
			if err == nil || errors.As(err, new(*exitError)) || errors.As(err, new(usageError)) {
				return err
			}
			return &exitError{exitUsage, err}
		},
	}
}

// usageError is the error of a command line: the message names the help text.
type usageError struct{ error }

// usage returns a usageError.
func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// someFiles accepts one or more paths. required says what the command requires.
func someFiles(required string) cobra.PositionalArgs { return paths(1, 1<<30, required) }

// paths accepts from least to most paths.
func paths(least, most int, required string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least || len(args) > most:
			return errors.New(required)
		case slices.Contains(args, ""):
			return errors.New("a path is empty; is a shell variable unset?")
		}
		return nil
	}
}

// improveUsage wraps flag usages at 80 columns, and turns unknown help topics and completion
// arguments into errors: cobra answers them with help and exit code 0.
func improveUsage(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	root.SetFlagErrorFunc(flagError)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = knownTopic
		case "completion": // cobra ignores the arguments of a command without RunE
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// knownTopic rejects help topics that do not exist.
func knownTopic(c *cobra.Command, args []string) error {
	if _, rest, err := c.Root().Find(args); err != nil || len(rest) > 0 {
		return fmt.Errorf("unknown help topic %q", strings.Join(args, " "))
	}
	return nil
}

// within returns a context that is done when the wall time is over. Its cause names the flag.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("--time %s is over", value.Format(limit)))
}

// watchMemory ends a command that exceeds --max-memory. It returns a function that ends the watch.
func watchMemory(cmd *cobra.Command, m pool.Memory) (stop func()) {
	ctx, stop := m.Watch(cmd.Context())
	cmd.SetContext(ctx)
	return stop
}

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1   // an expectation failed
	exitUsage       = 2   // invalid usage or an invalid file
	exitBroken      = 3   // a limit was exceeded, or probesim itself failed
	exitInterrupted = 130 // 128 + SIGINT
	exitPipe        = 141 // 128 + SIGPIPE: the reader closed stdout
)

// usualExits ends the help text of a command that makes runs.
const usualExits = `
  3    a limit was exceeded, or probesim itself failed
  130  interrupted`

// exitError ends the program with an exit code, and a message unless err is nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

func (e *exitError) Unwrap() error { return e.err }

// ended returns the exit of runs with an outcome, or of the error that ended them.
func ended(outcome report.Outcome, err error) error {
	switch {
	case err != nil:
		return broken(err)
	case outcome == report.Broken:
		return &exitError{code: exitBroken}
	case outcome == report.Invalid:
		return &exitError{code: exitUsage}
	case outcome == report.Failed:
		return &exitError{code: exitFailed}
	}
	return nil
}

// broken returns the exit of work that needs all its runs, with the error that ended it.
func broken(err error) error {
	early, is := errors.AsType[runner.Interrupted](err)
	switch {
	case is && early.Cause == context.Canceled:
		return &exitError{exitInterrupted, err}
	case err != nil:
		return &exitError{exitBroken, err}
	}
	return nil
}

// failed returns the exit of a command whose answer is that something fails, if it is.
func failed(is bool) error {
	if is {
		return &exitError{code: exitFailed}
	}
	return nil
}

// nothing returns the error of a command that did nothing because of its files.
func nothing(done string, err error) error { return fmt.Errorf("nothing was %s\n%w", done, err) }

// writeError returns the exit for an error of standard output, which execute finds. It is silent if
// the reader closed the pipe.
func writeError(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return &exitError{code: exitPipe}
	}
	return &exitError{exitBroken, err}
}
