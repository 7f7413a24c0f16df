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
// In time/time.go it gives the times in a bubble of testing/synctest a monotonic reading, which
// they do not have (time_runtimeNow in runtime/time.go of Go 1.26). A node in a bubble has two
// clocks then, and its wall clock can step. In runtime/proc.go it raises the time after which Go
// interrupts a goroutine, which is 10 ms of wall time. Without this edit, the order of the
// kubelet's goroutines depends on the load of the machine. Everything else, including the packages
// of the kubelet, is unmodified.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
}

// run writes the overlay to the user's directory for caches. Without a command it prints the
// GOFLAGS, and with one it runs the command.
func run(command []string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	// Each version of Go has its own files, so builds with two versions do not disturb each other.
	dir := filepath.Join(cache, "probesim-overlay", runtime.Version())
	root, err := toolchain(filepath.Join(dir, "go"), len(command) > 0)
	if err != nil {
		return err
	}
	overlay, err := write(dir, root)
	if err != nil {
		return err
	}
	flags, err := withOverlay(overlay)
	if err != nil {
		return err
	}
	if len(command) == 0 {
		fmt.Println(flags)
		return nil
	}
	os.Setenv("PATH", filepath.Join(root, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	os.Setenv("GOROOT", root)
	os.Setenv("GOFLAGS", flags)
	c := exec.Command(command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	return c.Run()
}

// toolchain returns the directory of a Go installation in which go accepts an overlay: the one that
// runs this command, or its copy, if it lies in the module cache and a copy is allowed.
func toolchain(copied string, allowed bool) (root string, err error) {
	root, err = goEnv("GOROOT")
	if err != nil {
		return "", err
	}
	modules, err := goEnv("GOMODCACHE")
	if err != nil || !strings.HasPrefix(root, modules+string(filepath.Separator)) {
		return root, err
	}
	return copyOnce(root, copied, allowed)
}

// copyOnce copies a directory unless it has been copied before, and returns the copy.
func copyOnce(root, copied string, allowed bool) (string, error) {
	if !allowed {
		return "", fmt.Errorf("%s lies in the module cache, where go refuses an overlay. Pass the command to run with "+
			"a copy of it, such as: go run probesim.dev/conformance/overlay go build", runtime.Version())
	}
	if _, err := os.Stat(copied); !errors.Is(err, fs.ErrNotExist) {
		return copied, err
	}
	// A copy that was interrupted has another name.
	parts := fmt.Sprintf("%s.%d", copied, os.Getpid())
	if err := os.CopyFS(parts, os.DirFS(root)); err != nil {
		return "", err
	}
	return copied, os.Rename(parts, copied)
}

// withOverlay returns the GOFLAGS of the user with those of the overlay.
func withOverlay(overlay string) (flags string, err error) {
	given, err := goEnv("GOFLAGS")
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

// write writes the edited files of a Go installation and the overlay to a directory, and creates
// the directory if necessary. It returns the path of the overlay.
func write(dir, root string) (string, error) {
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
