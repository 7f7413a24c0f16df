package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
)

// patience is how long an interrupted command may take to end by itself and to print what it has.
// Then the process ends.
var patience = 700 * time.Millisecond

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stderr = &printable.Writer{To: stderr}
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(files.With(ctx))
	if out := root.OutOrStdout().(*terminal.Output); out.Err != nil {
		err = writeError(out.Err)
	}
	if err == nil {
		return exitOK
	}
	var coded *exitError
	if !errors.As(err, &coded) {
		coded = &exitError{code: exitUsage, err: fmt.Errorf("%w\n%s", err, hint(command, args))}
	}
	if coded.code == exitUsage && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EIO)) { // as for stdout
		coded.code = exitBroken
	}
	if coded.err != nil {
		fmt.Fprintf(stderr, "probesim: %v\n", coded.err)
	}
	return coded.code
}

// hint suggests what to type instead after a usage error.
func hint(command *cobra.Command, args []string) string {
	if !command.HasParent() && len(args) > 0 {
		if exists(args[0]) {
			return "Did you mean 'probesim run " + simulate.Quote(args[0]) + "'?"
		}
	}
	return "See '" + command.CommandPath() + " --help' for usage"
}

// version returns the version of the module and of Go.
func version() string {
	info := buildInfo()
	return info.Main.Version + " " + info.GoVersion
}

// buildInfo returns what the Go command recorded when it built this program. The version of the
// module is never empty.
func buildInfo() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{Main: debug.Module{Version: "unknown"}}
	}
	info.Main.Version = cmp.Or(info.Main.Version, "(devel)")
	return info
}
