// Package edited runs go with edited copies of two files of the standard library.
//
// In time/time.go it gives the times in a bubble of testing/synctest a monotonic reading, which
// they do not have (time_runtimeNow in runtime/time.go of Go 1.26). A node in a bubble has two
// clocks then, and its wall clock can step. In runtime/proc.go it raises the time after which Go
// interrupts a goroutine, which is 10 ms of wall time. Without this edit, the order of the
// kubelet's goroutines depends on the load of the machine. Everything else, including the packages
// of the kubelet, is unmodified.
package edited

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Toolchain is a Go installation with an overlay of edited files.
type Toolchain struct {
	dir     string            // in which commands run
	root    string            // GOROOT
	given   string            // GOFLAGS of the user, without an overlay
	version string            // of Go
	replace map[string]string // files by those that they replace
	overlay string            // the file that lists them
}

// Find writes the overlay to the user's directory for caches, for the version of Go that a
// directory uses. If go has downloaded this version, it lies in the module cache, where go refuses
// an overlay. It is then copied once, unless it may not be.
func Find(dir string, mayCopy bool) (*Toolchain, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	c := exec.Command("go", "env", "-json", "GOROOT", "GOVERSION", "GOFLAGS", "GOMODCACHE")
	c.Dir = dir
	var env struct{ GOROOT, GOVERSION, GOFLAGS, GOMODCACHE string }
	text, err := c.Output()
	if err == nil {
		err = json.Unmarshal(text, &env)
	}
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	t := &Toolchain{dir: dir, root: env.GOROOT, version: env.GOVERSION, given: env.GOFLAGS}
	// Each version of Go has its own files, so builds with two versions do not disturb each other.
	own := filepath.Join(cache, "probesim-overlay", t.version)
	if strings.HasPrefix(t.root, env.GOMODCACHE+string(filepath.Separator)) {
		if t.root, err = copyOnce(t.root, filepath.Join(own, "go"), t.version, mayCopy); err != nil {
			return nil, err
		}
	}
	t.overlay = filepath.Join(own, "overlay.json")
	t.given = strings.TrimSpace(strings.ReplaceAll(t.given, flagsOf(t.overlay), ""))
	if strings.Contains(t.given, "-overlay") || strings.Contains(t.given, "-tags") {
		return nil, fmt.Errorf("GOFLAGS has another -overlay or -tags: %s", t.given)
	}
	return t, t.write(own)
}

// With returns the toolchain with more replaced files. It writes their list to a file.
func (t *Toolchain) With(replace map[string]string, file string) (*Toolchain, error) {
	with := *t
	with.replace, with.overlay = maps.Clone(t.replace), file
	maps.Copy(with.replace, replace)
	return &with, with.list()
}

// Flags returns the GOFLAGS of the user with those of the overlay.
func (t *Toolchain) Flags() string { return strings.TrimSpace(t.given + " " + flagsOf(t.overlay)) }

func flagsOf(overlay string) string { return fmt.Sprintf("'-overlay=%s' -tags=overlay", overlay) }

// Command returns a command that uses the toolchain.
func (t *Toolchain) Command(ctx context.Context, words ...string) *exec.Cmd {
	path := filepath.Join(t.root, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH")
	name := words[0]
	if name == "go" {
		name = filepath.Join(t.root, "bin", name)
	}
	c := exec.CommandContext(ctx, name, words[1:]...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Dir, c.Env = t.dir, append(os.Environ(), "PATH="+path, "GOROOT="+t.root, "GOFLAGS="+t.Flags())
	return c
}

// copyOnce copies a directory unless it has been copied before, and returns the copy.
func copyOnce(root, copied, version string, allowed bool) (string, error) {
	if !allowed {
		return "", fmt.Errorf("%s lies in the module cache, where go refuses an overlay. Pass the command to run with "+
			"a copy of it, such as: go run probesim.dev/conformance/overlay go build", version)
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

// write writes the edited files and their list to a directory, and creates it if necessary.
func (t *Toolchain) write(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	t.replace = map[string]string{}
	for _, f := range files {
		original := filepath.Join(t.root, "src", filepath.FromSlash(f.path))
		source, err := os.ReadFile(original)
		if err != nil {
			return err
		}
		edited, err := f.apply(string(source))
		if err != nil {
			return fmt.Errorf("%s: %w", original, err)
		}
		t.replace[original] = filepath.Join(dir, filepath.Base(f.path))
		if err := os.WriteFile(t.replace[original], []byte(edited), 0o666); err != nil {
			return err
		}
	}
	return t.list()
}

// list writes the list of replaced files, which go build reads.
func (t *Toolchain) list() error {
	overlay, _ := json.Marshal(map[string]any{"Replace": t.replace}) // texts
	return os.WriteFile(t.overlay, overlay, 0o666)
}
