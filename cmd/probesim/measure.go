package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/answers/measure/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
)

// measureOptions are the flags of measure.
type measureOptions struct {
	output   string
	versions []string
	delays   string
}

func newMeasure() *cobra.Command {
	var o measureOptions
	cmd := newCommand("measure FILE...", "Measure how long programs of a cluster take to start and stop", measureHelp,
		measureExamples,
		someFiles("measure requires a file with pods, or - for stdin"),
		o.measure)
	cmd.ValidArgsFunction = nil // files of any name
	addOutput(cmd, &o.output, "table", []string{"table", "json", "markdown", "html", "config"})
	addVersions(cmd, &o.versions, "Kubernetes `versions` of the kubelets, for example v1.36 or v1.34..",
		"those of the nodes in the files, or all")
	addDelays(cmd, &o.delays, "typical", "The `nodes`")
	return cmd
}

const measureHelp = `Measure how long the programs of a cluster take to start and to stop, from pods
and their events. FILE is a file, or - for stdin, in any format that incident
reads; JSON of kubectl has the most. Several versions of a pod (kubectl get -w)
tell more starts, and so do rows of kubectl get pods -w with their workload.

The kubelet sees a program only through its probes: a start ended between the
last run that must have failed and the first one that succeeded, and times have
whole seconds. So measure prints a range for each container that contains all
starts, how exactly it is known, and what its probes always allow. It counts the
restarts, and tells how long programs lived and took to stop. Without
--kubernetes, the versions of the Node objects in the files count.

Output formats:
  table     a table, and what is not known (default)
  json      stable JSON, described in docs/json.md
  markdown  the same for an issue
  html      a page
  config    a .probesim.yaml for probesim check

Exit codes:
  0    a start or a stop is measured
  1    nothing is measured
  2    invalid usage, a file that cannot be read, or no pods` + usualExits

const measureExamples = `  # How long do the programs of a namespace take to start?
  kubectl get pods,events,nodes -n shop -o json | probesim measure -

  # Check the manifests with these starts
  kubectl get pods -n shop -o json > pods.json
  probesim measure pods.json -o config > .probesim.yaml
  probesim check deploy/`

func (o *measureOptions) measure(cmd *cobra.Command, args []string) error {
	options := measure.Options{Profiles: profiles(o.versions)}
	options.Delays, _ = fakeruntime.DelaySet(o.delays)
	recordings, err := (&incidentOptions{}).read(cmd, args)
	if err != nil {
		return err
	}
	r := measureFiles(cmd, recordings, options)
	if len(r.Workloads) == 0 {
		because := "there are no pods with a spec and a status in the files"
		if len(r.Unused) > 0 {
			because = printable.Text(r.Unused[0].Where) + ": the pod is not used: " + r.Unused[0].Reason
		}
		return errors.New(because + "\nGive measure what this command prints:\n  kubectl get pods,events -n " +
			"NAMESPACE -o json")
	}
	if err := o.write(cmd, r); err != nil {
		return err
	}
	if !r.Measured() && o.output == "config" {
		return &exitError{exitFailed, errors.New("nothing is measured: 'probesim measure' without -o says why")}
	}
	return failed(!r.Measured())
}

func (o *measureOptions) write(cmd *cobra.Command, r *measure.Report) error {
	if o.output == "config" {
		return render.Config(cmd.OutOrStdout(), r)
	}
	a := answer{json: r, document: render.Document(r)}
	return a.write(cmd, o.output, alsoFiles{})
}

// readMeasured returns what a file says about starts and stops: a saved measurement, or pods.
// Without a file, the pods among the manifests say it. The result is nil if there are none. The
// options are those of the nodes.
func readMeasured(cmd *cobra.Command, name string, manifests []input.File, o measure.Options) (*measure.Report, error) {
	if name == "" {
		pods := slices.DeleteFunc(slices.Clone(manifests),
			func(f input.File) bool { return !bytes.Contains(f.Data, []byte("containerStatuses")) })
		if len(pods) == 0 {
			return nil, nil
		}
		return measureFiles(cmd, pods, o), nil
	}
	f, err := readFile(cmd, name, incident.MaxFile)
	name = printable.Text(f.Name)
	r := &measure.Report{}
	switch {
	case err != nil:
	case isMeasurement(f.Data):
		file := strict.JSONFile{Name: f.Name, Data: f.Data, What: "the JSON of probesim measure", Open: true}
		err = file.Decode(r)
	default:
		if r = measureFiles(cmd, []input.File{f}, o); len(r.Workloads) == 0 {
			err = fmt.Errorf("%s has no pods, and is not the JSON of probesim measure\nSave one of these:\n"+
				"  kubectl get pods,events -n NAMESPACE -o json\n  probesim measure pods.json -o json", name)
		} else if !r.Measured() {
			err = fmt.Errorf("nothing is measured: 'probesim measure %s' says why for each container", name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("--measured: %w", err)
	}
	return r, nil
}

// isMeasurement reports whether a file is JSON of measure, and no object of Kubernetes.
func isMeasurement(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) && bytes.Contains(data, []byte(`"workloads"`)) &&
		!bytes.Contains(data, []byte(`"apiVersion"`))
}

// measureFiles measures the pods in files, and warns of parts that cannot be read. Without versions
// in the options, those in the files count.
func measureFiles(cmd *cobra.Command, files []input.File, o measure.Options) *measure.Report {
	rec := incident.Read(files)
	hasVersions := func(name string) bool { // a file with nothing else is no problem
		return slices.ContainsFunc(files, func(f input.File) bool {
			known, unknown := measure.Versions([]input.File{f})
			return f.Name == name && len(known)+len(unknown) > 0
		})
	}
	for _, p := range rec.Problems {
		if p.Lost && !(p.Line == 0 && hasVersions(p.File)) {
			warn(cmd.ErrOrStderr(), p.String())
		}
	}
	if len(o.Profiles) == 0 {
		var unknown []incident.Problem
		o.Profiles, unknown = measure.Versions(files)
		for _, p := range unknown {
			warn(cmd.ErrOrStderr(), p.String())
		}
	}
	return measure.Of(rec, o)
}

// measure adds what is measured to the options of a check. Without --kubernetes, the versions in
// the files count.
func (o *manifestFlags) measure(cmd *cobra.Command, files []input.File, options *check.Options) error {
	nodes := measure.Options{Delays: options.Nodes}
	if len(o.versions) > 0 {
		nodes.Profiles = options.Profiles
	} else if versions, _ := measure.Versions(files); len(versions) > 0 {
		options.Profiles, nodes.Profiles = versions, versions
	}
	var err error
	if options.Measured, err = readMeasured(cmd, o.measured, files, nodes); err != nil {
		return err
	}
	options.RequireMeasured = o.requireMeasured
	if options.Measures(files) || o.measured == "" && !o.requireMeasured {
		return nil
	}
	err = fmt.Errorf("no workload of the manifests is measured%s: a workload is found by its kind, namespace and name",
		map[bool]string{true: " in " + printable.Text(o.measured)}[o.measured != ""])
	if o.requireMeasured {
		return err
	}
	warn(cmd.ErrOrStderr(), err.Error())
	return nil
}
