package edited

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles checks that the files of this Go installation can be edited once, and that the results
// are valid Go.
func TestFiles(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "src", f.path))
		if err != nil {
			t.Fatal(err)
		}
		edited, err := f.apply(string(source))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), f.path, edited, 0); err != nil {
			t.Error(err)
		}
		for name, other := range map[string]string{"edited": edited, "empty": ""} {
			if _, err := f.apply(other); err == nil ||
				!strings.Contains(err.Error(), "does not fit this version of Go") {
				t.Errorf("%s, %s: %v", f.path, name, err)
			}
		}
	}
}

// TestCopyOnce checks that a toolchain is copied with its programs, once, and only if it may be.
func TestCopyOnce(t *testing.T) {
	root, copied := t.TempDir(), filepath.Join(t.TempDir(), "go")
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "go"), []byte("first"), 0o555); err != nil {
		t.Fatal(err)
	}
	if _, err := copyOnce(root, copied, "go1", false); err == nil || !strings.Contains(err.Error(), "overlay go build") {
		t.Errorf("without a command: %v", err)
	}
	for range 2 {
		got, err := copyOnce(root, copied, "go1", true)
		if err != nil || got != copied {
			t.Fatalf("the copy is %q: %v", got, err)
		}
		info, err := os.Stat(filepath.Join(copied, "bin", "go"))
		if err != nil || info.Mode()&0o111 == 0 {
			t.Fatalf("the copied program has the mode %v: %v", info.Mode(), err)
		}
		if err := os.WriteFile(filepath.Join(copied, "bin", "kept"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(copied, "bin", "kept")); err != nil {
		t.Errorf("the second copy replaces the first: %v", err)
	}
}
