package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
)

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
	options.Measured, err = readMeasured(cmd, o.measured, files, nodes)
	return err
}
