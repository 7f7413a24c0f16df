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
	"probesim.dev/internal/scenarios/simulate"
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
	if len(paths) != 1 {
		if asked {
			return nil, errors.New("--app and --print-scenario take one manifest: specify one file, or - for stdin")
		}
		return nil, o.onlyOneManifest(cmd, paths)
	}
	if info, err := os.Stat(paths[0]); !asked && (paths[0] == "-" || err != nil || info.IsDir()) {
		return nil, nil // the loader reports what is wrong
	}
	m := &whatif.Options{Manifest: filepath.ToSlash(paths[0]), Words: o.words()}
	var err error
	m.Data, err = readManifest(cmd, paths[0])
	switch {
	case paths[0] == "-":
		m.Manifest = "stdin"
	case err == nil && !input.IsPipe(paths[0]):
		m.File, err = relative(".", paths[0])
	}
	if err != nil {
		if asked {
			return nil, err
		}
		return nil, nil
	}
	if bytes.Contains(m.Data, []byte(format.APIVersion)) {
		if asked {
			return nil, fmt.Errorf("%s has a Scenario, and --app takes a manifest without one: write the events into "+
				"its behavior", printable.Text(m.Manifest))
		}
		return nil, nil
	}
	if !asked && !hasWorkloads(m.Manifest, m.Data) {
		return nil, nil
	}
	return m, nil
}

// hasWorkloads reports whether a file is a valid manifest with workloads.
func hasWorkloads(name string, data []byte) bool {
	m, err := manifests.Read(name, data)
	return err == nil && len(m.Workloads) > 0
}

// onlyOneManifest returns an error if one of several files is a manifest without a Scenario. With
// --keep-going, such a file is invalid, and the others run.
func (o *runOptions) onlyOneManifest(cmd *cobra.Command, paths []string) error {
	if o.keepGoing {
		return nil
	}
	var plain, names []string
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		data, err := readManifest(cmd, path)
		if err == nil && !bytes.Contains(data, []byte(format.APIVersion)) && hasWorkloads(path, data) {
			plain, names = append(plain, path), append(names, printable.Text(path))
		}
	}
	if len(plain) == 0 {
		return nil
	}
	return fmt.Errorf(`%s: no Scenario, only workloads
%s takes one manifest without a Scenario, or any number of scenario files
Specify one manifest:
  probesim %[2]s %[3]s
or write a scenario for each:
  probesim init -f %[3]s`, printable.Few(names), cmd.Name(), simulate.Quote(plain[0]))
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
