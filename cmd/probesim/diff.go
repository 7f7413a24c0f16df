package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"probesim.dev/kube/profile"
	"probesim.dev/report"
	"probesim.dev/report/diff"
	"probesim.dev/report/summary"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/simulate"
)

func newDiff() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "diff PATH...",
		Short: "Compare runs of scenarios with several Kubernetes versions",
		Long: `Run scenarios with two or more Kubernetes versions and show how the runs differ:
the records around the first difference, and a table of what changed, such as
the time of the first Ready and the number of restarts. With several scenarios,
the output is one line for each.

With several seeds, both versions run with each seed. The output says how many
seeds differ in behavior, and how many in timing only, and compares the
distributions of restarts, time to Ready and outages. -o lines writes a line for
each seed instead.

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
  2    invalid usage or an invalid file
  3    a limit was exceeded, or probesim itself failed
  130  interrupted`,
		Example: `  # Compare the oldest and the newest version
  probesim diff web.yaml

  # Compare two versions
  probesim diff web.yaml --kubernetes v1.34,v1.37

  # Compare the restarts and outages of two versions over 100 seeds
  probesim diff web.yaml --kubernetes v1.34,v1.37 --seed 1..100

  # Compare the versions with a manifest whose app starts slowly
  probesim diff deployment.yaml --app 'start 45s..70s'

  # Compare all scenarios of a directory whose name contains "restart"
  probesim diff scenarios/ --run restart`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Contains(args, "") {
				return errors.New("diff requires a scenario file or directory")
			}
			return nil
		},
		ValidArgsFunction: completeFiles,
		PreRunE:           rejectEmptyFlags,
		RunE:              func(cmd *cobra.Command, args []string) error { return diffFiles(cmd, args, o) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.kubernetes, "kubernetes", nil, "Kubernetes `versions` to compare, for example v1.34,v1.37 or v1.34..")
	flags.StringVar(&o.pattern, "run", "", patternUsage)
	flags.StringVar(&o.seed, "seed", "", seedUsage)
	flags.StringVar(&o.until, "until", "", untilUsage)
	flags.BoolVar(&o.keepGoing, "keep-going", false, keepGoingUsage)
	flags.StringVarP(&o.output, "output", "o", "text", "Output `format`: text, lines or json")
	o.addApp(cmd)
	o.addLimits(cmd, "comparisons")
	cmd.RegisterFlagCompletionFunc("run", completeScenario)
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "lines", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(profile.NamesWithPreviews(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// comparison holds the runs of a scenario that differ in their version only.
type comparison struct {
	jobs  []*job
	seeds int // number of comparisons of the scenario
}

func (c comparison) names() []string {
	var names []string
	for _, j := range c.jobs {
		names = append(names, j.plan.Version)
	}
	return names
}

func diffFiles(cmd *cobra.Command, paths []string, o runOptions) error {
	if !slices.Contains([]string{"text", "lines", "json"}, o.output) {
		return fmt.Errorf("--output must be text, lines or json, not %q", o.output)
	}
	parsed := o
	parsed.output = ""
	s, err := parsed.parse()
	if err != nil {
		return err
	}
	o.parallel = parsed.parallel
	defer o.memory.apply()()
	for _, text := range o.kubernetes {
		if _, err := parseVersions([]string{text}); err != nil {
			return fmt.Errorf("--kubernetes: %w", err)
		}
	}
	if len(s.versions) == 1 {
		return fmt.Errorf("--kubernetes: diff requires at least two versions, not only %s; supported versions: %s", s.versions[0], strings.Join(profile.NamesWithPreviews(), ", "))
	}
	all, invalid, _, err := o.loadAny(cmd, paths)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("nothing was run\n%w", err)}
	}
	list, err := s.comparisons(all, cmd.ErrOrStderr())
	if err == nil {
		err = runDiffs(cmd, list, o)
	}
	return withInvalid(err, invalid)
}

// comparisons returns the comparisons to make. It notes skipped scenarios on stderr.
func (s *selection) comparisons(all []*scenarios.Scenario, stderr io.Writer) ([]comparison, error) {
	if _, err := s.jobs(all); err != nil {
		return nil, err // no scenario matches
	}
	var list []comparison
	var skipped, excluded []string
	for _, scenario := range all {
		if s.pattern != nil && !s.pattern.MatchString(scenario.Metadata.Name) {
			continue
		}
		one := *s
		one.versions = s.comparable(scenario)
		if len(one.versions) < 2 {
			skipped = append(skipped, scenario.Metadata.Name)
			continue
		}
		if excludes(scenario, one.versions) {
			excluded = append(excluded, scenario.Metadata.Name)
		}
		list = append(list, one.bySeed(scenario)...)
	}
	if len(skipped) > 0 {
		fmt.Fprintf(stderr, "probesim: skipped scenarios that allow only one version: %s; use --kubernetes to compare them anyway\n", few(skipped))
	}
	if len(excluded) > 0 {
		fmt.Fprintf(stderr, "probesim: scenarios run with versions that their kubernetesVersions exclude: %s\n", few(excluded))
	}
	if len(list) == 0 {
		return nil, &exitError{exitUsage, errors.New("there is nothing to compare")}
	}
	return list, nil
}

// comparable returns the versions to compare a scenario with.
func (s *selection) comparable(scenario *scenarios.Scenario) []string {
	if s.versions != nil {
		return s.versions
	}
	versions := profile.Names()
	if len(scenario.Spec.KubernetesVersions) > 0 {
		versions = withoutPreviews(planned(scenario), 2)
	}
	if len(versions) < 2 {
		return versions
	}
	return []string{versions[0], versions[len(versions)-1]}
}

// excludes reports whether kubernetesVersions of a scenario excludes one of these versions.
func excludes(scenario *scenarios.Scenario, versions []string) bool {
	if len(scenario.Spec.KubernetesVersions) == 0 {
		return false
	}
	allowed := planned(scenario)
	return slices.ContainsFunc(versions, func(v string) bool { return !slices.Contains(allowed, v) })
}

// bySeed returns the comparisons of a scenario, one for each seed.
func (s *selection) bySeed(scenario *scenarios.Scenario) []comparison {
	plans := s.plans(scenario)
	seeds := len(plans) / len(s.versions)
	list := make([]comparison, seeds)
	for i, plan := range plans {
		c := &list[i%seeds]
		c.seeds = seeds
		c.jobs = append(c.jobs, s.job(plan, i))
	}
	return list
}

// runDiffs runs the comparisons and writes them in order.
func runDiffs(cmd *cobra.Command, list []comparison, o runOptions) error {
	var jobs []*job
	pad := 0
	for _, c := range list {
		jobs = append(jobs, c.jobs...)
		pad = max(pad, min(utf8.RuneCountInString(c.jobs[0].plan.Scenario.Metadata.Name), 48))
	}
	ctx, out := cmd.Context(), &diffOutput{o: o, stdout: cmd.OutOrStdout(), text: textOptions(cmd.OutOrStdout()), pad: pad, many: len(list) > 1, list: list, room: o.memory.results()}
	if o.output != "json" {
		out.stdout = safeText(out.stdout)
	}
	out.progress = newProgress(cmd.ErrOrStderr(), jobs)
	go out.progress.loop()
	defer out.progress.stop()
	err := inOrder(ctx, len(list), pool{parallel: o.parallel, ahead: 2 * o.parallel, memory: o.memory}, func(a *account) *report.Diff {
		return list[a.number].compare(a, out.progress)
	}, out.emit)
	out.progress.stop()
	if err == nil && o.output == "json" {
		err = report.DiffJSON(out.stdout, out.all, out.summaries)
	}
	if err == nil {
		err = out.writeRest()
	}
	if err != nil {
		return writeError(err)
	}
	if ctx.Err() != nil && out.compared < len(list) {
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: %d of %d comparisons completed", out.compared, len(list))}
	}
	return out.summarize()
}

// compare runs the simulations of a comparison.
func (c comparison) compare(a *account, p *progress) *report.Diff {
	scenario := c.jobs[0].plan.Scenario
	d := &report.Diff{Scenario: scenario.Metadata.Name, File: scenario.File, Line: scenario.Line, Seed: c.jobs[0].plan.Seed, Names: c.names()}
	var runs []diff.Run
	for _, j := range c.jobs {
		d.Notes = append(d.Notes, j.plan.Notes()...)
		s := j.simulate(a, false, nil, p.virtual())
		if s.err != nil {
			d.Err = fmt.Errorf("%s: %w", j.plan.Version, s.err)
			return d
		}
		runs = append(runs, diff.Run{Records: s.records, End: s.end})
		d.Numbers = append(d.Numbers, summary.Measure(s.records, s.end))
	}
	for i := range len(runs) - 1 {
		d.Pairs = append(d.Pairs, diff.Compare(runs[i], runs[i+1]))
	}
	d.Changed = diff.Changed(runs...)
	a.shrink(0)
	return d
}

// diffOutput writes comparisons.
type diffOutput struct {
	o        runOptions
	stdout   io.Writer
	text     report.Options
	pad      int
	many     bool
	list     []comparison
	progress *progress
	all      []*report.Diff // for JSON
	stopped  bool           // ignore the remaining comparisons

	compared, differ, broken int    // numbers of comparisons
	timing                   int    // number of those that differ in timing only
	noted                    string // scenario whose notes have been written
	summaries                []*report.DiffSummary
	room                     int64 // memory left for the summaries, in bytes
}

func (out *diffOutput) emit(i int, d *report.Diff) error {
	if out.stopped || errors.Is(d.Err, errInterrupted) {
		out.stopped = true
		return nil
	}
	out.compared++
	switch {
	case d.Err != nil:
		out.broken++
	case !d.Same():
		out.differ++
		if !d.Diverges() {
			out.timing++
		}
	}
	out.progress.done((i + 1) * len(d.Names))
	defer out.progress.resume()
	c := &out.list[i]
	if c.seeds > 1 {
		out.add(c, d)
	}
	d.Numbers = nil
	switch {
	case out.o.output == "json":
		out.all = append(out.all, d)
		return nil
	case c.seeds > 1 && out.o.output == "text":
		if s := out.summaries[len(out.summaries)-1]; s.Seeds.Count() == c.seeds {
			return s.Write(out.stdout, out.pad, out.text)
		}
		return nil
	case out.many || out.o.output == "lines" || d.Err != nil:
		line := *d
		if scenario := fmt.Sprint(d.File, ":", d.Line); out.noted == scenario {
			line.Notes = nil // as for the previous seed
		} else {
			out.noted = scenario
		}
		return report.DiffLine(out.stdout, &line, out.pad, out.text)
	}
	return report.DiffText(out.stdout, d, out.text)
}

// writeRest writes the summary of a scenario that was interrupted.
func (out *diffOutput) writeRest() error {
	n := len(out.summaries)
	if out.o.output != "text" || n == 0 || out.compared == len(out.list) {
		return nil
	}
	s, last := out.summaries[n-1], out.list[out.compared-1]
	if last.seeds == 1 || s.Seeds.Count() == last.seeds {
		return nil
	}
	return s.Write(out.stdout, out.pad, out.text)
}

// add adds a comparison to the summary of its scenario.
func (out *diffOutput) add(c *comparison, d *report.Diff) {
	n := len(out.summaries)
	if n == 0 || out.summaries[n-1].File != d.File || out.summaries[n-1].Line != d.Line {
		out.summaries = append(out.summaries, report.NewDiffSummary(d, simulate.Groups(c.jobs[0].plan), &out.room, c.replay(out.o)))
	}
	out.summaries[len(out.summaries)-1].Add(d)
}

// replay returns a function that returns the command for a comparison with a seed.
func (c *comparison) replay(o runOptions) func(int64) string {
	s := c.jobs[0].plan.Scenario
	return func(seed int64) string {
		text := "probesim diff"
		for _, word := range simulate.Words(s) {
			text += " " + quote(word)
		}
		text += " --run " + quote("^"+s.Metadata.Name+"$") + " --kubernetes " + strings.Join(c.names(), ",") + fmt.Sprintf(" --seed %d", seed)
		if o.until != "" {
			text += " --until " + quote(o.until)
		}
		return text
	}
}

// summarize writes a summary of several comparisons, and returns the exit code as an error.
func (out *diffOutput) summarize() error {
	if out.many && out.o.output != "json" {
		text := fmt.Sprintf("%d compared: %d same, %d differ", out.compared, out.compared-out.differ-out.broken, out.differ)
		if out.timing > 0 {
			text += fmt.Sprintf(", %d of them in timing only", out.timing)
		}
		if _, err := fmt.Fprintln(out.stdout, text); err != nil {
			return writeError(err)
		}
	}
	switch {
	case out.broken > 0:
		return &exitError{code: exitBroken}
	case out.differ > 0:
		return &exitError{code: exitFailed}
	}
	return nil
}
