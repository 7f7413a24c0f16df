package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/require"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// compareOptions are the flags of compare.
type compareOptions struct {
	manifestFlags
	run       runOptions // of the scenarios
	beforeRef string
	scenario  string
	failOn    string
}

func newCompare() *cobra.Command {
	var o compareOptions
	cmd := newCommand("compare BEFORE AFTER", "Compare the probe settings of two manifests", compareHelp,
		compareExamples, o.checkArgs,
		o.compare)
	flags := cmd.Flags()
	flags.StringVar(&o.beforeRef, "before-ref", "",
		"Compare with the same file or directory at this git `ref`, such as main or HEAD~1.")
	flags.StringVarP(&o.scenario, "scenario", "f", "", "Also run the scenarios of this `file` with both manifests.")
	addChoice(cmd, &o.failOn, "fail-on", "", "Exit with 1 if a probe is `lost`, if a row is worse or a probe is lost "+
		"(worse), or if a finding of this severity appears: error, warning or note.",
		[]string{"lost", "worse", "error", "warning", "note"})
	o.run.add(cmd, "seed", "max-memory")
	o.addFlags(cmd, reportOutputs)
	return cmd
}

const compareHelp = `Compare the probe settings of two manifests: check both, and print what got
better and what got worse. BEFORE and AFTER are files or directories; one of
them can be - for stdin. With --before-ref, there is only AFTER, and BEFORE is
the same file or directory at a ref of its git repository. What is new since the
ref is added.

The table has the value that holds on every node and in every phase: how long
something can last so that it always goes well, and how long the kubelet takes
at worst. A difference below 0.1s does not count. Below the table are the
findings that appear or disappear.

compare matches workloads by kind, namespace and name, and containers by name;
where a name has changed, by images, or because only one is left. The output
says why.

With --fail-on worse, a lost probe is worse, and so is a container that another
one replaces. A workload that is gone loses its probes. A container that is only
removed from its pod is not worse.

With -f, it also runs a scenario with both manifests, in pairs with the same
seed, and compares restarts, the time to Ready, and the time not Ready after
that; of Deployments and Services also how long a rollout takes, and the
requests that are lost.

Output formats:
  table      tables for a terminal (default)
  html       a self-contained page that draws both settings on one axis` + reportFormats + `
  0    AFTER meets all requirements, and nothing is as bad as --fail-on
  1    AFTER does not meet a requirement, or something is as bad as --fail-on` + manifestExits

const compareExamples = `  # Compare two manifests
  probesim compare old.yaml new.yaml

  # Compare a manifest with its version on the branch main
  probesim compare deployment.yaml --before-ref main

  # Write a comment for a pull request, and fail if something got worse
  probesim compare deployment.yaml --before-ref main -o markdown --fail-on worse

  # Compare the output of Helm with what runs in the cluster
  helm template my-chart | probesim compare running.yaml -

  # Compare 100 runs of a scenario with each manifest, too
  probesim compare old.yaml new.yaml -f scenario.yaml --seed 1..100`

// checkArgs requires two manifests, or one with --before-ref.
func (o *compareOptions) checkArgs(_ *cobra.Command, args []string) error {
	switch {
	case slices.Contains(args, ""):
		return errors.New("a path is empty; is a shell variable unset?")
	case o.beforeRef != "" && len(args) != 1:
		return errors.New("with --before-ref, compare requires one manifest")
	case o.beforeRef == "" && len(args) != 2:
		return errors.New("compare requires two manifests, or one manifest and --before-ref")
	case len(args) == 2 && args[0] == "-" && args[1] == "-":
		return errors.New("only one of the manifests can be stdin")
	}
	return nil
}

func (o *compareOptions) compare(cmd *cobra.Command, paths []string) error {
	options, err := o.configured(cmd)
	if err != nil {
		return err
	}
	if o.run.Seeds != nil && o.scenario == "" {
		return usage("--seed requires -f: the check of a manifest has no seeds")
	}
	before, after, err := o.read(cmd, paths, &options.Excluded)
	if err == nil {
		err = o.unknown(cmd, options, slices.Concat(before, after))
	}
	if err != nil {
		return err
	}
	pairs, err := o.pairs(cmd, before, after)
	if err != nil {
		return err
	}
	var reports []*check.Report
	names := o.names(paths)
	for i, files := range [][]input.File{before, after} {
		r, err := runCheck(cmd, files, names[i], options, o.parallel)
		added := i == 0 && o.beforeRef != "" && len(files) == 0 // nothing is there at the ref
		if err != nil && !(added && errors.Is(err, errNoWorkload)) {
			return err
		}
		reports = append(reports, r)
	}
	r := compare.Compare(reports[0], reports[1])
	r.Before, r.After = names[0], names[1]
	if r.Scenarios, err = o.runPairs(cmd, pairs); err != nil {
		return err
	}
	a := answer{json: r, document: compare.Document(r), findings: compare.Findings(r)}
	if err := a.write(cmd, o.output, alsoFiles{}); err != nil {
		return err
	}
	if len(options.Rollouts) > 0 {
		tell(cmd.ErrOrStderr(), "compare leaves %s to 'probesim rollout'",
			strings.Join(require.Texts(options.Rollouts), ", "))
	}
	if o.output == "table" {
		o.nameRollout(cmd, paths, before, after)
	}
	if reports[0].Problems() || reports[1].Problems() {
		return errors.New("a workload could not be checked")
	}
	return failed(!reports[1].Met() || o.failOn == "lost" && r.Lost() > 0 || o.failOn == "worse" && r.Worse() ||
		r.Appeared(check.Severity(o.failOn)))
}

// names returns the names of both manifests for people.
func (o *compareOptions) names(paths []string) (names [2]string) {
	for i := range names {
		path := paths[min(i, len(paths)-1)]
		if names[i] = printable.Text(path); path == "-" {
			names[i] = "stdin"
		}
	}
	if o.beforeRef != "" {
		names[0] += " at " + printable.Text(o.beforeRef)
	}
	return names
}

// read reads both manifests.
func (o *compareOptions) read(cmd *cobra.Command, paths []string, excluded *[]string) (before, after []input.File,
	err error) {
	last := paths[len(paths)-1]
	switch {
	case o.beforeRef == "":
		before, err = o.readManifests(cmd, false, nil, paths[0])
	case last == "-":
		return nil, nil, errors.New("--before-ref requires a file or a directory, not stdin")
	default:
		r := manifestReader{cmd: cmd, exclude: o.exclude}
		if err = r.readRef(o.beforeRef, last); err != nil {
			err = fmt.Errorf("--before-ref: %w", err)
		}
		before = r.files
	}
	after, afterErr := o.readManifests(cmd, false, excluded, last)
	return before, after, errors.Join(err, afterErr)
}

// pairs returns the runs of the scenarios with each manifest, in the same order.
func (o *compareOptions) pairs(cmd *cobra.Command, before, after []input.File) (pairs [2][]*runner.Job, err error) {
	if o.scenario == "" {
		return pairs, nil
	}
	s := o.run.Selection
	s.Versions = o.versions
	for i, files := range [][]input.File{before, after} {
		options := loadOptions(cmd)
		for _, f := range files {
			options.Instead = append(options.Instead, scenarios.Source(f))
		}
		all, err := options.Load(o.scenario)
		if err == nil {
			pairs[i], err = s.Jobs(all)
		}
		if err != nil {
			return pairs, nothing("compared", err)
		}
		if !usesWorkload(all, options.Instead) {
			return pairs, fmt.Errorf("nothing was compared: no scenario in %s uses a workload in %s",
				printable.Text(o.scenario), listed(files))
		}
	}
	return pairs, nil
}

func usesWorkload(all []*scenarios.Scenario, sources []scenarios.Source) bool {
	var names []string
	for _, source := range sources {
		if m, err := manifests.Read(source.Name, source.Data); err == nil {
			for _, w := range m.Workloads {
				names = append(names, w.Name)
			}
		}
	}
	return slices.ContainsFunc(all, func(s *scenarios.Scenario) bool {
		return slices.ContainsFunc(s.Spec.Pods, func(p format.Pod) bool { return slices.Contains(names, p.Name) })
	})
}

// runPairs runs the scenarios with both manifests, and compares the runs.
func (o *compareOptions) runPairs(cmd *cobra.Command, pairs [2][]*runner.Job) (list []compare.Scenario, err error) {
	jobs := pairs[0]
	if len(jobs) == 0 {
		return nil, nil
	}
	ctx, stop := o.run.Memory.Watch(cmd.Context())
	defer stop()
	runs := make([][2]compare.Run, len(jobs))
	err = doTasks(ctx, cmd, len(jobs), "pairs of runs done", o.parallel, func(ctx context.Context, i int) (err error) {
		runs[i], err = runner.Pair(ctx, jobs[i], pairs[1][i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var before, after []compare.Run
	for i, j := range jobs {
		before, after = append(before, runs[i][0]), append(after, runs[i][1])
		if len(before) == j.Runs {
			list = append(list, compare.Runs(j.Plan.Scenario.Metadata.Name, j.Plan.Version, before, after))
			before, after = nil, nil
		}
	}
	return list, nil
}
