package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/answers/rollout/html"
	"probesim.dev/internal/answers/rollout/render"
	"probesim.dev/internal/answers/tune"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/show/report"
)

// ofRollouts splits requirements into those on rollouts and the others.
func ofRollouts(require []string) (about, others []string) {
	for _, text := range require {
		rollouts, probes := check.SplitRequirements(text)
		about, others = append(about, rollouts...), append(others, probes...)
	}
	return about, others
}

// tuneRollouts finds changes with which rollouts meet requirements.
func tuneRollouts(cmd *cobra.Command, paths []string, o tuneOptions) error {
	if err := checkOutput(o.output, tuneOutputs); err != nil {
		return err
	}
	if err := ignored(cmd, "with requirements on rollouts", "details", "measured", "allow-annotations"); err != nil {
		return err
	}
	margin, err := parseShare(o.margin)
	if err != nil {
		return fmt.Errorf("--margin: %w", err)
	}
	limit, err := parseTime(o.time)
	if err != nil {
		return err
	}
	f := o.rollout
	f.output, f.delays, f.start, f.stop, f.require, f.parallel = o.output, o.delays, o.start, o.stop, o.require,
		o.parallel
	f.kubernetes = strings.Join(o.kubernetes, ",")
	ctx, cancel := within(cmd.Context(), limit)
	defer cancel()
	options, err := f.options(ctx, cmd)
	if err != nil {
		return err
	}
	files, err := newManifestReader(cmd, false).read(paths)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	from, err := f.readFrom(cmd)
	if err != nil {
		return err
	}
	options.Keep = o.output == "html"
	r, err := rollout.Tune(files, from, options, margin > 0)
	if err != nil {
		return f.invalid(cmd, slices.Concat(files, from), err)
	}
	w := cmd.OutOrStdout()
	switch o.output {
	case "json":
		err = report.WriteJSON(w, r)
	case "patch":
		tellUnmet(cmd.ErrOrStderr(), r)
		err = writePatches(terminal.Safe(w), r)
	case "yaml":
		tellUnmet(cmd.ErrOrStderr(), r)
		err = editManifests(terminal.Copy(w), cmd.ErrOrStderr(), files, r.Edit)
	case "html":
		err = html.WriteTuning(w, r)
	default:
		err = render.Tuning(w, r, terminal.Options(w))
	}
	if err == nil && !r.Met() {
		err = &exitError{code: exitFailed}
	}
	return err
}

// tellUnmet names the Deployments that stay as they are.
func tellUnmet(stderr io.Writer, r *rollout.Tuning) {
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

// writePatches writes a strategic merge patch for each Deployment that changes.
func writePatches(w io.Writer, r *rollout.Tuning) error {
	var all [][]byte
	for i := range r.Workloads {
		t := &r.Workloads[i]
		if t.Patch == nil {
			continue
		}
		var value any
		if err := utiljson.Unmarshal(t.Patch, &value); err != nil { // numbers stay whole
			return err
		}
		text, err := tune.PatchFile(tune.PatchCommand(t.Kind, t.Namespace, t.Name), value)
		if err != nil {
			return err
		}
		all = append(all, text)
	}
	_, err := w.Write(bytes.Join(all, []byte("---\n")))
	return err
}
