package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// improveUsage has cobra keep to 80 columns and refuse what it would answer with help and exit code 0.
func improveUsage(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", ".FlagUsagesWrapped 80 "))
	root.SetFlagErrorFunc(flagError)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = knownTopic
		case "completion": // arguments of a command that does nothing are not looked at
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// knownTopic refuses what there is no help about.
func knownTopic(c *cobra.Command, args []string) error {
	if _, rest, err := c.Root().Find(args); err != nil || len(rest) > 0 {
		return fmt.Errorf("unknown help topic %q", strings.Join(args, " "))
	}
	return nil
}

// flagError says without the words of strconv what is wrong with a flag.
func flagError(_ *cobra.Command, err error) error {
	var parse *strconv.NumError
	if !errors.As(err, &parse) {
		return err
	}
	want := "must be a whole number"
	if parse.Func == "ParseBool" {
		want = "must be true or false"
	}
	return errors.New(strings.TrimSuffix(err.Error(), parse.Error()) + want)
}
