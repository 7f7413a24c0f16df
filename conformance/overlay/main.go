// Command overlay edits copies of two files of the Go installation, and prints the GOFLAGS with
// which go builds a conformance program with them:
//
//	export GOFLAGS="$(go run probesim.dev/conformance/overlay)"
//
// In time/time.go it gives the times in a bubble of testing/synctest a monotonic reading, which
// they do not have (time_runtimeNow in runtime/time.go of Go 1.26). A node in a bubble has two
// clocks then, and its wall clock can step. In runtime/proc.go it raises the time after which Go
// interrupts a goroutine, which is 10 ms of wall time. Without this edit, the order of the
// kubelet's goroutines depends on the load of the machine. Everything else, including the packages
// of the kubelet, is unmodified.
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
	flags, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
	fmt.Println(flags)
}

// run writes the overlay to the user's directory for caches, and returns the GOFLAGS.
func run() (flags string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	given, err := goEnv("GOFLAGS")
	if err != nil {
		return "", err
	}
	overlay, err := write(filepath.Join(cache, "probesim-overlay"))
	if err != nil {
		return "", err
	}
	added := fmt.Sprintf("'-overlay=%s' -tags=overlay", overlay)
	if given = strings.TrimSpace(strings.ReplaceAll(given, added, "")); strings.Contains(given, "-overlay") ||
		strings.Contains(given, "-tags") {
		return "", fmt.Errorf("GOFLAGS has another -overlay or -tags: %s", given)
	}
	return strings.TrimSpace(given + " " + added), nil
}

// write writes the edited files and the overlay to a directory, and creates the directory if
// necessary. It returns the path of the overlay.
func write(dir string) (string, error) {
	root, err := goEnv("GOROOT")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, f := range files {
		original := filepath.Join(root, "src", filepath.FromSlash(f.path))
		source, err := os.ReadFile(original)
		if err != nil {
			return "", err
		}
		edited, err := f.apply(string(source))
		if err != nil {
			return "", fmt.Errorf("%s: %w", original, err)
		}
		replace[original] = filepath.Join(dir, filepath.Base(f.path))
		if err := os.WriteFile(replace[original], []byte(edited), 0o666); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o666)
}

func goEnv(name string) (string, error) {
	value, err := exec.Command("go", "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("go env %s: %w", name, err)
	}
	return strings.TrimSpace(string(value)), nil
}
