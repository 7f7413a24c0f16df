package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"probesim.dev/kube/profile"
	"probesim.dev/report"
	"probesim.dev/report/diff"
	"probesim.dev/scenarios"
)

func newDiff() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "diff PATH...",
		Short: "Say what differs between versions of Kubernetes",
		Long: `Run scenarios with two or more versions of Kubernetes and say how the runs
differ: the first record that differs with those around it, and a table of what
that comes to, such as when pods became Ready and how often containers were
restarted. Of several scenarios or seeds there is a line each.

Versions are those of --kubernetes, else the oldest and the newest that the
scenario allows (kubernetesVersions), else that are known. A scenario that
allows one version only is passed over, unless --kubernetes names others.

The words of events, which every release changes, and status patches in which
nothing changes that a trace shows, are no difference.

Exit codes, as those of diff: 0 no difference, 1 some runs differ, 2 bad usage
or a bad file, 3 a limit was hit or the program is at fault, 130 interrupted.`,
		Example: `  probesim diff web.yaml                            oldest and newest version
  probesim diff web.yaml --kubernetes v1.34,v1.37   these two
  probesim diff scenarios/ --run restart            a line for each scenario`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Contains(args, "") {
				return errors.New("diff needs a scenario file or a folder")
			}
			return nil
		},
		PreRunE: refuseEmpty,
		RunE:    func(cmd *cobra.Command, args []string) error { return diffFiles(cmd, args, o) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.kubernetes, "kubernetes", nil, "versions to compare, such as v1.34,v1.37 or v1.34..")
	flags.StringVar(&o.pattern, "run", "", "only scenarios whose name matches this regular expression")
	flags.StringVar(&o.seed, "seed", "", "seeds instead of those of the scenarios: one, or a range such as 1..100")
	flags.StringVar(&o.until, "until", "", "virtual time to run, instead of the duration of the scenarios")
	flags.StringVarP(&o.output, "output", "o", "text", "text or json")
	flags.IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "comparisons at once")
	flags.Lookup("parallel").DefValue = "the number of CPUs"
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(profile.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// comparison is a scenario, with one seed or none, that is run with several versions.
type comparison struct{ jobs []*job }

func (c comparison) names() []string {
	var names []string
	for _, j := range c.jobs {
		names = append(names, j.plan.Version)
	}
	return names
}

func diffFiles(cmd *cobra.Command, paths []string, o runOptions) error {
	if !slices.Contains([]string{"text", "json"}, o.output) {
		return fmt.Errorf("--output must be text or json, not %q", o.output)
	}
	parsed := o
	parsed.output = ""
	s, err := parsed.parse()
	if err != nil {
		return err
	}
	for _, text := range o.kubernetes {
		if _, err := parseVersions([]string{text}); err != nil {
			return fmt.Errorf("--kubernetes: %w", err)
		}
	}
	if len(s.versions) == 1 {
		return fmt.Errorf("--kubernetes: %s alone cannot be compared; known: %s", s.versions[0], strings.Join(profile.Names(), ", "))
	}
	all, err := scenarios.Load(paths...)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("nothing was run\n%w", err)}
	}
	list, err := s.comparisons(all, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	return runDiffs(cmd, list, o)
}

// comparisons returns what is to be compared, and tells of scenarios that are passed over.
func (s *selection) comparisons(all []*scenarios.Scenario, stderr io.Writer) ([]comparison, error) {
	if _, err := s.jobs(all); err != nil {
		return nil, err // nothing has the name
	}
	var list []comparison
	var passed, asked []string
	for _, scenario := range all {
		if s.pattern != nil && !s.pattern.MatchString(scenario.Metadata.Name) {
			continue
		}
		one := *s
		one.versions = s.comparable(scenario)
		if len(one.versions) < 2 {
			passed = append(passed, scenario.Metadata.Name)
			continue
		}
		if leavesOut(scenario, one.versions) {
			asked = append(asked, scenario.Metadata.Name)
		}
		list = append(list, one.bySeed(scenario)...)
	}
	if len(passed) > 0 {
		fmt.Fprintf(stderr, "probesim: passed over, as their kubernetesVersions allow one version alone: %s; --kubernetes compares them all the same\n", few(passed))
	}
	if len(asked) > 0 {
		fmt.Fprintf(stderr, "probesim: with versions that their kubernetesVersions leave out: %s\n", few(asked))
	}
	if len(list) == 0 {
		return nil, &exitError{exitUsage, errors.New("there is nothing to compare")}
	}
	return list, nil
}

// comparable returns the versions that a scenario is compared with.
func (s *selection) comparable(scenario *scenarios.Scenario) []string {
	if s.versions != nil {
		return s.versions
	}
	versions := profile.Names()
	if len(scenario.Spec.KubernetesVersions) > 0 {
		versions = planned(scenario)
	}
	if len(versions) < 2 {
		return versions
	}
	return []string{versions[0], versions[len(versions)-1]}
}

// leavesOut reports whether a scenario says that it is not for one of these versions.
func leavesOut(scenario *scenarios.Scenario, versions []string) bool {
	if len(scenario.Spec.KubernetesVersions) == 0 {
		return false
	}
	allowed := planned(scenario)
	return slices.ContainsFunc(versions, func(v string) bool { return !slices.Contains(allowed, v) })
}

// bySeed returns the comparisons of a scenario: one for each seed.
func (s *selection) bySeed(scenario *scenarios.Scenario) []comparison {
	plans := s.plans(scenario)
	seeds := len(plans) / len(s.versions)
	list := make([]comparison, seeds)
	for i, plan := range plans {
		c := &list[i%seeds]
		c.jobs = append(c.jobs, s.job(plan, i))
	}
	return list
}

// runDiffs makes the comparisons and writes them in order.
func runDiffs(cmd *cobra.Command, list []comparison, o runOptions) error {
	var jobs []*job
	pad := 0
	for _, c := range list {
		jobs = append(jobs, c.jobs...)
		pad = max(pad, min(utf8.RuneCountInString(c.jobs[0].plan.Scenario.Metadata.Name), 48))
	}
	ctx, out := cmd.Context(), &diffOutput{o: o, stdout: cmd.OutOrStdout(), text: textOptions(cmd.OutOrStdout()), pad: pad, many: len(list) > 1}
	out.progress = newProgress(cmd.ErrOrStderr(), jobs)
	go out.progress.loop()
	defer out.progress.stop()
	err := inOrder(ctx, len(list), o.parallel, 2*o.parallel, func(i int) *report.Diff { return list[i].compare(ctx, out.progress) }, out.emit)
	out.progress.stop()
	if err == nil && o.output == "json" {
		err = report.DiffJSON(out.stdout, out.all)
	}
	if err != nil {
		return writeError(err)
	}
	if ctx.Err() != nil && len(out.all) < len(list) {
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: %d of %d comparisons were made", len(out.all), len(list))}
	}
	return out.verdict()
}

// compare makes the runs of a comparison.
func (c comparison) compare(ctx context.Context, p *progress) *report.Diff {
	scenario := c.jobs[0].plan.Scenario
	d := &report.Diff{Scenario: scenario.Metadata.Name, File: scenario.File, Line: scenario.Line, Seed: c.jobs[0].plan.Seed, Names: c.names()}
	var runs []diff.Run
	for _, j := range c.jobs {
		s := j.simulate(ctx, false, nil, p.virtual())
		if s.err != nil {
			d.Err = fmt.Errorf("%s: %w", j.plan.Version, s.err)
			return d
		}
		runs = append(runs, diff.Run{Records: s.records, End: s.end})
	}
	for i := range len(runs) - 1 {
		d.Pairs = append(d.Pairs, diff.Compare(runs[i], runs[i+1]))
	}
	d.Changed = diff.Changed(runs...)
	return d
}

// diffOutput writes comparisons.
type diffOutput struct {
	o        runOptions
	stdout   io.Writer
	text     report.Options
	pad      int
	many     bool
	progress *progress
	all      []*report.Diff
	stopped  bool // the others are not wanted
}

func (out *diffOutput) emit(i int, d *report.Diff) error {
	if out.stopped || errors.Is(d.Err, errInterrupted) {
		out.stopped = true
		return nil
	}
	out.all = append(out.all, d)
	out.progress.done((i + 1) * len(d.Names))
	defer out.progress.resume()
	switch {
	case out.o.output == "json":
		return nil
	case out.many || d.Err != nil:
		return report.DiffLine(out.stdout, d, out.pad, out.text)
	}
	return report.DiffText(out.stdout, d, out.text)
}

// verdict ends many with how many differ, and returns the exit code as an error.
func (out *diffOutput) verdict() error {
	differ, broken := 0, 0
	for _, d := range out.all {
		switch {
		case d.Err != nil:
			broken++
		case !d.Same():
			differ++
		}
	}
	if out.many && out.o.output != "json" {
		if _, err := fmt.Fprintf(out.stdout, "%d compared: %d the same, %d differ\n", len(out.all), len(out.all)-differ-broken, differ); err != nil {
			return writeError(err)
		}
	}
	switch {
	case broken > 0:
		return &exitError{code: exitBroken}
	case differ > 0:
		return &exitError{code: exitFailed}
	}
	return nil
}
