package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// loadAny loads the scenarios of files, or the scenario of a manifest and the events of --app. It
// returns false if it has printed the scenario instead.
func (o *runOptions) loadAny(cmd *cobra.Command, paths []string) (all []*scenarios.Scenario, invalid scenarios.Errors,
	run bool, err error) {
	m, err := o.manifest(cmd, paths)
	if err != nil {
		return nil, nil, false, err
	}
	if m == nil {
		all, invalid, err = o.load(cmd, paths...)
		return all, invalid, true, err
	}
	s, file, err := whatif.Scenario(*m)
	if err == nil && o.printScenario {
		_, err = cmd.OutOrStdout().Write(file.Bytes())
	}
	if err != nil || o.printScenario {
		return nil, nil, false, err
	}
	s.Command = []string{paths[0]}
	for _, word := range o.words() {
		s.Command = append(s.Command, "--app", word)
	}
	return []*scenarios.Scenario{s}, nil, true, nil
}

// manifest returns the manifest to run, or nil if the paths are scenarios: without --app and
// --print-scenario, a manifest is a single file with workloads and no Scenario.
func (o *runOptions) manifest(cmd *cobra.Command, paths []string) (*whatif.Options, error) {
	asked := len(o.words()) > 0 || o.printScenario
	switch {
	case len(paths) != 1 && asked:
		return nil, errors.New("--app and --print-scenario take one manifest: specify one file, or - for stdin")
	case len(paths) != 1, paths[0] == "-" && !asked:
		return nil, nil
	}
	f, err := readManifest(cmd, paths[0])
	hasScenario := bytes.Contains(f.Data, []byte(format.APIVersion))
	switch {
	case !asked && (err != nil || hasScenario || !hasWorkloads(f)):
		return nil, nil // the loader says what is wrong
	case err != nil:
		return nil, err
	case hasScenario:
		return nil, fmt.Errorf("%s has a Scenario, and --app takes a manifest without one: write the events into its "+
			"behavior", printable.Text(f.Name))
	}
	m := &whatif.Options{Manifest: f.Name, Data: f.Data, Words: o.words()}
	if paths[0] != "-" && !input.IsPipe(paths[0]) {
		m.File, err = relative(".", paths[0])
	}
	return m, err
}

// hasWorkloads reports whether a file is a valid manifest with workloads.
func hasWorkloads(f input.File) bool {
	m, err := manifests.Read(f.Name, f.Data)
	return err == nil && len(m.Workloads) > 0
}

// load loads the scenarios. The path - stands for stdin. With --keep-going, load returns the
// scenarios of valid files, and the errors of the others in invalid. It returns err if there is
// nothing to run.
func (o *runOptions) load(cmd *cobra.Command, paths ...string) (all []*scenarios.Scenario, invalid scenarios.Errors,
	err error) {
	options := loadOptions(cmd)
	options.KeepGoing = o.keepGoing
	if slices.Contains(paths, "-") {
		f, err := readManifest(cmd, "-")
		if err != nil {
			return nil, nil, err
		}
		options.Stdin = f.Data
	}
	all, err = options.Load(paths...)
	if !o.keepGoing {
		return all, nil, err
	}
	if len(all) == 0 || err != nil && !errors.As(err, &invalid) {
		return nil, nil, err
	}
	return all, invalid, nil
}

// withInvalid adds the errors of invalid files to the result of a command.
func withInvalid(err error, invalid scenarios.Errors) error {
	if len(invalid) == 0 {
		return err
	}
	text := fmt.Errorf("the scenarios of invalid files were not run\n%w", invalid)
	coded, is := errors.AsType[*exitError](err)
	if !is {
		coded = &exitError{exitUsage, err}
	}
	if coded.err != nil {
		text = fmt.Errorf("%w\n%w", coded.err, text)
	}
	return &exitError{max(coded.code, exitUsage), text}
}
