package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// linked makes a file behind a symbolic link, and returns the link.
func linked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Chmod(file, 0o641)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Skip(err)
	}
	return link
}

// checkLinked checks that the directory has only the file with a content and a mode, and the link.
func checkLinked(t *testing.T, link, content string, mode os.FileMode) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(link))
	data, readErr := os.ReadFile(link)
	file, statErr := os.Stat(link)
	is, linkErr := os.Lstat(link)
	if err := errors.Join(err, readErr, statErr, linkErr); err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || string(data) != content || file.Mode() != mode || is.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%d files; the content is %q, the mode %v, that of the link %v", len(entries), data, file.Mode(),
			is.Mode())
	}
}

// TestReplace checks that a file that is overwritten keeps its mode and the link to it.
func TestReplace(t *testing.T) {
	link := linked(t)
	if err := Of(context.Background()).Write(context.Background(), link, []byte("new"), true); err != nil {
		t.Error(err)
	}
	checkLinked(t, link, "new", 0o641)
}

// TestReplaceNothing checks that a file stays as it is if it is read-only, or after an interrupt.
func TestReplaceNothing(t *testing.T) {
	link := linked(t)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Of(canceled).Write(canceled, link, []byte("new"), true); err != ErrInterrupted {
		t.Errorf("after an interrupt, the error is %v", err)
	}
	checkLinked(t, link, "old", 0o641)
	if err := os.Chmod(link, 0o440); err != nil {
		t.Fatal(err)
	}
	err := Of(context.Background()).Write(context.Background(), link, []byte("new"), true)
	if err == nil || !strings.Contains(err.Error(), "cannot be written: file is read-only") {
		t.Errorf("the error about a read-only file is %v", err)
	}
	checkLinked(t, link, "old", 0o440)
}
