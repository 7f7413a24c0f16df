package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
)

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

// flagError suggests a flag for an unknown one, and rewords errors of strconv about flag values.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
		return errors.New(printable.Text(err.Error()) + similarFlag(c, unknown.GetSpecifiedName()))
	}
	var parse *strconv.NumError
	if !errors.As(err, &parse) {
		return errors.New(printable.Text(err.Error()))
	}
	want := "must be a whole number"
	if parse.Func == "ParseBool" {
		want = "must be true or false"
	}
	return errors.New(printable.Text(strings.TrimSuffix(err.Error(), parse.Error()) + want))
}

// similarFlag suggests a flag of the command in place of an unknown one.
func similarFlag(c *cobra.Command, name string) string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if nearest := strict.Nearest(name, names); nearest != "" {
		return " (did you mean --" + nearest + "?)"
	}
	return ""
}
