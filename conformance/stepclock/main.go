// Command stepclock writes the overlay that go build needs to build a conformance program with an adjustable
// wall clock:
//
//	go run probesim.dev/conformance/stepclock DIR
//	go build -overlay DIR/overlay.json -tags stepclock -o kubelet .
//
// In a bubble of testing/synctest, the times of time.Now have no monotonic reading (time_runtimeNow in
// runtime/time.go of Go 1.26), so the two clocks of a node are one clock there. The command copies time/time.go
// of the Go installation to DIR, edits the copy so that times in a bubble have both readings, and writes an
// overlay that makes go build use the copy. Everything else, including the packages of the kubelet, is
// unmodified.
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

// write writes the copy and the overlay to a directory, and creates the directory if necessary.
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

// timeGo returns the path of time/time.go in the Go installation.
func timeGo() (string, error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(goroot)), "src", "time", "time.go"), nil
}
