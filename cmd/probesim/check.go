package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/require"
	"probesim.dev/internal/runner/actions"
	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/show/findings"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// checkOptions are the flags of check.
type checkOptions struct {
	output     string
	kubernetes []string
	delays     string
	wordFlags
	require       []string
	allow         bool // annotations that ask for less
	failOn        string
	also          alsoFiles
	allowEmpty    bool
	details       bool
	explain       string
	config        string
	measured      string
	baseline      string
	annotationsOf string
	time          string // of tune
	defaults      []configValue
	parallel      int
	force         bool
}

var checkOutputs = []string{"table", "json", "markdown", "html", "github", "sarif", "junit"}

func newCheck() *cobra.Command {
	var o checkOptions
	cmd := newCommand("check MANIFEST...", "Check whether the probe settings of manifests are enough", checkHelp,
		checkExamples, func(cmd *cobra.Command, args []string) error {
			if o.explain != "" {
				return cobra.NoArgs(cmd, args)
			}
			return someFiles("check requires a manifest: a file, a directory, or - for stdin")(cmd, args)
		}, func(cmd *cobra.Command, args []string) error {
			if o.explain != "" {
				var others []string
				cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { others = append(others, f.Name) })
				if err := ignored(cmd, "with --explain", slices.DeleteFunc(others, func(name string) bool {
					return name == "explain" || name == "color"
				})...); err != nil {
					return err
				}
				return explainFinding(cmd.OutOrStdout(), o.explain)
			}
			ignores, err := o.configure(cmd)
			if err != nil {
				return err
			}
			return checkManifests(cmd, args, o, ignores)
		})
	o.addCheckFlags(cmd)
	return cmd
}

// addCheckFlags adds the flags of check.
func (o *checkOptions) addCheckFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "table", "Output `format`: "+strings.Join(checkOutputs, ", ")+".")
	flags.StringVar(&o.failOn, "fail-on", "error",
		"Exit with 1 if there is a finding of this `severity` or a worse one: error, warning, note, or none for no "+
			"finding.")
	o.also.addTo(cmd)
	flags.BoolVar(&o.allowEmpty, "allow-empty", false, "Succeed if the manifests have no workload.")
	flags.BoolVar(&o.details, "details", false, "Print the tables of all containers.")
	flags.StringVar(&o.baseline, "baseline", "",
		"Count only findings that are not in this `file`, the JSON of an earlier check.")
	flags.StringVar(&o.annotationsOf, "annotations-of", "",
		"Take what annotations say from this `file`, the JSON of an earlier check: those of the manifests can only "+
			"ask for more.")
	flags.StringVar(&o.explain, "explain", "",
		"Explain the finding with this `ID`, such as no-startup-probe, instead of a check.")
	addForce(cmd, &o.force)
	addMeasured(cmd, &o.measured)
	o.addFlags(cmd, map[string][]string{"output": checkOutputs, "fail-on": {"none", "error", "warning", "note"},
		"explain": findingIDs()})
}

const checkHelp = `Check whether the probe settings of manifests are enough. MANIFEST is a file, a
directory, or - for stdin. You need no scenario.

The verdict comes first: how many findings there are, which workloads have no
readiness probe, and what is most worth changing. A finding is a setting that is
a problem. It has an ID, a place, a change that helps, and a command that shows
the problem in a run.

Tables follow for the containers with findings of a single workload, and with
--details for all containers: how long a start may take, which stalls the
container survives, and how long the kubelet needs to act. The figures are
arithmetic on the settings; docs/limits.md derives them. Each limit has two
values: what stays below "always" goes well on every node and in every phase,
and what exceeds "never" always fails. In between, the outcome depends on timing.

--start, --stop and --require are about the containers that are not sidecars
(docs/sidecars.md lists the proxies that count as such), or about one by its
name: --start app=40s..70s, --require 'app/start>=70s'. A requirement is met only
if each of them has a probe for it. The annotations probesim.dev/start,
probesim.dev/stop and probesim.dev/require of a workload or of its pod template
say the same. They may ask for more than the flags; for less only with
--allow-annotations.

Pods in the input are measured, as 'probesim measure' does: their starts and stops
count where nothing else says how long a container takes. Objects that another
workload made, such as the pods of a Deployment, are no workloads of their own.
--measured takes a saved measurement, or the pods from another file. Without
--kubernetes, the versions of the Node objects in the input count.

Rows for --require:
  start>=D            a start may take D
  restart>=D          a start after a kill, or after a crash of a program that
                      was up
  retry>=D            a start after a crash in a start
  stall>=D            a stall of D is survived
  silence>=D          as stall, but requests are lost or answers are late
  answer>=D           each answer may take D without a restart
  serving>=D          stays Ready in a stall of D
  serving-silence>=D  as serving, but requests are lost or answers are late
  serving-answer>=D   stays Ready if each answer takes D
  ready<=D            from up to Ready
  unready<=D          from broken to not Ready
  hung-unready<=D     from hung to not Ready
  detect<=D           from hung to SIGTERM
  recover<=D          from hung to Ready again
Requirements about rollouts, such as lost<=0, can stand beside them: 'probesim
rollout' judges those.

Output formats:
  table      the verdict and tables for a terminal (default)
  json       stable JSON, described in docs/json.md
  markdown   tables for a pull request
  html       a page with the limits as bars
  github     annotations for GitHub Actions, and tables in the job summary
  sarif      findings for code scanning
  junit      a JUnit report for CI systems

Exit codes:
  0    all requirements are met, and no finding is as bad as --fail-on
  1    a requirement is not met, or a finding is as bad as --fail-on
  2    invalid usage or an invalid manifest, or one that cannot be simulated` + usualExits

// findingIDs returns the IDs of all findings.
func findingIDs() (list []string) {
	for _, r := range check.Rules() {
		list = append(list, string(r.ID))
	}
	return list
}

// explainFinding prints what a finding means.
func explainFinding(w io.Writer, id string) error {
	rule, err := check.FindRule(id)
	if err != nil {
		return fmt.Errorf("--explain: %w", err)
	}
	return render.Explain(rule).Write(w, "text", terminal.Options(w).Document())
}

const checkExamples = `  # Check a manifest
  probesim check deployment.yaml

  # Check the output of Helm
  helm template my-chart | probesim check -

  # Is the startup probe enough for a program that starts in 45 to 70 s?
  probesim check deployment.yaml --start 45s..70s

  # Check a live namespace against how long its programs take to start
  kubectl get deploy,rs,pods,events,nodes -n shop -o json | probesim check -

  # What does a finding mean?
  probesim check --explain no-startup-probe

  # Fail in CI unless the settings meet requirements
  probesim check deploy/ --require 'start>=70s, stall>=15s, detect<=45s'

  # Does container app exit in time? It takes 3 to 8 s after SIGTERM
  probesim check deployment.yaml --stop app=3s..8s

  # Take the worst of several versions of Kubernetes, on slow nodes
  probesim check deployment.yaml --kubernetes v1.34.. --delays slow`

// addFlags adds the flags that say what is checked, and for which nodes. It completes the values of
// these flags and of others.
func (o *checkOptions) addFlags(cmd *cobra.Command, completed map[string][]string) {
	flags := cmd.Flags()
	flags.StringSliceVar(&o.kubernetes, "kubernetes", nil,
		"Kubernetes `versions` to take the worst of, for example v1.36 or v1.34.. (default the newest)")
	flags.StringVar(&o.delays, "delays", "typical", "The `nodes`: "+strings.Join(fakeruntime.DelaySets(), ", ")+
		"; or default, for nodes without ranges.")
	o.addTo(cmd, appComputedUsage)
	flags.StringArrayVar(&o.require, "require", nil,
		"What must hold for each workload: a list of `requirements` such as 'start>=70s, app/detect<=45s'.")
	flags.BoolVar(&o.allow, "allow-annotations", false,
		"Let the annotations of a workload ask for less than --start, --stop and --require.")
	flags.StringVar(&o.config, "config", configFile,
		"The `file` with defaults for these flags, and with findings to ignore; none for no file.")
	addParallel(cmd, &o.parallel, "containers")
	completed["kubernetes"], completed["delays"] = profile.NamesWithPreviews(),
		append(fakeruntime.DelaySets(), "default")
	for name, values := range completed {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

func (o *checkOptions) parse(outputs ...string) (check.Options, error) {
	c := check.Options{Delays: o.delays, AllowAnnotations: o.allow}
	if !slices.Contains(outputs, o.output) {
		return c, fmt.Errorf("--output: must be one of %s", strings.Join(outputs, ", "))
	}
	if err := o.also.parse(checkOutputs); err != nil {
		return c, err
	}
	if o.parallel < 1 {
		return c, errors.New("--parallel must be at least 1")
	}
	versions, err := parseVersions(o.kubernetes)
	if err != nil {
		return c, fmt.Errorf("--kubernetes: %w", err)
	}
	for _, name := range versions {
		p, _ := profile.Named(name)
		c.Profiles = append(c.Profiles, p)
	}
	if o.delays != "default" {
		set, known := fakeruntime.DelaySet(o.delays)
		if !known {
			return c, fmt.Errorf("--delays: must be one of %s, default", strings.Join(fakeruntime.DelaySets(), ", "))
		}
		c.Nodes = set
	}
	start, stop, err := o.timed()
	if err != nil {
		return c, err
	}
	if c.Start, err = parseAll("start", start, value.ParseDurations); err != nil {
		return c, err
	}
	if c.Stop, err = parseAll("stop", stop, value.ParseDurations); err != nil {
		return c, err
	}
	required, err := parseAll("require", o.require, require.Parse)
	_, c.Rollouts = require.Split(required)
	c.Require = check.RequirementsOf(required)
	return c, err
}

func (o *checkOptions) checkFailOn() error {
	if !slices.Contains([]string{"none", "error", "warning", "note"}, o.failOn) {
		return errors.New("--fail-on: must be none, error, warning or note")
	}
	return nil
}

// parseAll parses the values of a flag that can be repeated as one list with commas.
func parseAll[T any](flag string, values []string, parse func(string) (T, error)) (all T, err error) {
	if len(values) == 0 {
		return all, nil
	}
	if all, err = parse(strings.Join(values, ",")); err != nil {
		err = fmt.Errorf("--%s: %w", flag, err)
	}
	return all, err
}

// prepare reads what a check needs: the flags, the files that they name, and the manifests.
func (o *checkOptions) prepare(cmd *cobra.Command, paths []string) (options check.Options, files []input.File,
	err error) {
	options, err = o.parse(checkOutputs...)
	if err = errors.Join(err, o.checkFailOn()); err == nil {
		err = o.checkIgnored(cmd)
	}
	if err != nil {
		return options, nil, err
	}
	if options.Baseline, err = readReport(cmd, "--baseline", o.baseline); err != nil {
		return options, nil, &exitError{exitUsage, err}
	}
	if options.Base, err = readReport(cmd, "--annotations-of", o.annotationsOf); err != nil {
		return options, nil, &exitError{exitUsage, err}
	}
	if files, err = newManifestReader(cmd, o.allowEmpty).read(paths); err != nil {
		if o.output == "github" {
			actions.Annotate(cmd.OutOrStdout(), "invalid manifest", "nothing was checked", err)
		}
		return options, nil, &exitError{exitUsage, err}
	}
	if err = o.also.check(cmd.Context(), o.force); err != nil {
		return options, nil, &exitError{exitUsage, err}
	}
	if err = o.measure(cmd, files, &options); err == nil {
		err = o.unknownContainers(cmd, o.unknown(options, files))
	}
	return options, files, err
}

func checkManifests(cmd *cobra.Command, paths []string, o checkOptions, ignores []check.Ignore) error {
	options, files, err := o.prepare(cmd, paths)
	if err != nil {
		return err
	}
	options.Ignore = ignores
	var r *check.Report
	c, err := runChecker(cmd, files, listed(files), options, o.parallel)
	switch {
	case o.allowEmpty && errors.Is(err, errNoWorkload):
		r = c.Report()
	case err != nil && o.output == "github":
		actions.Annotate(cmd.OutOrStdout(), "invalid manifest", "nothing was checked", err)
		return err
	case err != nil:
		return err
	default:
		r = c.Report()
	}
	if err = o.write(cmd.OutOrStdout(), r, o.output); err == nil && o.output == "table" {
		seeRollout(cmd, paths, files, r)
	}
	if err := o.also.write(cmd.Context(), o.force, func(w io.Writer, format string) error {
		return o.write(w, r, format)
	}); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	return o.verdict(r)
}

// checkIgnored rejects flags of check that have no effect beside others.
func (o *checkOptions) checkIgnored(cmd *cobra.Command) (err error) {
	if o.output != "table" && len(o.also) == 0 {
		err = errors.Join(err, ignored(cmd, "without -o table", "details"))
	}
	if len(o.also) == 0 {
		err = errors.Join(err, ignored(cmd, "without --also", "force"))
	}
	return err
}

// verdict returns the error of the exit code: a workload that could not be checked, a requirement
// that is not met, or a finding as bad as --fail-on.
func (o *checkOptions) verdict(r *check.Report) error {
	switch {
	case r.Problems():
		return &exitError{exitUsage, errors.New("a workload could not be checked")}
	case !r.Met(), o.failOn != "none" && r.Worst().AtLeast(check.Severity(o.failOn)):
		return &exitError{code: exitFailed}
	}
	return nil
}

// unknownContainers returns the error about a name that no container has, or warns of it: with
// --allow-empty, the manifests can be the few that a change has.
func (o *checkOptions) unknownContainers(cmd *cobra.Command, err error) error {
	switch {
	case err == nil:
		return nil
	case !o.allowEmpty:
		return &exitError{exitUsage, err}
	}
	tell(cmd.ErrOrStderr(), "%v: what a flag says about it counts for nothing", err)
	if o.output == "github" {
		_ = findings.Annotate(cmd.OutOrStdout(),
			findings.Annotation{Level: findings.Warning, Title: "a container is missing", Message: err.Error()})
	}
	return nil
}

var errNoWorkload = errors.New("there is no workload")

// runCheck checks manifests and shows progress. The name of the manifests is for messages.
func runCheck(cmd *cobra.Command, files []input.File, name string, o check.Options, parallel int) (*check.Report,
	error) {
	c, err := runChecker(cmd, files, name, o, parallel)
	if err != nil {
		return nil, err
	}
	return c.Report(), nil
}

// onStdin is the command line of each command that checks manifests, with a manifest on stdin.
// nothingDone says that it did nothing.
var onStdin = map[string]string{"check": "probesim check -", "compare": "probesim compare BEFORE -",
	"tune": "probesim tune -", "rollout": "probesim rollout -"}
var nothingDone = map[string]string{"check": "nothing was checked", "compare": "nothing was compared",
	"tune": "nothing was tuned", "rollout": "nothing was rolled out"}

func invalidManifests(command string, files []input.File, err error) error {
	return &exitError{exitUsage, fmt.Errorf("%s\n%w%s", nothingDone[command], err,
		templateHint(onStdin[command], files, err))}
}

// noWorkload is the error of a command with manifests without a workload. It is an errNoWorkload.
func noWorkload(command, name string) error {
	return &exitError{exitUsage, fmt.Errorf("%w in %s: %s needs at least one of %s", errNoWorkload, name, command,
		manifests.Workloads)}
}

// runChecker does all tasks of a Checker and shows progress. Without a workload, it returns
// errNoWorkload with a Checker that has no tasks.
func runChecker(cmd *cobra.Command, files []input.File, name string, o check.Options, parallel int) (*check.Checker,
	error) {
	c, err := check.New(files, o)
	if err != nil {
		return nil, invalidManifests(cmd.Name(), files, err)
	}
	if c.Workloads() == 0 {
		return c, noWorkload(cmd.Name(), name)
	}
	what := "containers checked"
	if n := len(o.Profiles); n > 1 {
		what = fmt.Sprintf("checks done, of %d containers in %d versions", c.Tasks()/n, n)
	}
	return c, doTasks(cmd.Context(), cmd, c.Tasks(), what, parallel, func(ctx context.Context, i int) error {
		c.Do(i)
		return ctx.Err()
	})
}

// doTasks does tasks in parallel and shows progress.
func doTasks(ctx context.Context, cmd *cobra.Command, tasks int, what string, parallel int,
	do func(context.Context, int) error) error {
	progress := terminal.NewCounter(cmd.ErrOrStderr(), tasks, what)
	defer progress.Stop()
	p := pool.Options{Parallel: parallel, Ahead: max(1, tasks)}
	err := pool.InOrder(ctx, tasks, p, do, func(_ int, err error) error {
		if err == nil {
			progress.Step()
		}
		return err
	})
	switch {
	case cmd.Context().Err() != nil:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted: %s", progress)}
	case ctx.Err() != nil:
		return &exitError{exitBroken, fmt.Errorf("%w: %s", context.Cause(ctx), progress)}
	case err != nil:
		return &exitError{exitBroken, err}
	}
	return nil
}

// templateHint says how to render a template of a Helm chart, or how to pass a stream of kubectl,
// if an invalid file looks like one.
func templateHint(command string, files []input.File, err error) string {
	var invalid scenarios.Errors
	errors.As(err, &invalid)
	for _, f := range files {
		isInvalid := slices.ContainsFunc(invalid, func(e scenarios.Error) bool { return e.File == f.Name })
		isJSON := bytes.HasPrefix(bytes.TrimSpace(f.Data), []byte("{"))
		switch {
		case isInvalid && isJSON && bytes.Contains(f.Data, []byte("}\n{")):
			return fmt.Sprintf("\n%s has several JSON objects, as kubectl get --watch prints them. Pass it with "+
				"--measured", printable.Text(f.Name))
		case isInvalid && !isJSON && bytes.Contains(f.Data, []byte("{{")):
			return fmt.Sprintf("\n%s looks like a template. For a Helm chart: helm template CHART | %s",
				printable.Text(f.Name), command)
		}
	}
	return ""
}

func listed(files []input.File) string {
	var names []string
	for _, f := range files {
		names = append(names, printable.Text(f.Name))
	}
	return strings.Join(names, ", ")
}

func (o *checkOptions) write(w io.Writer, r *check.Report, format string) error {
	failOn := check.Severity(o.failOn)
	if o.failOn == "none" {
		failOn = ""
	}
	a := answer{json: r, document: render.Document(r), findings: render.Findings(r, failOn), details: o.details}
	return a.write(w, format)
}
