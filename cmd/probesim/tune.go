package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/answers/rollout/render"
	"probesim.dev/internal/answers/tune"
	"probesim.dev/internal/inplace"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/require"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
)

// tuneOptions are the flags of tune.
type tuneOptions struct {
	manifestFlags
	margin  float64
	limit   time.Duration
	rollout rolloutFlags // of requirements on rollouts
}

func newTune() *cobra.Command {
	var o tuneOptions
	cmd := newCommand("tune MANIFEST... --require REQUIREMENTS", "Find settings that meet requirements", tuneHelp,
		tuneExamples, someFiles("tune requires a manifest: a file, a directory, or - for stdin"),
		o.tune)
	cmd.Flags().BoolVar(&o.details, "details", false,
		"Also show the check before and after the changes.")
	addFlag(cmd, &o.margin, "margin", "20%", "By which `share` limits exceed what is required, such as 20% or 0%. "+
		"With 0%, a preStop sleep is as short as runs allow.", parseShare)
	o.rollout.addTraffic(cmd)
	addMeasured(cmd, &o.measured)
	addTime(cmd, &o.limit)
	o.addFlags(cmd, slices.Insert(slices.Clone(reportOutputs), 1, "patch", "yaml"))
	return cmd
}

const tuneHelp = `Find probe settings that meet requirements, such as a start of up to 70s and a
stop of a hung container within 45s. MANIFEST is a file, a directory, or - for
stdin. The requirements are those of check, also of annotations: see 'probesim
check --help'. tune changes no sidecar unless a requirement names it.

tune changes initialDelaySeconds, periodSeconds, timeoutSeconds and
failureThreshold of the probes that a container has. It can add a startup probe
with the handler of the liveness probe, a readiness probe, and
terminationGracePeriodSeconds to the liveness probe for a short time to recover.
With --stop, it raises terminationGracePeriodSeconds of the pod until all
programs exit by themselves. It changes as few fields as possible, as little as
possible.

Limits exceed what is required by --margin, because how long something takes is
seldom known well. If no setting does, tune returns one that just meets the
requirements. Settings that meet them already stay as they are.

Requirements on rollouts are lost<=N, replicas>=N, takes<=D and prestop<=D, as
for 'probesim rollout', alone or beside the others. For them, tune finds the
least change of the preStop sleep and the grace period, minReadySeconds,
maxSurge and maxUnavailable that meets them in runs, or adds a readiness probe.
The runs take all events of --app, as those of 'probesim rollout' do.

The settings hold on every node of --delays, in every phase, and in every
version of --kubernetes, as check finds. If no setting meets the requirements,
tune says which of them contradict each other.

Output formats:
  table      the changes, the margins and what gets worse (default); with
             --details also the check before and after
  patch      strategic merge patches for 'kubectl patch --patch-file'
  yaml       the manifests with the fields changed in place; comments stay
  html       a page with the check before and after, or with the worst rollout
             before and after` + reportFormats + `
  0    there are settings that meet the requirements
  1    no setting meets the requirements of a workload` + manifestExits

const tuneExamples = `  # Find settings for a program that takes up to 70 s to start
  probesim tune deployment.yaml --require 'start>=70s'

  # Kill a hung container within 45 s, and none that stalls for up to 15 s
  probesim tune deployment.yaml --require 'stall>=15s, detect<=45s'

  # Lose no request in a rollout at 200 requests a second
  probesim tune web.yaml --require 'lost<=0' --rps 200 --start 8s..15s

  # Apply the settings to the cluster
  probesim tune deployment.yaml --require 'start>=70s' -o patch > patch.yaml
  kubectl patch deployment orders --patch-file patch.yaml`

// tuned is what tune finds. The changes for rollouts come on top of those for containers.
type tuned struct {
	files      []input.File
	containers *tune.Report // nil: no requirement is about containers
	changed    []input.File // the files with the changes of containers; those of rollouts begin with it
	rollouts   *rollout.Tuning
}

func (o *tuneOptions) tune(cmd *cobra.Command, paths []string) error {
	if _, err := o.configure(cmd); err != nil {
		return err
	}
	o.runs = slices.ContainsFunc(o.require, require.Requirement.AboutRollout)
	options, err := o.options()
	if err != nil {
		return err
	}
	containers := len(options.Require) > 0 || len(options.Rollouts) == 0
	if err := o.checkFlags(cmd, containers, len(options.Rollouts) > 0); err != nil {
		return err
	}
	var t tuned
	if t.files, err = o.readManifests(cmd, false, nil, paths...); err != nil {
		return err
	}
	if t.changed = t.files; containers {
		if err := t.tuneContainers(cmd, o, &options); err != nil {
			return err
		}
	}
	if len(options.Rollouts) > 0 {
		if err := t.tuneRollouts(cmd, o); err != nil {
			return err
		}
	}
	if err := t.write(cmd, options, o); err != nil {
		return err
	}
	if t.containers != nil && t.containers.Problems() {
		return errors.New("a workload could not be tuned")
	}
	return failed(t.containers != nil && !t.containers.Met() || t.rollouts != nil && !t.rollouts.Met())
}

// checkFlags rejects flags without an effect.
func (o *tuneOptions) checkFlags(cmd *cobra.Command, containers, rollouts bool) error {
	switch {
	case containers && rollouts && o.output == "html":
		return usage("--output html: a page is about containers or about rollouts: run tune for each")
	case !containers:
		return ignored(cmd, "with requirements on rollouts alone", "details", "measured", "allow-annotations")
	case o.output != "table":
		if err := ignored(cmd, "without -o table", "details"); err != nil {
			return err
		}
	}
	if rollouts {
		return nil
	}
	return ignored(cmd, "without a requirement on rollouts, such as lost<=0", trafficFlags...)
}

// tuneContainers finds settings of probes.
func (t *tuned) tuneContainers(cmd *cobra.Command, o *tuneOptions, options *check.Options) error {
	if err := o.measure(cmd, t.files, options); err != nil {
		return err
	}
	options.RequireMeasured = options.Measured != nil
	if err := o.unknown(cmd, *options, t.files); err != nil {
		return err
	}
	var err error
	if t.containers, err = o.runTune(cmd, t.files, *options); err != nil || len(options.Rollouts) == 0 {
		return err
	}
	t.changed = nil
	for _, f := range t.files {
		data, _, err := t.containers.Edit(f)
		if err != nil {
			return err
		}
		t.changed = append(t.changed, input.File{Name: f.Name, Data: data})
	}
	return nil
}

// tuneRollouts finds changes with which rollouts meet requirements.
func (t *tuned) tuneRollouts(cmd *cobra.Command, o *tuneOptions) error {
	f := o.rollout
	f.manifestFlags = o.manifestFlags
	ctx, cancel := within(cmd.Context(), o.limit)
	defer cancel()
	options, err := f.options(ctx, cmd)
	if err != nil {
		return err
	}
	from, err := f.readFrom(cmd)
	if err != nil {
		return err
	}
	options.Keep = o.output == "html"
	if t.rollouts, err = rollout.Tune(t.changed, from, options, o.margin > 0); err != nil {
		return f.invalid(cmd, slices.Concat(t.files, from), err)
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
func (o *tuneOptions) runTune(cmd *cobra.Command, files []input.File, options check.Options) (*tune.Report, error) {
	t, err := tune.New(files, options)
	switch {
	case err != nil:
		return nil, invalidManifests("tune", files, err)
	case t.Workloads() == 0 && len(options.Require) > 0:
		return nil, noWorkload("tune", listed(files), files)
	case t.Workloads() == 0 && options.Start.Ordinary != nil:
		return nil, fmt.Errorf("--start says how long a start takes, and requires nothing: add --require 'start>=%s'",
			value.Format(options.Start.Ordinary.Max))
	case t.Workloads() == 0:
		return nil, fmt.Errorf("no workload in %s has requirements: specify --require, --stop or --measured, or the "+
			"annotation %s", listed(files), workloads.RequireAnnotation)
	}
	t.Margin = o.margin
	ctx, cancel := within(cmd.Context(), o.limit)
	defer cancel()
	if err := doTasks(ctx, cmd, t.Tasks(), "containers tuned", o.parallel, t.Do); err != nil {
		return nil, err
	}
	return t.Report(), nil
}

func (t *tuned) write(cmd *cobra.Command, options check.Options, o *tuneOptions) error {
	w, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if o.output == "patch" || o.output == "yaml" {
		tellNotes(stderr, t.containers)
		tellUnmet(stderr, t.rollouts)
	}
	switch o.output {
	case "patch":
		return t.writePatches(terminal.Safe(w))
	case "yaml":
		return editManifests(terminal.Copy(w), stderr, t.changed, t.edit)
	}
	a := answer{details: o.details}
	if r := t.containers; r != nil {
		var comparison *document.Document
		if r.Changed() && (o.details || o.output == "html") {
			var err error
			if comparison, err = compareTuned(cmd, t.files, r, options, o.parallel); err != nil {
				return err
			}
		}
		a.json, a.document, a.findings = r, tune.Document(r, comparison), tune.Findings(r)
	}
	if r := t.rollouts; r != nil && t.containers == nil {
		a.json, a.document, a.findings = r, render.Tuning(r), render.TunedFindings(r)
	} else if r != nil {
		a.json = struct {
			Containers *tune.Report    `json:"containers"`
			Rollouts   *rollout.Tuning `json:"rollouts"`
		}{t.containers, r}
		a.document.Append(&render.Tuning(r).Body)
		a.findings.Append(render.TunedFindings(r))
	}
	return a.write(cmd, o.output, alsoFiles{})
}

// edit makes the changes in a file of manifests.
func (t *tuned) edit(f input.File) (edited []byte, comments []inplace.Comment, err error) {
	if t.rollouts == nil {
		return t.containers.Edit(f)
	}
	return t.rollouts.Edit(f)
}

// writePatches writes a strategic merge patch for each workload that changes.
func (t *tuned) writePatches(w io.Writer) error {
	var patches [][]byte
	var err error
	if t.containers != nil {
		if patches, err = t.containers.Patches(); err != nil {
			return err
		}
	}
	if t.rollouts != nil {
		for i := range t.rollouts.Workloads {
			of := &t.rollouts.Workloads[i]
			if of.Patch == nil {
				continue
			}
			text, err := tune.PatchFile(tune.PatchCommand(of.Kind, of.Namespace, of.Name), of.Fields())
			if err != nil {
				return err
			}
			patches = append(patches, text)
		}
	}
	_, err = w.Write(bytes.Join(patches, []byte("---\n")))
	return err
}

// compareTuned compares the check before and after the changes.
func compareTuned(cmd *cobra.Command, files []input.File, r *tune.Report, options check.Options,
	parallel int) (*document.Document, error) {
	before, err := runCheck(cmd, files, listed(files), options, parallel)
	if err != nil {
		return nil, err
	}
	options.Modify = r.Modify
	after, err := runCheck(cmd, files, listed(files), options, parallel)
	if err != nil {
		return nil, err
	}
	return compare.Document(compare.Compare(before, after)), nil
}

// tellNotes says which workloads stay as they are, and what the changes of the others cost.
func tellNotes(stderr io.Writer, r *tune.Report) {
	if r == nil {
		return
	}
	for _, w := range r.Workloads {
		if w.Problem != "" {
			tell(stderr, "%s was not tuned: %s", w.Title(), w.Problem)
		}
		for _, m := range w.Missing {
			tell(stderr, "%s, %s", w.Title(), m)
		}
		for _, c := range w.Containers {
			for _, x := range c.Why {
				tell(stderr, "%s, container %s: %s", w.Title(), c.Name, x)
			}
			for _, note := range c.Notes() {
				tell(stderr, "%s, container %s: %s", w.Title(), c.Name, note)
			}
		}
	}
}

// tell writes a wrapped line to standard error.
func tell(stderr io.Writer, format string, args ...any) {
	document.WriteLine(stderr, document.Plain, "probesim: "+fmt.Sprintf(format, args...), terminal.Options(stderr))
}

// editManifests writes the manifests with their changes, as one stream. It says which comments
// stand beside a changed number.
func editManifests(w, stderr io.Writer, files []input.File,
	edit func(input.File) ([]byte, []inplace.Comment, error)) error {
	var texts [][]byte
	for i, f := range files {
		text, comments, err := edit(f)
		if err != nil {
			return err
		}
		for _, c := range comments {
			tell(stderr, "%s: the comment in line %d of the result may be about the old value: %s",
				printable.Text(f.Name), c.Line, printable.Text(c.Text))
		}
		if len(text) > 0 && text[len(text)-1] != '\n' && i < len(files)-1 {
			text = append(text, '\n')
		}
		texts = append(texts, text)
	}
	_, err := w.Write(bytes.Join(texts, []byte("---\n")))
	return err
}

// tellUnmet names the Deployments that stay as they are.
func tellUnmet(stderr io.Writer, r *rollout.Tuning) {
	if r == nil {
		return
	}
	for i := range r.Workloads {
		if t := &r.Workloads[i]; !t.Met {
			why := ""
			for _, row := range t.Requirements {
				if row.After.Reason != "" {
					why += fmt.Sprintf("; %s: %s", row.Requirement, row.After.Reason)
				}
			}
			tell(stderr, "%s: no change was found that meets the requirements%s", t.Title(), why)
		}
	}
}
