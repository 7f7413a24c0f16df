// Package command is the command in each of the folders of releases: it runs scenario files on the real kubelet
// of that release under virtual time.
package command

import (
	"os"
	"testing"
)

// Main runs the command inside a test: bubbles of testing/synctest exist only there.
func Main() {
	args := os.Args[1:]
	os.Args = os.Args[:1] // the flags are not those of a test
	everything := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{{Name: "conformance", F: func(t *testing.T) {
		// The exit code is that of the command, and package testing has nothing to say.
		os.Exit(execute(t, args))
	}}}, nil, nil)
}
