// Package command is the command line of each release's directory. It runs scenario files on the
// real kubelet of that release under virtual time.
package command

import (
	"os"
	"testing"
)

// Main runs the command inside a test, because testing/synctest creates bubbles only in tests.
func Main() {
	args := os.Args[1:]
	os.Args = os.Args[:1] // hide the command's flags from package testing
	everything := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{{Name: "conformance", F: func(t *testing.T) {
		// Exit here, so that the command determines the exit code and package testing prints
		// nothing.
		os.Exit(execute(t, args))
	}}}, nil, nil)
}
