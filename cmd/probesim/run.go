package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/internal/runner"
	"probesim.dev/internal/runner/actions"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
)

// runOptions are the flags of run, and of other commands that make runs.
type runOptions struct {
	runner.Selection
	output    string
	parallel  int
	verbose   bool
	keepGoing bool
	allRuns   bool
	file      string // of a witness
	also      alsoFiles

	wordFlags
	printScenario bool
}

func newRun() *cobra.Command {
	var o runOptions
	cmd := newCommand("run PATH...", "Run scenarios and check their expectations", runHelp, runExamples,
		someFiles("run requires a scenario file or directory"), o.runFiles)
	addOutput(cmd, &o.output, "", runner.Formats())
	o.add(cmd, "run", "kubernetes", "seed", "delays", "until", "keep-going", "parallel", "max-memory", "verbose")
	flags := cmd.Flags()
	addFlag(cmd, &o.From, "from", "", "Draw the timeline and its events from this virtual `time`, for example 60s. "+
		"--until is the end of both.", value.ParseDuration)
	addFlag(cmd, &o.Zero, "zero", "", "Label the axis of timelines with clock times: t=0 is this `time` of day, for "+
		"example 14:03:10.", parseClock)
	flags.BoolVar(&o.allRuns, "all-runs", false,
		fmt.Sprintf("Include all runs in -o html and perfetto. By default, a scenario with more than %d has the "+
			"failed and the worst ones.", runner.MaxShown))
	o.also.addTo(cmd, slices.DeleteFunc(runner.Formats(), func(f string) bool { return f == "github" }))
	o.addTo(cmd, appUsage)
	flags.BoolVar(&o.printScenario, "print-scenario", false,
		"Print the scenario of a manifest and its --app instead of running it.")
	return cmd
}

// add adds flags about scenarios and their runs to a command, by their names.
func (o *runOptions) add(to *cobra.Command, names ...string) {
	all := &cobra.Command{}
	flags := all.Flags()
	addFlag(all, &o.Pattern, "run", "", "Take only scenarios whose name matches this regular `expression`.",
		regexp.Compile)
	addVersions(all, &o.Versions, "Take these Kubernetes `versions` instead of those in the scenarios, for example "+
		"v1.37 or v1.34..", "")
	addFlag(all, &o.Seeds, "seed", "", "Use these `seeds` instead of the seeds in the scenarios: a number, or a range "+
		"such as 1..100.", parseSeeds)
	addDelays(all, &o.Set, "", "Take the delays that the scenarios do not set from this `set`")
	addFlag(all, &o.Until, "until", "", "Run for this virtual `duration` instead of the duration in the scenarios, "+
		"for example 90s.", positive)
	flags.BoolVar(&o.keepGoing, "keep-going", false,
		"Run the scenarios of valid files even if other files are invalid. The exit code is then at least 2.")
	addParallel(all, &o.parallel, "runs")
	addMemory(all, &o.Memory)
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "Include internal records in -o jsonl and around failures.")
	flags.StringVar(&o.file, "file", "", "The scenario `file`, instead of the path in the witness.")
	for _, name := range names {
		to.Flags().AddFlag(flags.Lookup(name))
	}
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
  markdown   for an issue: outcomes, failures, and the timeline of each scenario
  html       a self-contained page with zoomable timelines and causes
  svg        the timeline of one run, as a picture for a document
  perfetto   a trace file for https://ui.perfetto.dev
  github     summary or lines, and annotations for GitHub Actions

Exit codes:
  0    all expectations held
  1    an expectation failed
  2    invalid usage or an invalid file` + usualExits

const runExamples = `  # Draw the timeline of a scenario
  probesim run web.yaml

  # Check all scenarios of a directory in CI
  probesim run scenarios/ -o junit > junit.xml

  # Write a page for the browser
  probesim run web.yaml --also html=web.html

  # Run a scenario with 100 seeds, and summarize the runs
  probesim run web.yaml --seed 1..100

  # Run a manifest: its app starts slowly, and freezes now and then
  probesim run web.yaml --app 'start 45s..70s' --app 'stall 12s every 10m'

  # Roll a Deployment out under traffic to its Service
  probesim run web.yaml --app 'start 8s..15s' --app 'rollout at 2m'

  # Run one scenario of a file
  probesim run web.yaml --run '^slow-start$'`

func (o *runOptions) runFiles(cmd *cobra.Command, paths []string) error {
	if err := o.checkFlags(cmd); err != nil {
		return err
	}
	defer watchMemory(cmd, o.Memory)()
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
	jobs, err := o.Jobs(all)
	if err == nil {
		err = cmp.Or(o.CheckFrom(jobs), o.checkPicture(len(jobs)))
	}
	if err != nil {
		return withInvalid(err, invalid)
	}
	if err := o.also.check(cmd.Context()); err != nil {
		return withInvalid(err, invalid)
	}
	options := o.options(cmd)
	options.Invalid = invalid
	outcome, err := runner.Write(cmd.Context(), jobs, options)
	if err = broken(err); err == nil {
		err = o.writeAlso(cmd, all, options)
	}
	if err == nil {
		err = ended(outcome, nil)
	}
	return withInvalid(err, invalid)
}

// writeAlso writes the files of --also. The runs are the same each time.
func (o *runOptions) writeAlso(cmd *cobra.Command, all []*scenarios.Scenario, options runner.Options) error {
	return o.also.write(cmd.Context(), func(w io.Writer, format string) error {
		options.Format, options.Stdout = format, w
		jobs, err := o.Jobs(all)
		if err == nil {
			_, err = runner.Write(cmd.Context(), jobs, options)
		}
		return broken(err)
	})
}

// checkFlags rejects flags that have no effect beside others. --from is about timelines, so these
// are then the default format.
func (o *runOptions) checkFlags(cmd *cobra.Command) error {
	if o.From > 0 || o.Zero != nil {
		o.output = cmp.Or(o.output, "timeline")
	}
	var err error
	if o.printScenario {
		err = ignored(cmd, "with --print-scenario", "output", "seed", "from", "zero", "until", "run", "kubernetes",
			"delays", "verbose", "keep-going", "all-runs", "also")
	}
	if o.output != "html" && o.output != "perfetto" && len(o.also.list) == 0 {
		err = cmp.Or(err, ignored(cmd, "without -o html and -o perfetto", "all-runs"))
	}
	switch {
	case err != nil:
		return err
	case o.From > 0 && o.output != "timeline" && o.output != "svg":
		return usage("--from: requires -o timeline or svg")
	case !slices.Contains(drawing, o.output) && len(o.also.list) == 0:
		err = ignored(cmd, "without -o "+either(drawing), "zero")
	}
	return err
}

// checkPicture rejects a picture of several runs.
func (o *runOptions) checkPicture(runs int) error {
	also := slices.ContainsFunc(o.also.list, func(f alsoFile) bool { return f.format == "svg" })
	if runs > 1 && (also || o.output == "svg") {
		return usage("svg: a picture has one run, and these are %d: choose one with --run, --kubernetes and --seed",
			runs)
	}
	return nil
}

// drawing are the formats with timelines.
var drawing = []string{"timeline", "svg", "html", "markdown", "junit"}

func (o *runOptions) options(cmd *cobra.Command) runner.Options {
	return runner.Options{Format: o.output, Verbose: o.verbose, AllRuns: o.allRuns, Stdout: cmd.OutOrStdout(),
		Stderr: cmd.ErrOrStderr(), Pool: pool.Options{Parallel: o.parallel}}
}
