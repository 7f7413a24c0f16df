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
	exitUsage       = 2   // invalid usage or an invalid file
	exitBroken      = 3   // a limit was exceeded, or probesim itself failed
	exitInterrupted = 130 // 128 + SIGINT
	exitPipe        = 141 // 128 + SIGPIPE: the reader closed stdout
)

// exitError ends the program with an exit code, and a message unless err is nil.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return fmt.Sprint(e.err) }

func (e *exitError) Unwrap() error { return e.err }

// checkedWriter is the standard output. It remembers the first write error, because cobra ignores write errors of help texts.
type checkedWriter struct {
	io.Writer
	color colorChoice
	err   error
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// writeError returns the exit for a write error. It is silent if the reader closed the pipe.
func writeError(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return &exitError{code: exitPipe}
	}
	return &exitError{exitBroken, err}
}
