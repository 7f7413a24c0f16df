package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"probesim.dev/explore"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/show/why"
	"probesim.dev/internal/world/router"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

// completions complete the values of flags that several commands have, by their names.
var completions = map[string]cobra.CompletionFunc{
	"run": completeScenario, "filename": completeFiles, "output": completeFiles, "measured": completeFiles,
	"router": fixed(router.Names()), "change": fixed([]string{"restart", "undo", "scale="}),
	"policy": fixed(explore.Policies()), "explain": fixed(findingIDs()),
}

// fixed completes one of some words.
func fixed(words []string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// completeFlags completes the values of flags.
func completeFlags(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			complete := completions[f.Name]
			if v, has := f.Value.(interface{ completions() []string }); has && v.completions() != nil {
				complete = fixed(v.completions())
			}
			if _, known := c.GetFlagCompletionFunc(f.Name); complete != nil && !known {
				c.RegisterFlagCompletionFunc(f.Name, complete)
			}
		})
	}
}

// completeJSON completes paths of the JSON files that explore writes.
func completeJSON(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"json"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeFiles completes paths of scenario files.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeScenario completes the value of --run with the names of the scenarios in the files of the
// command line. A name that another name continues gets a $, because the value is a regular
// expression.
func completeScenario(_ *cobra.Command, paths []string, _ string) ([]string, cobra.ShellCompDirective) {
	all := runner.Names(readable(paths))
	found := slices.Clone(all)
	for i, name := range all {
		if slices.ContainsFunc(all,
			func(other string) bool { return other != name && strings.HasPrefix(other, name) }) {
			found[i] += "$"
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completePart completes the value of --pod or --container with the distinct names of the pods in
// the chosen scenarios, or of the containers in the chosen pods.
func (o *whyOptions) completePart(containers bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, paths []string, _ string) (found []string, _ cobra.ShellCompDirective) {
		for _, scenario := range readable(paths) {
			if !o.run.Matches(scenario) {
				continue
			}
			q := &why.Question{Pods: scenario.Plans()[0].Specs()}
			for _, pod := range q.Pods {
				q.Pod = pod.Namespace + "/" + pod.Name
				names := []string{trace.PodName(q.Pod)}
				if containers && (o.pod == "" || o.pod == q.Pod || o.pod == names[0]) {
					names = q.Containers()
				} else if containers {
					continue
				}
				for _, name := range names {
					if !slices.Contains(found, name) {
						found = append(found, name)
					}
				}
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// readable returns the scenarios of valid files.
func readable(paths []string) []*scenarios.Scenario {
	all, _ := scenarios.LoadOptions{KeepGoing: true}.Load(paths...)
	return all
}
