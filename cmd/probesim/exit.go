package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"probesim.dev/internal/runner"
	"probesim.dev/internal/show/report"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1   // an expectation failed
	exitUsage       = 2   // invalid usage or an invalid file
	exitBroken      = 3   // a limit was exceeded, or probesim itself failed
	exitInterrupted = 130 // 128 + SIGINT
	exitPipe        = 141 // 128 + SIGPIPE: the reader closed stdout
)

// usualExits ends the help text of a command that makes runs.
const usualExits = `
  3    a limit was exceeded, or probesim itself failed
  130  interrupted`

// exitError ends the program with an exit code, and a message unless err is nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

func (e *exitError) Unwrap() error { return e.err }

// ended returns the exit of runs with an outcome, or of the error that ended them.
func ended(outcome report.Outcome, err error) error {
	switch {
	case err != nil:
		return broken(err)
	case outcome == report.Broken:
		return &exitError{code: exitBroken}
	case outcome == report.Invalid:
		return &exitError{code: exitUsage}
	case outcome == report.Failed:
		return &exitError{code: exitFailed}
	}
	return nil
}

// broken returns the exit of work that needs all its runs, with the error that ended it.
func broken(err error) error {
	early, is := errors.AsType[runner.Interrupted](err)
	switch {
	case is && early.Cause == context.Canceled:
		return &exitError{exitInterrupted, err}
	case err != nil:
		return &exitError{exitBroken, err}
	}
	return nil
}

// failed returns the exit of a command whose answer is that something fails, if it is.
func failed(is bool) error {
	if is {
		return &exitError{code: exitFailed}
	}
	return nil
}

// nothing returns the error of a command that did nothing because of its files.
func nothing(done string, err error) error { return fmt.Errorf("nothing was %s\n%w", done, err) }

// writeError returns the exit for an error of standard output, which execute finds. It is silent if
// the reader closed the pipe.
func writeError(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return &exitError{code: exitPipe}
	}
	return &exitError{exitBroken, err}
}
