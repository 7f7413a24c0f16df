package main

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1   // an expectation failed
	exitUsage       = 2   // bad usage, or a bad file
	exitBroken      = 3   // a limit was hit, or the program is at fault
	exitInterrupted = 130 // as shells report it
	exitPipe        = 141 // stdout was closed, as shells report it
)

// exitError ends the program with a code, and a message if there is one.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

// checkedWriter remembers the first error of writing. Cobra forgets those of help.
type checkedWriter struct {
	io.Writer
	err error
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// writeError ends the program because of an error of writing: quietly if nobody reads any more.
func writeError(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return &exitError{code: exitPipe}
	}
	return &exitError{exitBroken, err}
}
