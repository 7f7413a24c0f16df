//go:build unix

package files

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReplaceKeepsOwner checks that a replaced file keeps its owner and group.
func TestReplaceKeepsOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 1234, 2345); err != nil {
		t.Skip("only root may set the owner of a file")
	}
	if err := replace(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != 1234 || s.Gid != 2345 || info.Mode() != 0o640 {
		t.Errorf("owner %d, group %d, mode %v", s.Uid, s.Gid, info.Mode())
	}
}
