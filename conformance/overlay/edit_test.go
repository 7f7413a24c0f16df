package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles checks that the files of this Go installation can be edited once, and that the results
// are valid Go.
func TestFiles(t *testing.T) {
	root, err := goEnv("GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		source, err := os.ReadFile(filepath.Join(root, "src", f.path))
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
