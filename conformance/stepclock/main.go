// Command stepclock writes what go build needs to make a conformance program whose wall clock can be stepped:
//
//	go run probesim.dev/conformance/stepclock DIR
//	go build -overlay DIR/overlay.json -tags stepclock -o kubelet .
//
// In a bubble of testing/synctest the times of time.Now have no monotonic reading (runtime/time.go time_runtimeNow of
// Go 1.26), so that the two clocks of a node are one there. DIR gets a copy of time/time.go of the Go installation in
// which they have both, as anywhere else, and an overlay with which go build takes the copy. Nothing else is changed:
// what is compiled with it are the unmodified packages of the kubelet.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: stepclock DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "stepclock:", err)
		os.Exit(1)
	}
}

// write writes the copy and the overlay into a folder, which it makes if need be.
func write(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	original, err := timeGo()
	if err != nil {
		return err
	}
	source, err := os.ReadFile(original)
	if err != nil {
		return err
	}
	edited, err := edit(string(source))
	if err != nil {
		return fmt.Errorf("%s: %w", original, err)
	}
	replacement := filepath.Join(dir, "time.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: replacement}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(replacement, []byte(edited), 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o666)
}

// timeGo returns the file that is edited.
func timeGo() (string, error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(goroot)), "src", "time", "time.go"), nil
}
