package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// runOptions are the flags of run.
type runOptions struct {
	output     string
	seed       string
	until      string
	pattern    string
	kubernetes []string
	parallel   int
	verbose    bool
	update     bool
}

// selection is what the flags say, parsed.
type selection struct {
	seeds    *value.IntRange // nil: those of the scenario
	until    time.Duration   // 0: the duration of the scenario
	pattern  *regexp.Regexp
	versions []string // nil: those of the scenario
}

func newRun() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run PATH...",
		Short: "Run scenario files and check what they expect",
		Long: `Run scenario files, or all files below folders, and check what they expect.

A few runs are shown as timelines: a lane for each probe, for Started and Ready
and for the life of each container, below them the events and each expectation.
Of more runs there is a line each, and why the first few of a scenario failed.
-o jsonl writes the trace itself, one JSON object a line; with several runs a
line {"run": ...} before each says which it is. -o json and -o junit are for
programs and CI. -o html writes one page that needs nothing besides itself: the
timelines to zoom into, with what caused what. -o perfetto is for
ui.perfetto.dev, and -o github adds annotations for GitHub Actions to the lines.

Exit codes: 0 all expectations held, 1 one failed, 2 bad usage or a bad file,
3 a limit was hit or the program is at fault, 130 interrupted.`,
		Example: `  probesim run web.yaml                          draw the timeline
  probesim run scenarios/ -o junit > junit.xml   check a folder in CI
  probesim run web.yaml -o html > web.html       a page for the browser
  probesim run web.yaml --seed 1..100            run it with a hundred seeds
  probesim run web.yaml --run '^slow-start$'     run one of its scenarios
  probesim run web.yaml -o jsonl --verbose       internal records too
  probesim run web.yaml --update                 refresh what was observed`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("run needs a scenario file or a folder")
			}
			if slices.Contains(args, "") {
				return errors.New("a path is empty: an unset variable, perhaps?")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		PreRunE: refuseEmpty,
		RunE:    func(cmd *cobra.Command, args []string) error { return runFiles(cmd, args, o) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "", "timeline, lines, jsonl, json, junit, html, perfetto or github (default timeline, or lines for more than "+fmt.Sprint(maxTimelines)+" runs)")
	flags.StringVar(&o.seed, "seed", "", "seeds instead of those of the scenarios: one, or a range such as 1..100")
	flags.StringVar(&o.until, "until", "", "virtual time to run, instead of the duration of the scenarios")
	flags.StringVar(&o.pattern, "run", "", "only scenarios whose name matches this regular expression")
	flags.StringSliceVar(&o.kubernetes, "kubernetes", nil, "versions instead of those of the scenarios, such as v1.37.0 or v1.34..")
	flags.IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "runs at once")
	flags.Lookup("parallel").DefValue = "the number of CPUs"
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "internal records too, in -o jsonl and around failures")
	flags.BoolVar(&o.update, "update", false, "first write what is seen into expectations that are marked observed, and show the difference")
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp))
	cmd.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(profile.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// refuseEmpty refuses a flag with an empty value: --seed "$SEED" with SEED unset must not run something else.
func refuseEmpty(cmd *cobra.Command, _ []string) error {
	for _, name := range []string{"output", "seed", "until", "run", "kubernetes", "at", "pod", "container"} {
		f := cmd.Flags().Lookup(name)
		if f == nil || !f.Changed {
			continue
		}
		if text := f.Value.String(); text == "" || text == "[]" {
			return fmt.Errorf("--%s has no value", name)
		}
	}
	return nil
}

func runFiles(cmd *cobra.Command, paths []string, o runOptions) error {
	s, err := o.parse()
	if err != nil {
		return err
	}
	all, err := scenarios.Load(paths...)
	if err != nil {
		if o.output == "github" {
			annotate(cmd.OutOrStdout(), err)
		}
		return &exitError{exitUsage, fmt.Errorf("nothing was run\n%w", err)}
	}
	jobs, err := s.jobs(all)
	if err != nil {
		return err
	}
	if o.update {
		if err := updateFiles(cmd, jobs, o); err != nil {
			return err
		}
		o.update = false
		return runFiles(cmd, paths, o) // as the files are now
	}
	return runJobs(cmd, jobs, o)
}

func (o *runOptions) parse() (s selection, err error) {
	if err := cmp.Or(o.checkOutput(), o.checkUpdate()); err != nil {
		return s, err
	}
	if o.parallel < 1 {
		return s, errors.New("--parallel must be at least 1")
	}
	if o.pattern != "" {
		if s.pattern, err = regexp.Compile(o.pattern); err != nil {
			return s, fmt.Errorf("--run: %w", err)
		}
	}
	if o.until != "" {
		if s.until, err = value.ParseDuration(o.until); err == nil && s.until == 0 {
			err = errors.New("0s is no time to run")
		}
		if err != nil {
			return s, fmt.Errorf("--until: %w", err)
		}
	}
	if s.seeds, err = parseSeeds(o.seed); err != nil {
		return s, fmt.Errorf("--seed: %w", err)
	}
	if s.versions, err = parseVersions(o.kubernetes); err != nil {
		return s, fmt.Errorf("--kubernetes: %w", err)
	}
	return s, nil
}

func parseSeeds(text string) (*value.IntRange, error) {
	if text == "" {
		return nil, nil
	}
	var r value.IntRange
	if err := r.UnmarshalText([]byte(text)); err != nil {
		return nil, err
	}
	switch {
	case r.Min == value.OpenMin || r.Max == value.OpenMax:
		return nil, fmt.Errorf("%s has an open end: write both", strconv.Quote(text))
	case r.Max-r.Min >= scenarios.MaxSeeds:
		return nil, fmt.Errorf("%s are more than %d seeds", strconv.Quote(text), scenarios.MaxSeeds)
	}
	return &r, nil
}

// parseVersions returns the known versions in any of the ranges, oldest first.
func parseVersions(texts []string) ([]string, error) {
	var ranges []value.VersionRange
	for _, text := range texts {
		var r value.VersionRange
		if err := r.UnmarshalText([]byte(text)); err != nil {
			return nil, err
		}
		ranges = append(ranges, r)
	}
	var found []string
	for _, name := range profile.Names() {
		v, err := value.ParseVersion(name)
		if err != nil {
			return nil, err
		}
		for _, r := range ranges {
			if r.Contains(v) {
				found = append(found, name)
				break
			}
		}
	}
	if len(texts) > 0 && len(found) == 0 {
		return nil, fmt.Errorf("no known version is in %s; known: %s", strings.Join(texts, ", "), strings.Join(profile.Names(), ", "))
	}
	return found, nil
}
