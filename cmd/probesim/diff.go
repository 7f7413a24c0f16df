package main

import (
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/runner"
	"probesim.dev/kube/profile"
)

func newDiff() *cobra.Command {
	var o runOptions
	cmd := newCommand("diff PATH...", "Compare runs of scenarios with several Kubernetes versions", diffHelp,
		diffExamples, someFiles("diff requires a scenario file or directory"),
		o.diff)
	o.add(cmd, "run", "kubernetes", "seed", "until", "keep-going", "parallel", "max-memory")
	cmd.Flags().Lookup("kubernetes").DefValue = "the oldest and the newest"
	addOutput(cmd, &o.output, "text", runner.DiffFormats)
	o.addTo(cmd, appUsage)
	return cmd
}

const diffHelp = `Run scenarios with two or more Kubernetes versions and show how the runs differ:
the records around the first difference, and a table of what changed, such as
the first Ready and the restarts. Several scenarios get a line each.

With several seeds, both versions run with each seed. The output says how many
seeds differ in behavior, and how many in timing only. -o lines writes a line
for each seed instead. 'probesim run' with the same flags compares restarts,
time to Ready and outages.

PATH is a scenario file, a directory to search for scenario files, or - for
stdin. It can also be a manifest without a Scenario; each --app then says what
happens to its programs, as for run.

By default, diff compares the oldest and the newest release that the scenario
allows in kubernetesVersions, or that probesim supports. It skips scenarios that
allow only one version. --kubernetes overrides both.

These do not count as differences: messages, status patches without a visible
change, and the order of records at the same instant.

Exit codes:
  0    no difference
  1    some runs differ
  2    invalid usage or an invalid file` + usualExits

const diffExamples = `  # Compare the oldest and the newest version
  probesim diff web.yaml

  # Compare two versions
  probesim diff web.yaml --kubernetes v1.34,v1.37

  # In how many of 100 seeds do two versions differ?
  probesim diff web.yaml --kubernetes v1.34,v1.37 --seed 1..100

  # Compare the versions with a manifest whose app starts slowly
  probesim diff deployment.yaml --app 'start 45s..70s'`

func (o *runOptions) diff(cmd *cobra.Command, paths []string) error {
	defer watchMemory(cmd, o.Memory)()
	if len(o.Versions) == 1 {
		return usage("--kubernetes: diff requires at least two versions, not only %s; supported versions: %s",
			o.Versions[0], strings.Join(profile.NamesWithPreviews(), ", "))
	}
	all, invalid, _, err := o.loadAny(cmd, paths)
	if err != nil {
		return nothing("run", err)
	}
	list, err := o.Comparisons(all, cmd.ErrOrStderr())
	if err == nil {
		err = ended(runner.Diff(cmd.Context(), list, o.options(cmd)))
	}
	return withInvalid(err, invalid)
}
