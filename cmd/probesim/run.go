package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/actions"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// Usages of flags that several commands have.
const (
	patternUsage   = "Run only scenarios whose name matches this regular `expression`."
	seedUsage      = "Use these `seeds` instead of the seeds in the scenarios: a number, or a range such as 1..100."
	keepGoingUsage = "Run the scenarios of valid files even if other files are invalid. The exit code is then at " +
		"least 2."
	delaysUsage = "Take the delays that the scenarios do not set from this `set`: fast, typical or slow (default " +
		"fixed delays, the same with each seed)."
	untilUsage = "Run for this virtual `duration` instead of the duration in the scenarios, for example 90s."
)

// runOptions are the flags of run.
type runOptions struct {
	output     string
	seed       string
	from       string
	until      string
	pattern    string
	kubernetes []string
	delays     string
	parallel   int
	memory     pool.Memory
	verbose    bool
	update     bool
	keepGoing  bool
	allRuns    bool
	file       string // of replay
	also       alsoFiles
	force      bool

	wordFlags
	printScenario bool
}

func newRun() *cobra.Command {
	var o runOptions
	cmd := newCommand("run PATH...", "Run scenarios and check their expectations", runHelp, runExamples,
		someFiles("run requires a scenario file or directory"), func(cmd *cobra.Command, args []string) error {
			return runFiles(cmd, args, o)
		})
	o.addFlags(cmd)
	return cmd
}

func (o *runOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	addOutput(cmd, &o.output, "", runner.Formats())
	flags.StringVar(&o.seed, "seed", "", seedUsage)
	flags.StringVar(&o.from, "from", "", "Draw the timeline and its events from this virtual `time`, for example "+
		"60s. --until is the end of both.")
	flags.StringVar(&o.until, "until", "", untilUsage)
	flags.StringVar(&o.pattern, "run", "", patternUsage)
	flags.StringSliceVar(&o.kubernetes, "kubernetes", nil,
		"Kubernetes `versions` to simulate instead of the versions in the scenarios, for example v1.37 or v1.34..")
	flags.StringVar(&o.delays, "delays", "", delaysUsage)
	o.addLimits(cmd, "runs")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "Include internal records in -o jsonl and around failures.")
	flags.BoolVar(&o.allRuns, "all-runs", false,
		fmt.Sprintf("Include all runs in -o html and perfetto. By default, a scenario with more than %d has the "+
			"failed and the worst ones.", runner.MaxShown))
	flags.BoolVar(&o.keepGoing, "keep-going", false, keepGoingUsage)
	flags.BoolVar(&o.update, "update", false,
		"Write observed values into expectations marked observed, show the diff, then run the scenarios.")
	o.also.addTo(cmd)
	addForce(cmd, &o.force)
	o.addTo(cmd, appUsage)
	flags.BoolVar(&o.printScenario, "print-scenario", false,
		"Print the scenario of a manifest and its --app instead of running it.")
}

const runHelp = `Run scenarios and check their expectations. PATH is a scenario file, a directory
to search for scenario files, or - for stdin.

A single PATH can also be a manifest without a Scenario. All its programs are
then healthy, and each --app says what happens to them:
  start 45s..70s             nothing listens for this time after each start
  stall 12s every 1h         they freeze
  down 2m at 10m             nothing listens
  http:8080/ready 503 2m at 10m
                             an answer at an endpoint, or of a probe
  exit 1 at 5m               they exit; with "after 5m", in each instance
  stop 20s                   they exit this long after the stop signal
  worker=stall 12s           only the container worker
  delete at 10m              the pods are deleted
  rollout at 2m              a Deployment is restarted, with its controllers,
                             kube-proxy and 100 requests a second to its
                             Service; also undo at 4m, and scale 5 at 3m
  refuse 2s                  the program goes on to accept connections for so
                             long after SIGTERM
  kubelet down 10s at 10m    the kubelet stops, and starts again; also runtime,
                             registry and api
--print-scenario prints the scenario that the words stand for.

Output formats:
  timeline   a chart of probes, containers and Ready, with events and
             expectations (default for up to 4 runs)
  summary    statistics of a scenario over its seeds: how often each
             expectation held, restarts, Ready, and the worst run (default
             for scenarios with more than 4 runs)
  lines      one line for each run, with details of failures (default for
             the other scenarios if there are more than 4 runs)
  jsonl      the trace, one JSON object per line; a {"run": ...} line starts
             each of several runs
  json       the outcome of every run and expectation
  junit      a JUnit report for CI
  html       a self-contained page with zoomable timelines and causes
  perfetto   a trace file for https://ui.perfetto.dev
  github     summary or lines, and annotations for GitHub Actions

Exit codes:
  0    all expectations held
  1    an expectation failed
  2    invalid usage or an invalid file` + usualExits

const runExamples = `  # Draw the timeline of a scenario
  probesim run web.yaml

  # Draw ten seconds of it
  probesim run web.yaml --from 40s --until 50s

  # Check all scenarios of a directory in CI
  probesim run scenarios/ -o junit > junit.xml

  # Write a page for the browser
  probesim run web.yaml --also html=web.html

  # Run a scenario with 100 seeds, and summarize the runs
  probesim run web.yaml --seed 1..100

  # Print a line for each of them
  probesim run web.yaml --seed 1..100 -o lines

  # Allow more memory for a scenario with many pods
  probesim run node.yaml --max-memory 12GB

  # Run a scenario that another command writes
  sed 's/for: 20s/for: 30s/' web.yaml | probesim run -

  # Run a manifest: its app starts slowly, and freezes now and then
  probesim run web.yaml --app 'start 45s..70s' --app 'stall 12s every 10m'

  # Roll a Deployment out under traffic to its Service
  probesim run web.yaml --app 'start 8s..15s' --app 'rollout at 2m'

  # Run it 100 times, on nodes with other delays each
  probesim run web.yaml --app 'start 45s..70s' --seed 1..100 --delays typical

  # Run one scenario of a file
  probesim run web.yaml --run '^slow-start$'

  # Print the trace, with internal records
  probesim run web.yaml -o jsonl --verbose

  # Write the observed values into the expectations
  probesim run web.yaml --update`

// addLimits adds the flags that limit how much is done at the same time.
func (o *runOptions) addLimits(cmd *cobra.Command, what string) {
	addParallel(cmd, &o.parallel, what)
	addMemory(cmd, &o.memory)
}

func runFiles(cmd *cobra.Command, paths []string, o runOptions) error {
	s, err := o.parse()
	if err == nil {
		err = o.checkIgnored(cmd)
	}
	if err == nil {
		err = o.also.parse(slices.DeleteFunc(slices.Clone(runner.Formats()),
			func(f string) bool { return f == "github" }))
	}
	if err != nil {
		return err
	}
	if o.update && slices.Contains(paths, "-") {
		return errors.New("--update cannot write to stdin: specify files")
	}
	defer watchMemory(cmd, o.memory)()
	all, invalid, run, err := o.loadAny(cmd, paths)
	if err == nil && !run {
		return nil
	}
	if err != nil {
		if o.output == "github" {
			actions.Annotate(cmd.OutOrStdout(), "invalid scenario file", "nothing was run", err)
		}
		return nothing("run", err)
	}
	jobs, err := s.Jobs(all)
	if err != nil {
		return withInvalid(&exitError{exitUsage, err}, invalid)
	}
	if err := s.CheckFrom(jobs); err != nil {
		return withInvalid(err, invalid)
	}
	if o.update {
		if err := updateFiles(cmd, jobs, o); err != nil {
			return err
		}
		o.update = false
		return runFiles(cmd, paths, o) // with the updated files
	}
	if err := o.also.check(cmd.Context(), o.force); err != nil {
		return withInvalid(err, invalid)
	}
	options := o.options(cmd)
	options.Invalid = invalid
	outcome, err := runner.Write(cmd.Context(), jobs, options)
	if err != nil {
		return withInvalid(ended(outcome, err), invalid)
	}
	if err = o.writeAlso(cmd, s, all, options); err == nil {
		err = ended(outcome, nil)
	}
	return withInvalid(err, invalid)
}

// writeAlso writes the files of --also. The runs are the same each time.
func (o *runOptions) writeAlso(cmd *cobra.Command, s runner.Selection, all []*scenarios.Scenario,
	options runner.Options) error {
	return o.also.write(cmd.Context(), o.force, func(w io.Writer, format string) error {
		options.Format, options.Stdout = format, w
		jobs, err := s.Jobs(all)
		if err != nil {
			return err
		}
		outcome, err := runner.Write(cmd.Context(), jobs, options)
		if err != nil {
			err = ended(outcome, err)
		}
		return err
	})
}

// checkIgnored rejects flags that have no effect beside others.
func (o *runOptions) checkIgnored(cmd *cobra.Command) error {
	if o.printScenario {
		if err := ignored(cmd, "with --print-scenario", "output", "seed", "from", "until", "run", "kubernetes",
			"delays", "verbose", "update", "keep-going", "all-runs", "also"); err != nil {
			return err
		}
	}
	if o.output != "html" && o.output != "perfetto" && len(o.also) == 0 {
		if err := ignored(cmd, "without -o html and -o perfetto", "all-runs"); err != nil {
			return err
		}
	}
	if len(o.also) == 0 {
		return ignored(cmd, "without --also", "force")
	}
	return nil
}

func (o *runOptions) options(cmd *cobra.Command) runner.Options {
	return runner.Options{Format: o.output, Verbose: o.verbose, AllRuns: o.allRuns, Stdout: cmd.OutOrStdout(),
		Stderr: cmd.ErrOrStderr(), Pool: o.pool()}
}

func (o *runOptions) pool() pool.Options { return pool.Options{Parallel: o.parallel} }

func (o *runOptions) parse() (s runner.Selection, err error) {
	if err := o.checkFormat(); err != nil {
		return s, err
	}
	s.Memory = o.memory
	if o.parallel < 1 {
		return s, errors.New("--parallel must be at least 1")
	}
	if o.pattern != "" {
		if s.Pattern, err = regexp.Compile(o.pattern); err != nil {
			return s, fmt.Errorf("--run: %s", printable.Text(err.Error()))
		}
	}
	if o.until != "" {
		if s.Until, err = value.ParseDuration(o.until); err == nil && s.Until == 0 {
			err = errors.New("must be greater than 0s")
		}
		if err != nil {
			return s, fmt.Errorf("--until: %w", err)
		}
	}
	if s.From, err = o.parseFrom(); err != nil {
		return s, fmt.Errorf("--from: %w", err)
	}
	if s.Seeds, err = parseSeeds(o.seed); err != nil {
		return s, fmt.Errorf("--seed: %w", err)
	}
	if s.Versions, err = parseVersions(o.kubernetes); err != nil {
		return s, fmt.Errorf("--kubernetes: %w", err)
	}
	if o.delays != "" {
		if s.Delays, err = format.DelaySet(o.delays); err != nil {
			return s, fmt.Errorf("--delays: %w", err)
		}
		s.Set = o.delays
	}
	return s, nil
}

// checkFormat rejects formats that do not exist, or that do not go with other flags.
func (o *runOptions) checkFormat() error {
	if o.output != "" {
		if err := checkOutput(o.output, runner.Formats()); err != nil {
			return err
		}
	}
	return o.checkUpdate()
}

// parseFrom returns the start of the timeline. The flag is about timelines, so these are then the
// default format.
func (o *runOptions) parseFrom() (time.Duration, error) {
	switch o.output {
	case "":
		if o.from != "" {
			o.output = "timeline"
		}
	case "timeline":
	default:
		if o.from != "" {
			return 0, errors.New("requires -o timeline")
		}
	}
	if o.from == "" {
		return 0, nil
	}
	return value.ParseDuration(o.from)
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
		return nil, fmt.Errorf("%s has an open end: specify both ends", strconv.Quote(text))
	case r.Max-r.Min >= format.MaxSeeds:
		return nil, fmt.Errorf("%s has more than %d seeds", strconv.Quote(text), format.MaxSeeds)
	}
	return &r, nil
}

// parseVersions returns the supported versions in any of the ranges, oldest first.
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
	for _, name := range profile.NamesWithPreviews() {
		v, err := value.ParseVersion(name)
		if err != nil {
			return nil, err
		}
		for _, r := range ranges {
			if r.Selects(v) {
				found = append(found, name)
				break
			}
		}
	}
	if len(texts) > 0 && len(found) == 0 {
		return nil, fmt.Errorf("no supported version matches %s; supported versions: %s",
			printable.Text(strings.Join(texts, ", ")), strings.Join(profile.NamesWithPreviews(), ", "))
	}
	return found, nil
}
