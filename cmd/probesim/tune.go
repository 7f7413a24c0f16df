package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/answers/tune"
	"probesim.dev/internal/answers/tune/html"
	"probesim.dev/internal/inplace"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/show/report"
)

var tuneOutputs = []string{"table", "patch", "yaml", "json", "html"}

func newTune() *cobra.Command {
	var o tuneOptions
	cmd := newCommand("tune MANIFEST... --require REQUIREMENTS", "Find settings that meet requirements", tuneHelp,
		tuneExamples, someFiles("tune requires a manifest: a file, a directory, or - for stdin"),
		func(cmd *cobra.Command, args []string) error {
			if _, err := o.configure(cmd); err != nil {
				return err
			}
			return tuneManifests(cmd, args, o)
		})
	cmd.Flags().StringVarP(&o.output, "output", "o", "table", "Output `format`: "+strings.Join(tuneOutputs, ", ")+".")
	cmd.Flags().BoolVar(&o.details, "details", false,
		"Also show all margins, and the check before and after the changes.")
	cmd.Flags().StringVar(&o.margin, "margin", "20%",
		"By which `share` limits exceed what is required, such as 20% or 0%. With 0%, a preStop sleep is as short as "+
			"runs allow.")
	o.rollout.addTraffic(cmd)
	addMeasured(cmd, &o.measured)
	addTime(cmd, &o.time)
	o.addFlags(cmd, map[string][]string{"output": tuneOutputs})
	return cmd
}

type tuneOptions struct {
	checkOptions
	details bool // show the comparison
	margin  string
	rollout rolloutFlags // of requirements on rollouts
}

const tuneHelp = `Find probe settings that meet requirements, such as a start of up to 70s and a
stop of a hung container within 45s. MANIFEST is a file, a directory, or - for
stdin. The requirements are those of check, also of the annotations of a
workload: see 'probesim check --help'. tune changes no sidecar unless a
requirement names it.

tune changes initialDelaySeconds, periodSeconds, timeoutSeconds and
failureThreshold of the probes that a container has. It can add a startup probe
with the handler of the liveness probe, a readiness probe, and
terminationGracePeriodSeconds to the liveness probe for a short time to recover.
With --stop, it raises terminationGracePeriodSeconds of the pod until all
programs exit by themselves. It changes as few fields as possible, each of them
as little as possible: one step closer to the old value, a requirement does not
hold.

Limits exceed what is required by --margin, because how long something takes in
a program is seldom known well. If no setting does, tune returns one that just
meets the requirements. Settings that meet them already stay as they are.

Requirements on rollouts are lost<=N, ready>=N, takes<=D and prestop<=D, as for
'probesim rollout'. For them, tune finds the least change of the preStop sleep
and the grace period, minReadySeconds, maxSurge and maxUnavailable with which
runs meet them, or adds a readiness probe.

The settings hold on every node of --delays, in every phase, and in every
version of --kubernetes, as check finds. If no setting meets the requirements,
tune says which of them contradict each other.

Output formats:
  table  the changes, the margins and what gets worse (default); with
         --details also the check before and after
  patch  strategic merge patches for 'kubectl patch --patch-file'
  yaml   the manifests with the fields changed in place; comments stay
  json   stable JSON, described in docs/json.md
  html   a page with the changes and the check before and after, or with the
         worst rollout before and after

Exit codes:
  0    there are settings that meet the requirements
  1    no setting meets the requirements of a workload
  2    invalid usage or an invalid manifest, or one that cannot be simulated` + usualExits

const tuneExamples = `  # Find settings for a program that takes up to 70 s to start
  probesim tune deployment.yaml --require 'start>=70s'

  # Kill a hung container within 45 s, and none that stalls for up to 15 s
  probesim tune deployment.yaml --require 'stall>=15s, detect<=45s'

  # Lose no request in a rollout at 200 requests a second
  probesim tune web.yaml --require 'lost<=0' --rps 200 --start 8s..15s

  # Apply the settings to the cluster
  probesim tune deployment.yaml --require 'start>=70s' -o patch > patch.yaml
  kubectl patch deployment orders --patch-file patch.yaml

  # Change the manifest
  probesim tune deployment.yaml --require 'start>=70s' -o yaml > new.yaml`

func tuneManifests(cmd *cobra.Command, paths []string, o tuneOptions) error {
	about, others := ofRollouts(o.require)
	switch {
	case len(about) > 0 && len(others) > 0:
		return fmt.Errorf("--require: requirements on rollouts (%s) and on probes (%s) cannot be met together: run "+
			"tune for each", strings.Join(about, ", "), strings.Join(others, ", "))
	case len(about) > 0:
		return tuneRollouts(cmd, paths, o)
	}
	if err := ignored(cmd, "without a requirement on rollouts, such as lost<=0", trafficFlags...); err != nil {
		return err
	}
	if o.output != "table" {
		if err := ignored(cmd, "without -o table", "details"); err != nil {
			return err
		}
	}
	options, err := o.parse(tuneOutputs...)
	if err != nil {
		return err
	}
	margin, err := parseShare(o.margin)
	if err != nil {
		return fmt.Errorf("--margin: %w", err)
	}
	files, err := newManifestReader(cmd, false).read(paths)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if err := o.measure(cmd, files, &options); err != nil {
		return err
	}
	options.RequireMeasured = options.Measured != nil
	limit, err := parseTime(o.time)
	if err != nil {
		return err
	}
	if err := o.unknown(options, files); err != nil {
		return &exitError{exitUsage, err}
	}
	r, err := runTune(cmd, files, options, margin, o.parallel, limit)
	if err != nil {
		return err
	}
	if err := writeTuned(cmd, files, r, options, o); err != nil {
		return err
	}
	switch {
	case r.Problems():
		return &exitError{exitUsage, errors.New("a workload could not be tuned")}
	case !r.Met():
		return &exitError{code: exitFailed}
	}
	return nil
}

// maxMargin is the greatest share of --margin.
const maxMargin = 10

// parseShare parses a share, such as 20%.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent || !(share >= 0 && share <= 100*maxMargin) {
		return 0, fmt.Errorf("must be a share from 0%% to %d%%, such as 20%%", 100*maxMargin)
	}
	return share / 100, nil
}

// runTune finds settings and shows progress.
func runTune(cmd *cobra.Command, files []check.File, o check.Options, margin float64, parallel int,
	limit time.Duration) (*tune.Report, error) {
	t, err := tune.New(files, o)
	if err != nil {
		return nil, invalidManifests("tune", files, err)
	}
	if t.Margin = margin; t.Workloads() == 0 && len(o.Require) > 0 {
		return nil, noWorkload("tune", listed(files))
	}
	if t.Workloads() == 0 {
		return nil, &exitError{exitUsage,
			fmt.Errorf("no workload in %s has requirements: specify --require, --stop or --measured, or the "+
				"annotation %s", listed(files), check.RequireAnnotation)}
	}
	ctx, cancel := within(cmd.Context(), limit)
	defer cancel()
	if err := doTasks(ctx, cmd, t.Tasks(), "containers tuned", parallel, t.Do); err != nil {
		return nil, err
	}
	return t.Report(), nil
}

func writeTuned(cmd *cobra.Command, files []check.File, r *tune.Report, options check.Options, o tuneOptions) error {
	w := cmd.OutOrStdout()
	switch o.output {
	case "json":
		return report.WriteJSON(w, r)
	case "patch":
		tellNotes(cmd.ErrOrStderr(), r)
		return r.Patch(terminal.Safe(w))
	case "yaml":
		tellNotes(cmd.ErrOrStderr(), r)
		return editManifests(terminal.Copy(w), cmd.ErrOrStderr(), files, r.Edit)
	}
	if o.output == "html" {
		var comparison strings.Builder
		if err := compareTuned(cmd, &comparison, files, r, options, o.checkOptions); err != nil {
			return err
		}
		return html.Write(w, r, comparison.String())
	}
	if err := tune.Text(w, r, tune.TextOptions{Options: terminal.Options(w), Details: o.details}); err != nil ||
		!r.Changed() || !o.details {
		return err
	}
	fmt.Fprintln(w)
	return compareTuned(cmd, w, files, r, options, o.checkOptions)
}

// compareTuned writes the check before and after the changes, if there are any.
func compareTuned(cmd *cobra.Command, w io.Writer, files []check.File, r *tune.Report, options check.Options,
	o checkOptions) error {
	if !r.Changed() {
		return nil
	}
	before, err := runCheck(cmd, files, listed(files), options, o.parallel)
	if err != nil {
		return err
	}
	options.Modify = r.Modify
	after, err := runCheck(cmd, files, listed(files), options, o.parallel)
	if err != nil {
		return err
	}
	return compare.Text(w, compare.Compare(before, after), terminal.Options(w))
}

// tellNotes says which workloads stay as they are, and what the changes of the others cost.
func tellNotes(stderr io.Writer, r *tune.Report) {
	for _, w := range r.Workloads {
		if w.Problem != "" {
			tell(stderr, "%s was not tuned: %s", w.Title(), w.Problem)
		}
		for _, m := range w.Missing {
			tell(stderr, "%s, %s", w.Title(), m)
		}
		for _, v := range w.Overrides {
			tell(stderr, "%s: %s", w.Title(), v)
		}
		for _, c := range w.Containers {
			for _, x := range c.Contradictions {
				tell(stderr, "%s, container %s: %s", w.Title(), c.Name, x.Text)
			}
			for _, note := range c.Notes() {
				tell(stderr, "%s, container %s: %s", w.Title(), c.Name, note)
			}
		}
	}
}

// tell writes a wrapped line to standard error.
func tell(stderr io.Writer, format string, args ...any) {
	report.WriteLine(stderr, 0, "probesim: "+fmt.Sprintf(format, args...), report.Plain, terminal.Options(stderr))
}

// editManifests writes the manifests with their changes, as one stream. It says which comments
// stand beside a changed number.
func editManifests(w, stderr io.Writer, files []check.File,
	edit func(check.File) ([]byte, []inplace.Comment, error)) error {
	for i, f := range files {
		text, comments, err := edit(f)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		for _, c := range comments {
			tell(stderr, "%s: the comment in line %d of the result may be about the old value: %s",
				printable.Text(f.Name), c.Line, printable.Text(c.Text))
		}
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if len(text) > 0 && text[len(text)-1] != '\n' && i < len(files)-1 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
	}
	return nil
}
