// Command v1.37 runs scenario files on the real kubelet of Kubernetes v1.37.0 under virtual time:
//
//	go run . timeline PATH...    the runs, drawn
//	go run . trace PATH...       their traces, as the simulator writes them with -o jsonl
//	go run . compare PATH...     does the simulator do the same?
//	go run . random              and with random scenarios?
package main

import (
	"os"
	"testing"
)

// main runs the command inside a test: bubbles of testing/synctest exist only there.
func main() {
	args := os.Args[1:]
	os.Args = os.Args[:1] // the flags are not those of a test
	everything := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(everything, []testing.InternalTest{{Name: "conformance", F: func(t *testing.T) {
		// The exit code is that of the command, and package testing has nothing to say.
		os.Exit(execute(t, args))
	}}}, nil, nil)
}
