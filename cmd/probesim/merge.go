package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/explore"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

func newMerge() *cobra.Command {
	var o exploreOptions
	cmd := newCommand("merge RESULT...", "Join the results of the parts of an exploration", mergeHelp, mergeExamples,
		someFiles("merge requires the JSON outputs of 'probesim explore --shard'"),
		o.merge)
	cmd.ValidArgsFunction = completeJSON
	flags := cmd.Flags()
	addOutput(cmd, &o.output, "text", []string{"text", "json"})
	o.addWitness(cmd)
	flags.StringVar(&o.file, "file", "", "The scenario `file`, for --witness.")
	flags.BoolVar(&o.all, "all", false, "List all outcomes.")
	return cmd
}

const mergeHelp = `Join the results of the parts of an exploration. RESULT is the JSON output of
'probesim explore --shard I/N -o json'; all N parts are required. The result is
the same as without --shard.

merge needs no scenario file, unless --witness is set: it then writes the
witnesses of failures, as explore does. Run it where you ran explore.

Output formats: text and json. The exit codes are those of explore.`

const mergeExamples = `  # Explore on two machines
  probesim explore web.yaml --shard 0/2 -o json > 0.json
  probesim explore web.yaml --shard 1/2 -o json > 1.json
  probesim merge 0.json 1.json`

func (o *exploreOptions) merge(cmd *cobra.Command, paths []string) error {
	if err := o.checkIgnored(cmd); err != nil {
		return err
	}
	if (o.witness != "") != (o.file != "") {
		return usage("--witness and --file belong together: the witnesses are about the scenario file")
	}
	parts, engine, err := readExplorations(cmd, paths)
	if err != nil {
		return err
	}
	var results []*explore.Result
	bad := false
	for _, shards := range parts {
		r, err := explore.Merge(shards)
		if err != nil {
			return err
		}
		results, bad = append(results, r), bad || r.Bad()
	}
	if o.output == "json" {
		err = writeExplorations(cmd.OutOrStdout(), results)
	} else {
		err = o.writeMerged(cmd, results)
	}
	if err != nil {
		return err
	}
	if engine != version() {
		fmt.Fprintf(cmd.ErrOrStderr(), "probesim: the parts are of probesim %s, and this is %s\n",
			printable.Text(engine), version())
	}
	return failed(bad)
}

func (o *exploreOptions) writeMerged(cmd *cobra.Command, results []*explore.Result) error {
	var all []*scenarios.Scenario
	var text input.File
	if o.file != "" {
		var err error
		if text, err = readManifest(cmd, o.file); err != nil {
			return err
		}
		if all, _, err = o.load(cmd, o.file); err != nil {
			return err
		}
	}
	for i, r := range results {
		if i > 0 {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		e := &exploration{}
		if o.file != "" {
			k := slices.IndexFunc(all, func(s *scenarios.Scenario) bool { return s.Metadata.Name == r.Scenario })
			if k < 0 {
				return fmt.Errorf("%s has no scenario %q", printable.Text(o.file), r.Scenario)
			}
			e.subject = explore.Subject{Plan: all[k].Plan(r.Kubernetes, nil), JudgeAll: r.JudgeAll}
			e.data = text.Data
		}
		if err := o.writeText(cmd, e, r); err != nil {
			return err
		}
	}
	return nil
}

// readExplorations reads JSON outputs of explore. It groups the results by scenario and version, in
// the order of the first file.
func readExplorations(cmd *cobra.Command, paths []string) (parts [][]*explore.Result, engine string, err error) {
	var errs []error
	for _, path := range paths {
		text, err := readFile(cmd, path, maxResult)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		file := strict.JSONFile{Name: path, Data: text.Data, What: "the JSON output of 'probesim explore'",
			APIVersion: format.APIVersion, Kind: explorationsKind}
		var f explorationsFile
		err = file.Decode(&f)
		for i, r := range f.Explorations {
			if err == nil {
				err = r.Check(file, fmt.Sprintf("explorations[%d]", i))
			}
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if engine == "" {
			engine = f.Engine
		}
		if f.Engine != engine {
			errs = append(errs, file.Errorf("engine",
				"is of probesim %s, and %s is of %s: use the same version for all parts", f.Engine, paths[0], engine))
			continue
		}
		if len(f.Explorations) == 0 {
			return nil, "", fmt.Errorf("%s: has no exploration", printable.Text(path))
		}
		for _, r := range f.Explorations {
			i := slices.IndexFunc(parts, func(p []*explore.Result) bool {
				return p[0].Scenario == r.Scenario && p[0].Kubernetes == r.Kubernetes
			})
			if i < 0 {
				i = len(parts)
				parts = append(parts, nil)
			}
			parts[i] = append(parts[i], r)
		}
	}
	return parts, engine, errors.Join(errs...)
}

// maxResult is the maximum size of a result of explore, in bytes.
const maxResult = 256 << 20
