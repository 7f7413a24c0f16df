package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/scenarios/schema"
)

func newExplain() *cobra.Command {
	recursive := false
	cmd := &cobra.Command{
		Use:   "explain [PATH]",
		Short: "Say what a field of a scenario or of a manifest means",
		Long: `Say what a field of a scenario file means, what type it has and which fields are
in it. PATH are the names of the fields that lead to it, with dots; it may begin
with the kind of object, which is scenario if it is left out. Lists need no
index; the paths that errors give will do.`,
		Example: `  probesim explain                                  a Scenario
  probesim explain spec.pods.containers.behavior    the rules of a container
  probesim explain spec.expect --recursive          all fields below
  probesim explain pod.spec.containers.livenessProbe`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("explain takes one path, and there are %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: completePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := schema.Find(strings.Join(args, ""))
			if err != nil {
				return &exitError{exitUsage, err}
			}
			return place.Print(cmd.OutOrStdout(), min(cmp.Or(textOptions(cmd.OutOrStdout()).Width, 80), 100), recursive)
		},
	}
	cmd.Flags().BoolVar(&recursive, "recursive", false, "all fields below, without what they mean")
	return cmd
}

// completePath completes a path up to the next dot.
func completePath(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, directive
	}
	paths, more := schema.Complete(prefix)
	if len(paths) == 1 && more[paths[0]] {
		return []string{paths[0] + "."}, directive | cobra.ShellCompDirectiveNoSpace
	}
	return paths, directive
}

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenario files, for editors",
		Long: `Print the JSON Schema (draft-07) of a document of a scenario file, a Scenario or
a workload, for editors that check and complete YAML. With the YAML language
server, a file names its schema in its first line:

  # yaml-language-server: $schema=probesim.schema.json

What is right for the schema may be wrong in other ways, such as the name of a
container that the pod does not have: that is what 'probesim run' says.`,
		Example: "  probesim schema > probesim.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := schema.JSON()
			if err == nil {
				_, err = cmd.OutOrStdout().Write(text)
			}
			return err
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
}
