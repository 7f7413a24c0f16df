package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
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
	"probesim.dev/scenarios"
)

// manifestFlags are the flags of commands that check manifests.
type manifestFlags struct {
	configuration
	wordFlags
	output   string
	versions []string
	delays   string
	require  []require.Requirement
	allow    bool // annotations that ask for less
	details  bool
	measured string
	// whether each measured start must be allowed, and a workload must be measured
	requireMeasured bool
	parallel        int
}

// checkOptions are the flags of check.
type checkOptions struct {
	manifestFlags
	failOn        string
	also          alsoFiles
	allowEmpty    bool
	explain       string
	baseline      string
	annotationsOf string
}

func newCheck() *cobra.Command {
	var o checkOptions
	cmd := newCommand("check MANIFEST...", "Check whether the probe settings of manifests are enough", checkHelp,
		checkExamples, func(cmd *cobra.Command, args []string) error {
			if o.explain != "" {
				return cobra.NoArgs(cmd, args)
			}
			return someFiles("check requires a manifest: a file, a directory, or - for stdin")(cmd, args)
		}, o.check)
	flags := cmd.Flags()
	addChoice(cmd, &o.failOn, "fail-on", "error", "Exit with 1 if there is a finding of this `severity` or a worse "+
		"one: error, warning or note; none never does.", []string{"none", "error", "warning", "note"})
	o.also.addTo(cmd, reportOutputs)
	flags.BoolVar(&o.allowEmpty, "allow-empty", false, "Succeed if the manifests have no workload.")
	flags.BoolVar(&o.details, "details", false, "Print the tables of all containers.")
	flags.StringVar(&o.baseline, "baseline", "",
		"Count only findings that are not in this `file`, the JSON of an earlier check.")
	flags.StringVar(&o.annotationsOf, "annotations-of", "",
		"Take what annotations say from this `file`, the JSON of an earlier check: those of the manifests can only "+
			"ask for more.")
	flags.StringVar(&o.explain, "explain", "",
		"Explain the finding with this `ID`, such as no-startup-probe, instead of a check.")
	addMeasured(cmd, &o.measured)
	flags.BoolVar(&o.requireMeasured, "require-measured", false,
		"Require that the probes allow the measured starts, and that a workload is measured.")
	o.addFlags(cmd, reportOutputs)
	return cmd
}

const checkHelp = `Check whether the probe settings of manifests are enough. MANIFEST is a file, a
directory, or - for stdin. You need no scenario.

The verdict comes first: how many findings there are, which workloads have no
readiness probe, and what is most worth changing. A finding is a problem of the
settings, with an ID, a place, a change that helps, and a command that shows it
in a run.

Tables follow for the containers with findings of a single workload, and with
--details for all: how long a start may take, which stalls the container
survives, and how long the kubelet needs to act. docs/limits.md derives the
figures. What stays below "always" goes well on every node and in every phase,
and what exceeds "never" always fails; in between, timing decides.

--start, --stop and --require are about the containers that are not sidecars
(docs/sidecars.md), or about one by its name: --start app=40s..70s, --require
'app/start>=70s'. A requirement is met only if each of them has a probe for it.
The annotations probesim.dev/start, probesim.dev/stop and probesim.dev/require
of a workload or of its pod template may ask for more than the flags; for less
only with --allow-annotations.

Pods in the input are measured, as 'probesim measure' does: their starts and
stops count where nothing else says how long a container takes. --measured takes
a saved measurement, or the pods from another file. Pods of a Deployment, and
what else another workload made, are not checked. Without --kubernetes, the
versions of the Node objects in the input count.

Rows for --require:
  start>=D            a start may take D
  restart>=D          a start after a kill, or after a crash of a program that
                      was up
  retry>=D            a retried start: after a crash during a start
  stall>=D            a stall of D is survived
  silence>=D          as stall, but requests are lost or answers are late
  errors>=D           as stall, but each probe fails at once: 503, refused
  answer>=D           each answer may take D without a restart
  serving>=D          stays Ready in a stall of D
  serving-silence>=D  as serving, but requests are lost or answers are late
  serving-errors>=D   as serving, but each probe fails at once
  serving-answer>=D   stays Ready if each answer takes D
  ready<=D            from up to Ready
  unready<=D          from broken to not Ready
  hung-unready<=D     from hung to not Ready
  detect<=D           from hung to SIGTERM
  recover<=D          from hung to Ready again
Those about rollouts, such as lost<=0, are judged by 'probesim rollout'.

Output formats:
  table      the verdict and tables for a terminal (default)
  html       a page with the limits as bars` + reportFormats + `
  0    all requirements are met, and no finding is as bad as --fail-on
  1    a requirement is not met, or a finding is as bad as --fail-on` + manifestExits

// findingIDs returns the IDs of all findings.
func findingIDs() (list []string) {
	for _, r := range check.Rules() {
		list = append(list, string(r.ID))
	}
	return list
}

// explainFinding prints what a finding means.
func (o *checkOptions) explainFinding(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "explain" && f.Name != "color" {
			err = ignored(cmd, "with --explain", f.Name)
		}
	})
	if err != nil {
		return err
	}
	rule, err := check.FindRule(o.explain)
	if err != nil {
		return usage("--explain: %w", err)
	}
	w := cmd.OutOrStdout()
	return render.Explain(rule).Write(w, "text", terminal.Options(w))
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
  probesim check deploy/ --require 'start>=70s, stall>=15s, detect<=45s'`

// addFlags adds the flags that say what is checked, and for which nodes.
func (o *manifestFlags) addFlags(cmd *cobra.Command, outputs []string) {
	addOutput(cmd, &o.output, "table", outputs)
	addVersions(cmd, &o.versions, "Kubernetes `versions` to take the worst of, for example v1.36 or v1.34..",
		"the newest")
	addDelays(cmd, &o.delays, "typical", "The `nodes`")
	o.addTo(cmd, appComputedUsage)
	addRequire(cmd, &o.require, "What must hold for each workload: a list of `requirements` such as 'start>=70s, "+
		"app/detect<=45s'.")
	cmd.Flags().BoolVar(&o.allow, "allow-annotations", false,
		"Let the annotations of a workload ask for less than --start, --stop and --require.")
	o.addConfig(cmd)
	addParallel(cmd, &o.parallel, "containers")
}

// addRequire adds the flag --require. Its values are one list.
func addRequire(cmd *cobra.Command, list *[]require.Requirement, usage string) {
	var texts []string
	parse := func(text string) ([]require.Requirement, error) {
		texts = append(texts, text)
		return require.Parse(strings.Join(texts, ","))
	}
	addFlag(cmd, list, "require", "", usage+" You can repeat this flag.", parse)
}

// configured returns the options of a check, after those that the configuration sets.
func (o *manifestFlags) configured(cmd *cobra.Command) (c check.Options, err error) {
	ignores, err := o.configure(cmd)
	if err == nil {
		c, err = o.options()
	}
	c.Ignore = ignores
	return c, err
}

// options returns the options of a check.
func (o *manifestFlags) options() (c check.Options, err error) {
	c = check.Options{Delays: o.delays, Profiles: profiles(o.versions), AllowAnnotations: o.allow,
		Require: check.RequirementsOf(o.require)}
	c.Nodes, _ = fakeruntime.DelaySet(o.delays)
	_, c.Rollouts = require.Split(o.require)
	if c.Start, c.Stop, err = o.timed(); err != nil {
		err = usageError{err}
	}
	return c, err
}

// prepare reads what a check needs: the files that flags name, and the manifests.
func (o *checkOptions) prepare(cmd *cobra.Command, paths []string) (options check.Options, files []input.File,
	err error) {
	if o.output != "table" && len(o.also.list) == 0 {
		err = ignored(cmd, "without -o table", "details")
	}
	if err == nil {
		options, err = o.configured(cmd)
	}
	if err != nil {
		return options, nil, err
	}
	if options.Baseline, err = readReport[check.Report](cmd, "--baseline", o.baseline, "check"); err != nil {
		return options, nil, err
	}
	if options.Base, err = readReport[check.Report](cmd, "--annotations-of", o.annotationsOf, "check"); err != nil {
		return options, nil, err
	}
	if files, err = o.readManifests(cmd, o.allowEmpty, &options.Excluded, paths...); err != nil {
		return options, nil, o.annotate(cmd, err)
	}
	if err = o.also.check(cmd.Context()); err == nil {
		err = o.measure(cmd, files, &options)
	}
	if err == nil {
		err = o.unknownContainers(cmd, o.unknown(cmd, options, files))
	}
	return options, files, err
}

// annotate adds an error about manifests to the annotations for GitHub.
func (o *manifestFlags) annotate(cmd *cobra.Command, err error) error {
	if o.output == "github" {
		actions.Annotate(cmd.OutOrStdout(), "invalid manifest", nothingDone[cmd.Name()], err)
	}
	return err
}

func (o *checkOptions) check(cmd *cobra.Command, paths []string) error {
	if o.explain != "" {
		return o.explainFinding(cmd)
	}
	options, files, err := o.prepare(cmd, paths)
	if err != nil {
		return err
	}
	r, err := runCheck(cmd, files, listed(files), options, o.parallel)
	if err != nil && !(o.allowEmpty && errors.Is(err, errNoWorkload)) {
		return o.annotate(cmd, err)
	}
	failOn := check.Severity(o.failOn)
	if o.failOn == "none" {
		failOn = ""
	}
	a := answer{json: r, document: render.Document(r), findings: render.Findings(r, failOn), details: o.details}
	a.document.Title += o.failsNever()
	if err := a.write(cmd, o.output, o.also); err != nil {
		return err
	}
	if o.output == "table" {
		seeRollout(cmd, paths, files, r)
	}
	if r.Problems() {
		return errors.New("a workload could not be checked")
	}
	return failed(!r.Met() || failOn != "" && r.Worst().AtLeast(failOn))
}

// unknownContainers returns the error about a name that no container has, or warns of it: with
// --allow-empty, the manifests can be the few that a change has.
func (o *checkOptions) unknownContainers(cmd *cobra.Command, err error) error {
	if err == nil || !o.allowEmpty {
		return err
	}
	tell(cmd.ErrOrStderr(), "%v: what a flag says about it counts for nothing", err)
	if o.output == "github" {
		_ = findings.Annotate(cmd.OutOrStdout(),
			findings.Annotation{Level: findings.Warning, Title: "a container is missing", Message: err.Error()})
	}
	return nil
}

var errNoWorkload = errors.New("there is no workload")

// onStdin is the command line of each command that checks manifests, with a manifest on stdin.
// nothingDone says that it did nothing.
var onStdin = map[string]string{"check": "probesim check -", "compare": "probesim compare BEFORE -",
	"tune": "probesim tune -", "rollout": "probesim rollout -"}
var nothingDone = map[string]string{"check": "nothing was checked", "compare": "nothing was compared",
	"tune": "nothing was tuned", "rollout": "nothing was rolled out"}

func invalidManifests(command string, files []input.File, err error) error {
	err = fmt.Errorf("%s\n%w%s", nothingDone[command], err, templateHint(onStdin[command], files, err))
	return recorded(err, files)
}

// noWorkload is the error of a command with manifests without a workload. It is an errNoWorkload.
func noWorkload(command, name string, files []input.File) error {
	err := fmt.Errorf("%w in %s: %s needs at least one of %s%s", errNoWorkload, name, command, manifests.Workloads,
		renderHint(onStdin[command], files))
	return recorded(err, files)
}

// runCheck checks manifests and shows progress. The name of the manifests is for messages. Without
// a workload, it returns errNoWorkload with an empty report.
func runCheck(cmd *cobra.Command, files []input.File, name string, o check.Options, parallel int) (*check.Report,
	error) {
	c, err := check.New(files, o)
	if err != nil {
		return nil, invalidManifests(cmd.Name(), files, err)
	}
	if c.Workloads() == 0 {
		return c.Report(), noWorkload(cmd.Name(), name, files)
	}
	for _, f := range files {
		if !bytes.Contains(f.Data, []byte("apiVersion")) {
			tell(cmd.ErrOrStderr(), "%s is no whole manifest: it is checked as a part of a Pod", printable.Text(f.Name))
		}
	}
	what := "containers checked"
	if n := len(o.Profiles); n > 1 {
		what = fmt.Sprintf("checks done, of %d containers in %d versions", c.Tasks()/n, n)
	}
	err = doTasks(cmd.Context(), cmd, c.Tasks(), what, parallel, func(ctx context.Context, i int) error {
		c.Do(i)
		return ctx.Err()
	})
	return c.Report(), err
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

// rendered are objects that a tool makes workloads of, and the command that prints these.
var rendered = map[string]string{
	"HelmRelease": "helm template CHART -f VALUES", "HelmChart": "helm template CHART -f VALUES",
	"Kustomization": "kubectl kustomize DIR", "Application": "argocd app manifests NAME",
}

var kindLine = regexp.MustCompile(`(?m)^kind: *(\w+) *$`)

// renderHint says how to pass what a tool makes of an object, if a file has such an object.
func renderHint(command string, files []input.File) string {
	for _, f := range files {
		for _, kind := range kindLine.FindAllStringSubmatch(string(f.Data), -1) {
			if render := rendered[kind[1]]; render != "" {
				return fmt.Sprintf("\n%s has an object of kind %s: %s | %s", printable.Text(f.Name), kind[1], render,
					command)
			}
		}
		read, _ := manifests.Read(f.Name, f.Data)
		for _, o := range read.Unchecked {
			switch at := printable.Text(f.Name); {
			case o.Template == "":
			case o.Kind == "Template":
				return fmt.Sprintf("\n%s has a template of OpenShift: oc process --local -o yaml -f %[1]s | %s", at,
					command)
			default:
				return fmt.Sprintf("\n%s has a kind that is not read, %s. Its first pod template is %s: write its "+
					"spec into a Pod", at, printable.Text(o.Kind), o.Template)
			}
		}
	}
	return ""
}

// templateHint says what an invalid file looks like, and how to pass it: a template or its values,
// a patch, a stream of kubectl, or a manifest inside other text.
func templateHint(command string, files []input.File, err error) string {
	var invalid scenarios.Errors
	errors.As(err, &invalid)
	for _, f := range files {
		text := string(f.Data)
		has := func(part string) bool { return strings.Contains(text, part) }
		says := func(part string) bool {
			return slices.ContainsFunc(invalid,
				func(e scenarios.Error) bool { return e.File == f.Name && strings.Contains(e.Message, part) })
		}
		isJSON := strings.HasPrefix(strings.TrimSpace(text), "{")
		hint := ""
		switch {
		case !says(""):
		case isJSON && strings.Contains(strings.ReplaceAll(text, "{{", ""), "}\n{"):
			hint = "has several JSON objects, as kubectl get --watch prints them. Pass it with --measured"
		case has("{{"):
			hint = "looks like a template. For a Helm chart: helm template CHART | " + command
		case terraform.MatchString(text):
			hint = "looks like a template of Terraform: pass what templatefile makes of it"
		case isJSON:
		case says("this key is already set"):
			hint = "has a key twice: kubectl takes the last one"
		case says("placeholder"), says(`"${`), says(`"<`):
			hint = "has placeholders: fill them in, as envsubst does, and pass the result to " + command
		case says("lowercase RFC 1123"):
			hint = "has names in capitals. If they stand for values, as in files for m4 or sed, fill them in first"
		case has("Probe:") && !has("apiVersion:"):
			hint = fmt.Sprintf("is no whole manifest. If it has the values of a Helm chart: helm template CHART -f %s "+
				"| %s", printable.Text(f.Name), command)
		case has("containers:") && has("apiVersion:") && !has("image:") && !has("selector:") && !says("must be a"):
			hint = "looks like a patch: kubectl kustomize DIR | " + command
		default:
			hint = insideHint(command, text)
		}
		if hint != "" {
			return "\n" + printable.Text(f.Name) + " " + hint
		}
	}
	return ""
}

var (
	terraform    = regexp.MustCompile(`%\{~? *(if|for) `)
	manifestLine = regexp.MustCompile(`^(\s*)apiVersion: \S`)
	// manifestBegin is a line that can come before apiVersion in a manifest: a comment, a marker,
	// an entry, or a brace.
	manifestBegin = regexp.MustCompile(`^\s*($|#|---|%|[\w."'/-]+:(\s|$)|- |[{}\]])`)
)

// insideHint says where a manifest begins that comes after other text, as in a page or a script,
// and how to pass it if its end is clear: an indented one ends before less indentation, one in
// Markdown before a fence.
func insideHint(command, text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	first := slices.IndexFunc(lines, manifestLine.MatchString)
	if first < 0 || !slices.ContainsFunc(lines[:first], func(l string) bool { return !manifestBegin.MatchString(l) }) {
		return ""
	}
	indent, last := manifestLine.FindStringSubmatch(lines[first])[1], first
	for i, line := range lines[first:] {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "```") ||
			trimmed != "" && !strings.HasPrefix(line, indent) {
			break
		} else if trimmed != "" {
			last = first + i
		}
	}
	pass := fmt.Sprintf("sed -n '%d,%ds/^%s//p' FILE | %s", first+1, last+1, indent, command)
	if indent == "" && last == len(lines)-1 {
		pass = "pass only its lines, or what a script writes"
	}
	return fmt.Sprintf("has a manifest inside other text, from line %d on: %s", first+1, pass)
}

func listed(files []input.File) string {
	return strings.Join(printable.Words(files, func(f input.File) string { return printable.Text(f.Name) }), ", ")
}
