package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/bounds"
	"probesim.dev/check"
	"probesim.dev/check/html"
	"probesim.dev/check/render"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/manifests"
)

// checkOptions are the flags of check.
type checkOptions struct {
	output     string
	kubernetes []string
	delays     string
	start      string
	require    string
	failOn     string
	also       []string
	allowEmpty bool
	witness    string
	parallel   int
}

// writes reports whether the result is written in a format, to stdout or to a file.
func (o *checkOptions) writes(format string) bool {
	return o.output == format || slices.ContainsFunc(o.also, func(also string) bool { return strings.HasPrefix(also, format+"=") })
}

var checkOutputs = []string{"table", "json", "markdown", "html", "github", "sarif"}

func newCheck() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check MANIFEST...",
		Short: "Check whether the probe settings of manifests are enough",
		Long: `Check whether the probe settings of manifests are enough. MANIFEST is a file, a
directory, or - for stdin. You need no scenario.

For each container with probes, check prints how long a start may take, which
stalls the container survives, and how long the kubelet needs to act. The
figures come from simulated runs, and from rules of the kubelet where too many
times decide for a search. Each limit has two values: what stays below "always"
goes well on every node and in every phase, and what exceeds "never" always
fails. In between, the outcome depends on timing.

Below the table are findings: settings that a run shows to be a problem, with
the command that shows the run.

Rows for --require, and for the annotation probesim.dev/require of a workload or
of its pod template:
  start>=D    a start may take D
  restart>=D  a start after a kill, or after a crash of a program that was up
  retry>=D    a start after a crash in a start
  stall>=D    a stall of D is survived
  silence>=D  as stall, but requests are lost
  serving>=D  stays Ready in a stall of D
  ready<=D    from up to Ready
  unready<=D  from broken to not Ready
  detect<=D   from hung to SIGTERM
  recover<=D  from hung to Ready again

Output formats:
  table      tables for a terminal (default)
  json       stable JSON, described in docs/check.md
  markdown   tables for a pull request
  html       a page with the limits as bars
  github     annotations for GitHub Actions, and tables in the job summary
  sarif      findings for code scanning

Exit codes:
  0    all requirements are met, and no finding is as bad as --fail-on
  1    a requirement is not met, or a finding is as bad as --fail-on
  2    invalid usage or an invalid manifest, or one that cannot be simulated
  3    a limit was exceeded, or probesim itself failed
  130  interrupted`,
		Example: `  # Check a manifest
  probesim check deployment.yaml

  # Check the output of Helm
  helm template my-chart | probesim check -

  # Is the startup probe enough for a program that starts in 45 to 70 s?
  probesim check deployment.yaml --start 45s..70s

  # Fail in CI unless the settings meet requirements
  probesim check deploy/ --require 'start>=70s, stall>=15s, detect<=45s'

  # Write scenarios that show each figure or come close, and run one
  probesim check deployment.yaml --witness witnesses
  probesim run witnesses/orders-app-start-always-above.yaml

  # Take the worst of several versions of Kubernetes, on slow nodes
  probesim check deployment.yaml --kubernetes v1.34.. --delays slow`,
		Args:              requireManifests,
		ValidArgsFunction: completeFiles,
		PreRunE:           rejectEmptyFlags,
		RunE:              func(cmd *cobra.Command, args []string) error { return checkManifests(cmd, args, o) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "table", "Output `format`: "+strings.Join(checkOutputs, ", ")+".")
	flags.StringVar(&o.failOn, "fail-on", "", "Exit with 1 if there is a finding of this `severity` or a worse one: error, warning or note.")
	flags.StringArrayVar(&o.also, "also", nil, "Also write the result to a file, as `FORMAT=FILE`, for example html=check.html. You can repeat this flag.")
	flags.StringVar(&o.witness, "witness", "", "Write scenarios that show both ends of each row, or come close, to this `directory`.")
	flags.BoolVar(&o.allowEmpty, "allow-empty", false, "Succeed if the manifests have no workload.")
	o.addFlags(cmd, map[string][]string{"output": checkOutputs, "fail-on": {"error", "warning", "note"}})
	return cmd
}

// requireManifests rejects a command line without manifests.
func requireManifests(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("%s requires a manifest: a file, a directory, or - for stdin", cmd.Name())
	case slices.Contains(args, ""):
		return errors.New("a path is empty; is a shell variable unset?")
	}
	return nil
}

// addFlags adds the flags that say what is checked, and for which nodes. It completes the values of these flags and of others.
func (o *checkOptions) addFlags(cmd *cobra.Command, completed map[string][]string) {
	flags := cmd.Flags()
	flags.StringSliceVar(&o.kubernetes, "kubernetes", nil, "Kubernetes `versions` to take the worst of, for example v1.36.3 or v1.34.. (default the newest)")
	flags.StringVar(&o.delays, "delays", "typical", "The `nodes`: "+strings.Join(fakeruntime.DelaySets(), ", ")+"; or default, for nodes without ranges.")
	flags.StringVar(&o.start, "start", "", "How long your program takes to start: a `duration`, or a range such as 45s..70s.")
	flags.StringVar(&o.require, "require", "", "What must hold for each workload: a list of `requirements` such as 'start>=70s, detect<=45s'.")
	flags.IntVar(&o.parallel, "parallel", runtime.GOMAXPROCS(0), "Maximum `number` of containers at the same time")
	flags.Lookup("parallel").DefValue = "number of CPUs"
	completed["kubernetes"], completed["delays"] = profile.NamesWithPreviews(), append(fakeruntime.DelaySets(), "default")
	for name, values := range completed {
		cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// parse returns the options for the check.
func (o *checkOptions) parse(outputs ...string) (check.Options, error) {
	c := check.Options{Delays: o.delays}
	if !slices.Contains(outputs, o.output) {
		return c, fmt.Errorf("--output: must be one of %s", strings.Join(outputs, ", "))
	}
	for _, also := range o.also {
		if format, file, _ := strings.Cut(also, "="); !slices.Contains(checkOutputs, format) || file == "" {
			return c, fmt.Errorf("--also: must be FORMAT=FILE, where the format is one of %s", strings.Join(checkOutputs, ", "))
		}
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
		c.Nodes = bounds.Nodes{Delays: set}
	}
	if o.start != "" {
		var d value.Draw
		if err := d.UnmarshalText([]byte(o.start)); err != nil {
			return c, fmt.Errorf("--start: %w", err)
		}
		if time.Duration(d.Max) > bounds.LongestLimit {
			return c, fmt.Errorf("--start: must be at most %s", value.Format(bounds.LongestLimit))
		}
		c.Start = &check.Interval{Min: time.Duration(d.Min), Max: time.Duration(d.Max)}
	}
	if o.require != "" {
		if c.Require, err = check.ParseRequirements(o.require); err != nil {
			return c, fmt.Errorf("--require: %w", err)
		}
	}
	return c, nil
}

func checkManifests(cmd *cobra.Command, paths []string, o checkOptions) error {
	options, err := o.parse(checkOutputs...)
	if err != nil {
		return err
	}
	if o.failOn != "" && !slices.Contains([]check.Severity{check.Error, check.Warning, check.Note}, check.Severity(o.failOn)) {
		return errors.New("--fail-on: must be error, warning or note")
	}
	files, err := newManifestReader(cmd, o.allowEmpty).read(paths)
	if err != nil {
		if o.output == "github" {
			annotate(cmd.OutOrStdout(), "invalid manifest", "nothing was checked", err)
		}
		return &exitError{exitUsage, err}
	}
	if err := o.checkTargets(files); err != nil {
		return &exitError{exitUsage, err}
	}
	var r *check.Report
	c, err := runChecker(cmd, files, listed(files), options, o.parallel)
	switch {
	case o.allowEmpty && errors.Is(err, errNoWorkload):
		r, c = c.Report(), nil
	case err != nil && o.output == "github":
		annotate(cmd.OutOrStdout(), "invalid manifest", "nothing was checked", err)
		return err
	case err != nil:
		return err
	default:
		r = c.Report()
	}
	if o.witness != "" && c != nil {
		if err := writeWitnesses(cmd.Context(), o.witness, c, cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	if c != nil && o.writes("html") {
		if err := c.AddRuns(cmd.Context(), r); err != nil {
			return &exitError{exitInterrupted, errors.New("interrupted: no page was written")}
		}
	}
	err = writeCheck(cmd.OutOrStdout(), r, o.output)
	for _, also := range o.also {
		if fileErr := writeCheckFile(r, also); err == nil && fileErr != nil {
			err = writeError(fileErr)
		}
	}
	if err != nil {
		return err
	}
	switch {
	case r.Problems():
		return &exitError{exitUsage, errors.New("a workload could not be checked")}
	case !r.Met(), o.failOn != "" && r.Worst().AtLeast(check.Severity(o.failOn)):
		return &exitError{code: exitFailed}
	}
	return nil
}

// checkTargets rejects targets of --also and --witness that cannot be written, or that are manifests, before any work starts.
func (o *checkOptions) checkTargets(files []check.File) error {
	for _, also := range o.also {
		_, name, _ := strings.Cut(also, "=")
		dir, err := os.Stat(filepath.Dir(name))
		if err != nil || !dir.IsDir() {
			return fmt.Errorf("--also: there is no directory %s", printable.Text(filepath.Dir(name)))
		}
		info, err := os.Stat(name)
		switch {
		case err != nil: // it does not exist
		case info.IsDir():
			return fmt.Errorf("--also: %s is a directory", printable.Text(name))
		case slices.ContainsFunc(files, func(f check.File) bool { return sameFile(f.Name, info) }):
			return fmt.Errorf("--also: %s is one of the manifests: specify another file", printable.Text(name))
		}
	}
	if info, err := os.Stat(o.witness); err == nil && !info.IsDir() {
		return fmt.Errorf("--witness: %s is not a directory", printable.Text(o.witness))
	}
	return nil
}

var errNoWorkload = errors.New("there is no workload")

// runCheck checks manifests and shows progress. The name of the manifests is for messages.
func runCheck(cmd *cobra.Command, files []check.File, name string, o check.Options, parallel int) (*check.Report, error) {
	c, err := runChecker(cmd, files, name, o, parallel)
	if err != nil {
		return nil, err
	}
	return c.Report(), nil
}

// onStdin is the command line of each command that checks manifests, with a manifest on stdin. nothingDone says that it did nothing.
var onStdin = map[string]string{"check": "probesim check -", "compare": "probesim compare BEFORE -", "tune": "probesim tune -"}
var nothingDone = map[string]string{"check": "nothing was checked", "compare": "nothing was compared", "tune": "nothing was tuned"}

// invalidManifests is the error of a command whose manifests are invalid.
func invalidManifests(command string, files []check.File, err error) error {
	return &exitError{exitUsage, fmt.Errorf("%s\n%w%s", nothingDone[command], err, templateHint(onStdin[command], files, err))}
}

// noWorkload is the error of a command with manifests without a workload. It is an errNoWorkload.
func noWorkload(command, name string) error {
	return &exitError{exitUsage, fmt.Errorf("%w in %s: %s needs at least one of %s", errNoWorkload, name, command, manifests.Workloads)}
}

// runChecker does all tasks of a Checker and shows progress. Without a workload, it returns errNoWorkload with a Checker that has no tasks.
func runChecker(cmd *cobra.Command, files []check.File, name string, o check.Options, parallel int) (*check.Checker, error) {
	ctx := cmd.Context()
	c, err := check.New(files, o)
	if err != nil {
		return nil, invalidManifests(cmd.Name(), files, err)
	}
	if c.Workloads() == 0 {
		return c, noWorkload(cmd.Name(), name)
	}
	defer collectRarely()()
	what := "containers checked"
	if n := len(o.Profiles); n > 1 {
		what = fmt.Sprintf("checks done, of %d containers in %d versions", c.Tasks()/n, n)
	}
	progress := newCounter(cmd.ErrOrStderr(), c.Tasks(), what)
	defer progress.stop()
	p := pool{parallel: parallel, ahead: c.Tasks()}
	err = inOrder(ctx, c.Tasks(), p, func(a *account) error { return c.Do(a.ctx, a.number) }, func(_ int, err error) error {
		if err == nil {
			progress.step()
		}
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, &exitError{exitInterrupted, fmt.Errorf("interrupted: %s", progress)}
	case err != nil:
		return nil, &exitError{exitBroken, err}
	}
	return c, nil
}

// writeWitnesses writes the scenarios that show the ends of the rows to a directory, which it creates.
func writeWitnesses(ctx context.Context, dir string, c *check.Checker, stderr io.Writer) error {
	witnesses, missing, err := c.Witnesses(ctx)
	if err != nil {
		return &exitError{exitInterrupted, errors.New("interrupted: no scenario was written")}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return &exitError{exitUsage, fmt.Errorf("--witness: %w", err)}
	}
	for _, w := range witnesses {
		if err := writeFile(ctx, filepath.Join(dir, w.Name+".yaml"), w.File, true); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(stderr, "probesim: no scenario shows %s\n", strings.Join(missing, ", "))
	}
	_, err = fmt.Fprintf(stderr, "probesim: wrote %d scenarios to %s. Next: probesim run %s\n", len(witnesses), printable.Text(dir), quote(dir))
	if others := otherScenarios(dir, witnesses); len(others) > 0 {
		fmt.Fprintf(stderr, "probesim: %s has %d other files, which this command runs too: %s\n", printable.Text(dir), len(others), few(others))
	}
	return err
}

// otherScenarios returns the YAML files in a directory that are not among the witnesses, such as those of an earlier check.
func otherScenarios(dir string, witnesses []bounds.Witness) []string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		name, isYAML := strings.CutSuffix(e.Name(), ".yaml")
		if isYAML && !slices.ContainsFunc(witnesses, func(w bounds.Witness) bool { return w.Name == name }) {
			names = append(names, printable.Text(e.Name()))
		}
	}
	return names
}

// templateHint says how to render a template of a Helm chart, if an invalid file looks like one.
func templateHint(command string, files []check.File, err error) string {
	var invalid scenarios.Errors
	errors.As(err, &invalid)
	for _, f := range files {
		isInvalid := slices.ContainsFunc(invalid, func(e scenarios.Error) bool { return e.File == f.Name })
		if isInvalid && bytes.Contains(f.Data, []byte("{{")) {
			return fmt.Sprintf("\n%s looks like a template. For a Helm chart: helm template CHART | %s", printable.Text(f.Name), command)
		}
	}
	return ""
}

func listed(files []check.File) string {
	var names []string
	for _, f := range files {
		names = append(names, printable.Text(f.Name))
	}
	return strings.Join(names, ", ")
}

func writeCheck(w io.Writer, r *check.Report, format string) error {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(r)
	case "markdown":
		return render.Markdown(safeText(w), r)
	case "html":
		return html.Write(w, r)
	case "github":
		if err := writeJobSummary(func(w io.Writer) error { return render.Markdown(w, r) }); err != nil {
			return err
		}
		return render.GitHub(w, r, repositoryPath)
	case "sarif":
		return render.SARIF(w, r, version(), repositoryPath)
	}
	return render.Text(w, r, textOptions(w))
}

// writeCheckFile writes the report to a file, from FORMAT=FILE.
func writeCheckFile(r *check.Report, also string) error {
	format, name, _ := strings.Cut(also, "=")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(writeCheck(f, r, format), f.Close())
}
