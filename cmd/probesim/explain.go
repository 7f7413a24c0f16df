package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/schema"
)

func newExplain() *cobra.Command {
	recursive := false
	cmd := &cobra.Command{
		Use:   "explain [PATH]",
		Short: "Get documentation for a field of a scenario or manifest",
		Long: `Describe a field of a scenario file: its meaning, its type and the fields in it.

PATH is the path of the field, with dots between the names. It may start with
the kind of object; the default kind is scenario. Lists need no index. You can
also paste the path from an error message.`,
		Example: `  # Describe the Scenario object
  probesim explain

  # Describe the rules for the behavior of a container
  probesim explain spec.pods.containers.behavior

  # List all fields of an expectation
  probesim explain spec.expect --recursive

  # Describe a field of a Pod
  probesim explain pod.spec.containers.livenessProbe`,
		Args:              paths(0, 1, "explain takes at most one path"),
		ValidArgsFunction: completePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := schema.Find(strings.Join(args, ""))
			if err != nil {
				return &exitError{exitUsage, err}
			}
			return place.Print(cmd.OutOrStdout(), min(cmp.Or(terminal.Options(cmd.OutOrStdout()).Width, 80), 100),
				recursive)
		},
	}
	cmd.Flags().BoolVar(&recursive, "recursive", false, "List all fields below, without their descriptions.")
	return cmd
}

// completePath completes a path up to the next dot.
func completePath(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, directive
	}
	found, more := schema.Complete(prefix)
	if len(found) == 1 && more[found[0]] {
		return []string{found[0] + "."}, directive | cobra.ShellCompDirectiveNoSpace
	}
	return found, directive
}

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenario files",
		Long: `Print the JSON Schema (draft-07) of scenario files, for editors that validate
and complete YAML. It describes one document of a file: a Scenario, a workload,
or another object of a manifest. With the YAML language server, name the schema
in the first line of the scenario file:

  # yaml-language-server: $schema=probesim.schema.json

The schema does not find every error. For example, 'probesim run' also reports
the name of a container that the pod does not have.`,
		Example: "  # Write the schema to a file\n  probesim schema > probesim.schema.json",
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
