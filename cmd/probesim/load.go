package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"probesim.dev/scenarios"
)

// load loads the scenarios. The path - stands for stdin. With --keep-going, load returns the scenarios of valid files, and the
// errors of the others in invalid. It returns err if there is nothing to run.
func (o *runOptions) load(stdin io.Reader, paths ...string) (all []*scenarios.Scenario, invalid scenarios.Errors, err error) {
	options := scenarios.LoadOptions{KeepGoing: o.keepGoing}
	if slices.Contains(paths, "-") {
		if options.Stdin, err = readStdin(stdin); err != nil {
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
	var coded *exitError
	switch {
	case err == nil:
		return &exitError{exitUsage, text}
	case !errors.As(err, &coded) || coded.code == exitPipe:
		return err
	case coded.err != nil:
		text = fmt.Errorf("%w\n%w", coded.err, text)
	}
	return &exitError{max(coded.code, exitUsage), text}
}
