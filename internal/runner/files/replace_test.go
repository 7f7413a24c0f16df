package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// threeFiles makes three files, one of them behind a symbolic link, and replacements for them.
func threeFiles(t *testing.T) (dir string, list []*Replacement) {
	t.Helper()
	dir = t.TempDir()
	for i, name := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("old "+name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, os.FileMode(0o640+i)); err != nil {
			t.Fatal(err)
		}
		list = append(list, &Replacement{Path: path, Old: []byte("old " + name), New: []byte("new " + name)})
	}
	if err := os.Symlink("b", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	list[1].Path = filepath.Join(dir, "link")
	return dir, list
}

// checkFiles checks that the directory has only the three files with this content, and the link.
func checkFiles(t *testing.T, dir, content string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	for _, e := range entries {
		data, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		info, _ := os.Lstat(filepath.Join(dir, e.Name()))
		found += fmt.Sprintf("%s %v: %s\n", e.Name(), info.Mode(), data)
	}
	want := strings.ReplaceAll("a -rw-r-----: X a\nb -rw-r----x: X b\nc -rw-r---w-: X c\nlink Lrwxrwxrwx: X b\n", "X",
		content)
	if found != want {
		t.Errorf("the directory has\n%swant\n%s", found, want)
	}
}

// TestReplace checks that files get their new content together, whichever of the steps fails.
func TestReplace(t *testing.T) {
	broken := errors.New("broken")
	for fails := range 4 { // the rename that fails; the last one does not exist
		dir, list := threeFiles(t)
		calls := 0
		r := replacer{func(from, to string) error {
			if calls++; calls == fails+1 {
				return broken
			}
			return os.Rename(from, to)
		}}
		err := r.replace(context.Background(), list)
		if fails < 3 {
			if !errors.Is(err, broken) || !strings.Contains(err.Error(), list[fails].Path+": cannot be written") {
				t.Error(err)
			}
			checkFiles(t, dir, "old")
			continue
		}
		if err != nil {
			t.Error(err)
		}
		checkFiles(t, dir, "new")
	}
}

// TestReplaceChecksFirst checks that a file that cannot be replaced leaves all files unchanged, and
// that all errors are listed.
func TestReplaceChecksFirst(t *testing.T) {
	for name, spoil := range map[string]func(dir string, list []*Replacement){
		"file is read-only":   func(dir string, _ []*Replacement) { os.Chmod(filepath.Join(dir, "c"), 0o440) },
		"not a regular file":  func(_ string, list []*Replacement) { list[2].Path = os.DevNull },
		"no such file":        func(dir string, list []*Replacement) { list[2].Path = filepath.Join(dir, "none") },
		"another program has": func(_ string, list []*Replacement) { list[2].Old = []byte("older") },
		"file is read-only\n": func(dir string, _ []*Replacement) { // and another error
			os.Chmod(filepath.Join(dir, "a"), 0o440)
			os.Chmod(filepath.Join(dir, "c"), 0o440)
		},
	} {
		dir, list := threeFiles(t)
		spoil(dir, list)
		err := Replace(context.Background(), list...)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		os.Chmod(filepath.Join(dir, "a"), 0o640)
		os.Chmod(filepath.Join(dir, "c"), 0o642)
		checkFiles(t, dir, "old")
	}
}

// TestReplaceInterrupted checks that an interrupted replacement changes all files or none.
func TestReplaceInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	dir, list := threeFiles(t)
	r := replacer{func(from, to string) error {
		cancel()
		return os.Rename(from, to)
	}}
	if err := r.replace(ctx, list); err != nil {
		t.Error(err)
	}
	checkFiles(t, dir, "new")

	dir, list = threeFiles(t)
	if err := Replace(ctx, list...); err != ErrInterrupted {
		t.Errorf("got %v", err)
	}
	checkFiles(t, dir, "old")
}

// TestReplaceOnce checks that two paths of one file are one replacement.
func TestReplaceOnce(t *testing.T) {
	dir, list := threeFiles(t)
	list = append(list, &Replacement{Path: filepath.Join(dir, "b"), Old: []byte("old b"), New: []byte("new b")})
	if err := Replace(context.Background(), list...); err != nil {
		t.Error(err)
	}
	checkFiles(t, dir, "new")
}
