package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/draft"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/strict"
)

// initOptions are the flags of init.
type initOptions struct {
	manifests []string // exactly one; a slice detects repeated flags
	output    string
	force     bool
	measured  string
}

func newInit() *cobra.Command {
	var o initOptions
	cmd := newCommand("init -f MANIFEST", "Write a first scenario for a manifest", initHelp, initExamples, o.checkArgs,
		o.write)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.manifests, "filename", "f", nil, "File with the `manifest`, or - for stdin.")
	flags.StringVarP(&o.output, "output", "o", "", "Write the scenario to this `file` (default stdout).")
	addForce(cmd, &o.force)
	needs(cmd, "output", "force")
	addMeasured(cmd, &o.measured)
	return cmd
}

const initHelp = `Write a first scenario for a manifest. For each container the scenario says how
long it takes to start, how it answers its probes and how it exits. It contains
expectations that hold, and comments with ideas for what to try next.

The manifest may contain Pods, Deployments, StatefulSets, DaemonSets,
ReplicaSets, Jobs, CronJobs, and custom resources with a pod template such as
Rollouts, alone or in lists. Objects without pods are ignored. The scenario
refers to the manifest by its path. A manifest from stdin is copied into the
scenario.

For a scenario of a rollout: 'probesim run MANIFEST --app 'rollout at 2m'
--print-scenario'.

The scenario is written to stdout unless you specify a file with -o. An existing
file is overwritten only with --force.`

const initExamples = `  # Write a scenario for a manifest, then run it
  probesim init -f pod.yaml -o scenario.yaml
  probesim run scenario.yaml

  # Write a scenario for a Deployment in a cluster
  kubectl get deployment web -o yaml | probesim init -f - -o web.yaml`

// checkArgs requires one manifest.
func (o *initOptions) checkArgs(_ *cobra.Command, args []string) error {
	switch {
	case len(args) > 0 && len(o.manifests) == 0:
		return fmt.Errorf("init requires -f before the manifest\nDid you mean 'probesim init -f %s'?",
			simulate.Quote(args[0]))
	case len(args) > 0:
		return fmt.Errorf("init takes no arguments: unexpected %s", strict.Quote(args[0]))
	case len(o.manifests) == 0 || o.manifests[0] == "":
		return errors.New("init requires a manifest: -f pod.yaml, or -f - for stdin")
	case len(o.manifests) > 1:
		return errors.New("init takes only one manifest, which may have several documents: cat a.yaml b.yaml | " +
			"probesim init -f -")
	}
	return nil
}

func (o *initOptions) write(cmd *cobra.Command, _ []string) error {
	if o.output == "-" {
		o.output = ""
	}
	d, err := o.read(cmd)
	if err == nil {
		d.Start, err = o.starts(cmd, &d)
	}
	if err == nil && o.output != "" {
		err = files.Of(cmd.Context()).Check(o.output, o.force)
	}
	if err != nil {
		return err
	}
	text, warnings, err := draft.Write(d)
	if err != nil {
		return fmt.Errorf("no scenario was written\n%w", err)
	}
	for _, w := range warnings {
		fmt.Fprintf(terminal.Safe(cmd.ErrOrStderr()), "warning: %s\n", printable.Text(w))
	}
	if o.output == "" {
		_, err := cmd.OutOrStdout().Write(text)
		return err
	}
	if err := writeFile(cmd.Context(), o.output, text, o.force); err != nil {
		return err
	}
	_, err = fmt.Fprintf(terminal.Safe(cmd.OutOrStdout()), "Wrote %s. Next: probesim run %s\n",
		printable.Text(o.output), simulate.Quote(o.output))
	return err
}

// read reads the manifest, and determines the path by which the scenario refers to it.
func (o *initOptions) read(cmd *cobra.Command) (draft.Options, error) {
	words := []string{"probesim init -f", simulate.Quote(o.manifests[0])}
	d := draft.Options{Run: "probesim run FILE"}
	if o.output != "" {
		words = append(words, "-o", simulate.Quote(o.output))
		d.Run = "probesim run " + simulate.Quote(o.output)
	}
	if o.measured != "" {
		words = append(words, "--measured", simulate.Quote(o.measured))
	}
	d.Command = strings.Join(words, " ")
	f, err := readManifest(cmd, o.manifests[0])
	if d.Data, d.Manifest = f.Data, f.Name; err != nil || o.manifests[0] == "-" || input.IsPipe(o.manifests[0]) {
		return d, err // what is no file is copied
	}
	d.File, err = relative(filepath.Dir(o.output), o.manifests[0])
	return d, err
}

// starts returns how long the slowest measured start of each container took, of the file of
// --measured or of the pods in the manifest.
func (o *initOptions) starts(cmd *cobra.Command, d *draft.Options) (func(*manifests.Workload, string) time.Duration,
	error) {
	r, err := readMeasured(cmd, o.measured, []input.File{{Name: d.Manifest, Data: d.Data}}, measure.Options{})
	if r == nil || err != nil {
		return nil, err
	}
	return func(w *manifests.Workload, container string) (longest time.Duration) {
		is := manifests.Owner{Kind: w.Kind, Namespace: w.Pod.Namespace, Name: w.Name}
		if w.Owner != nil {
			is = *w.Owner
		}
		for _, revision := range r.Revisions(is.Kind, is.Namespace, is.Name) { // the newest counts
			for _, c := range revision.Containers {
				if c.Name == container && c.Start != nil {
					longest = c.Start.Whole().Max
				}
			}
		}
		return longest
	}, nil
}

// relative returns the path of a file relative to a directory, with slashes.
func relative(dir, file string) (string, error) {
	from, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	path, err := filepath.Rel(from, to)
	return filepath.ToSlash(path), err
}
