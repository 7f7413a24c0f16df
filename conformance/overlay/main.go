// Command overlay edits copies of two files of the Go installation, and prints the GOFLAGS with
// which go builds a conformance program with them:
//
//	export GOFLAGS="$(go run probesim.dev/conformance/overlay)"
//
// With arguments, it runs them as a command with these GOFLAGS. If go has downloaded the toolchain
// that the module needs, it lies in the module cache, where go refuses an overlay. The command then
// runs with a copy of the toolchain:
//
//	go run probesim.dev/conformance/overlay go build
//
// Package edited has the edits.
package main

import (
	"context"
	"fmt"
	"os"

	"probesim.dev/conformance/overlay/edited"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
}

// run prints the GOFLAGS, or runs a command with them.
func run(command []string) error {
	t, err := edited.Find("", len(command) > 0)
	switch {
	case err != nil:
		return err
	case len(command) == 0:
		fmt.Println(t.Flags())
		return nil
	}
	c := t.Command(context.Background(), command...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}
