package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	if asked && len(paths) != 1 {
		return nil, errors.New("--app and --print-scenario take one manifest: specify one file, or - for stdin")
	}
	if !asked && (len(paths) != 1 || !isManifest(cmd, paths[0])) {
		return nil, nil // the loader reports what is wrong
	}
	m := &whatif.Options{Manifest: filepath.ToSlash(paths[0]), Words: o.words()}
	var err error
	if m.Data, err = readManifest(cmd, paths[0]); err != nil {
		return nil, err
	}
	if paths[0] == "-" {
		m.Manifest = "stdin"
	} else if !input.IsPipe(paths[0]) {
		m.File, err = relative(".", paths[0])
	}
	if bytes.Contains(m.Data, []byte(format.APIVersion)) {
		return nil, fmt.Errorf("%s has a Scenario, and --app takes a manifest without one: write the events into its "+
			"behavior", printable.Text(m.Manifest))
	}
	return m, err
}

// isManifest reports whether a file is a valid manifest with workloads, and has no Scenario.
func isManifest(cmd *cobra.Command, path string) bool {
	if info, err := os.Stat(path); path == "-" || err != nil || info.IsDir() {
		return false
	}
	data, err := readManifest(cmd, path)
	if err != nil || bytes.Contains(data, []byte(format.APIVersion)) {
		return false
	}
	m, err := manifests.Read(path, data)
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
		if options.Stdin, err = readManifest(cmd, "-"); err != nil {
			return nil, nil, err
		}
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
