package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/scenarios"
	"probesim.dev/trace"
)

// completeFiles completes paths of scenario files.
func completeFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeScenario completes the value of --run with the names of the scenarios in the files of the command line. A name that
// another name continues gets a $, because the value is a regular expression.
func completeScenario(_ *cobra.Command, paths []string, _ string) ([]string, cobra.ShellCompDirective) {
	all := names(readable(paths))
	found := slices.Clone(all)
	for i, name := range all {
		if slices.ContainsFunc(all, func(other string) bool { return other != name && strings.HasPrefix(other, name) }) {
			found[i] += "$"
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completePod completes the value of --pod with the names of the pods in the chosen scenarios.
func (o *whyOptions) completePod(_ *cobra.Command, paths []string, _ string) ([]string, cobra.ShellCompDirective) {
	return o.parts(paths, func(pod string, _ []string) []string { return []string{trace.PodName(pod)} })
}

// completeContainer completes the value of --container with the names of the containers in the chosen pods.
func (o *whyOptions) completeContainer(_ *cobra.Command, paths []string, _ string) ([]string, cobra.ShellCompDirective) {
	return o.parts(paths, func(pod string, containers []string) []string {
		if o.pod != "" && o.pod != pod && o.pod != trace.PodName(pod) {
			return nil
		}
		return containers
	})
}

// parts returns the distinct names that pick returns for the pods of the chosen scenarios, in the order of the files.
func (o *whyOptions) parts(paths []string, pick func(pod string, containers []string) []string) ([]string, cobra.ShellCompDirective) {
	run := o.run
	run.parallel, run.output = 1, ""
	s, err := run.parse()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for _, scenario := range readable(paths) {
		if s.pattern != nil && !s.pattern.MatchString(scenario.Metadata.Name) {
			continue
		}
		q := &whyQuestion{pods: pods(scenario.Plans()[0])}
		for _, pod := range q.pods {
			q.pod = pod.Namespace + "/" + pod.Name
			for _, name := range pick(q.pod, q.containers()) {
				if !slices.Contains(found, name) {
					found = append(found, name)
				}
			}
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// readable returns the scenarios of valid files.
func readable(paths []string) []*scenarios.Scenario {
	all, _ := scenarios.LoadOptions{KeepGoing: true}.Load(paths...)
	return all
}
