package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"probesim.dev/internal/runner/pool"
)

// newCommand returns a command for files, with its help texts.
func newCommand(use, short, long, examples string, args cobra.PositionalArgs,
	run func(*cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: examples,
		Args: args, ValidArgsFunction: completeFiles, PreRunE: rejectEmptyFlags, RunE: run,
	}
}

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

// rejectEmptyFlags rejects flags with an empty value: --seed "$SEED" with SEED unset must not run
// other seeds.
func rejectEmptyFlags(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if text := f.Value.String(); err == nil && (text == "" || text == "[]") {
			err = fmt.Errorf("--%s has no value", f.Name)
		}
	})
	return err
}

// ignored returns an error if one of some flags is set. why says when they have no effect.
func ignored(cmd *cobra.Command, why string, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return fmt.Errorf("--%s has no effect %s", name, why)
		}
	}
	return nil
}

// addOutput adds the flag --output. Without a default, the command chooses the format.
func addOutput(cmd *cobra.Command, output *string, byDefault string, formats []string) {
	usage := "Output `format`: " + either(formats)
	if byDefault == "" {
		usage += "."
	}
	cmd.Flags().StringVarP(output, "output", "o", byDefault, usage)
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// checkOutput rejects a format that a command does not have.
func checkOutput(output string, formats []string) error {
	if !slices.Contains(formats, output) {
		return fmt.Errorf("--output must be %s, not %q", either(formats), output)
	}
	return nil
}

// either lists words, with "or" before the last one.
func either(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func addParallel(cmd *cobra.Command, parallel *int, what string) {
	cmd.Flags().IntVar(parallel, "parallel", runtime.GOMAXPROCS(0),
		fmt.Sprintf("Maximum `number` of %s at the same time, up to %d for each CPU", what, pool.PerCPU))
	cmd.Flags().Lookup("parallel").DefValue = "number of CPUs"
}

// addMemory adds the flag --max-memory.
func addMemory(cmd *cobra.Command, m *pool.Memory) {
	*m = pool.DefaultMemory
	cmd.Flags().Var(m, "max-memory", "Maximum `size` of memory for all runs together, for example 512MB, 8GB or 4Gi. "+
		"The trace of one run can take about half of it.")
	cmd.Flags().Lookup("max-memory").DefValue = "1GB"
}

// watchMemory ends a command that exceeds --max-memory. It returns a function that ends the watch.
func watchMemory(cmd *cobra.Command, m pool.Memory) (stop func()) {
	ctx, stop := m.Watch(cmd.Context())
	cmd.SetContext(ctx)
	return stop
}
