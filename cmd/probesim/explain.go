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
	cmd := newCommand("explain [PATH]", "Get documentation for a field of a scenario or manifest", explainHelp,
		explainExamples, paths(0, 1, "explain takes at most one path"),
		func(cmd *cobra.Command, args []string) error {
			place, err := schema.Find(strings.Join(args, ""))
			if err != nil {
				return err
			}
			width := cmp.Or(terminal.Options(cmd.OutOrStdout()).Width, 80)
			return place.Print(cmd.OutOrStdout(), min(width, 100), recursive)
		})
	cmd.ValidArgsFunction = completePath
	cmd.Flags().BoolVar(&recursive, "recursive", false, "List all fields below, without their descriptions.")
	return cmd
}

const explainHelp = `Describe a field of a scenario file: its meaning, its type and the fields in it.

PATH is the path of the field, with dots between the names. It may start with
the kind of object; the default kind is scenario. Lists need no index. You can
also paste the path from an error message.`

const explainExamples = `  # Describe the Scenario object
  probesim explain

  # Describe the rules for the behavior of a container
  probesim explain spec.pods.containers.behavior

  # List all fields of an expectation
  probesim explain spec.expect --recursive

  # Describe a field of a Pod
  probesim explain pod.spec.containers.livenessProbe`

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
	cmd := newCommand("schema", "Print the JSON Schema of scenario files", schemaHelp,
		"  # Write the schema to a file\n  probesim schema > probesim.schema.json", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			text, err := schema.JSON()
			if err == nil {
				_, err = cmd.OutOrStdout().Write(text)
			}
			return err
		})
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

const schemaHelp = `Print the JSON Schema (draft-07) of scenario files, for editors that validate
and complete YAML. It describes one document of a file: a Scenario, a workload,
or another object of a manifest. With the YAML language server, name the schema
in the first line of the scenario file:

  # yaml-language-server: $schema=probesim.schema.json

The schema does not find every error. For example, 'probesim run' also reports
the name of a container that the pod does not have.`
