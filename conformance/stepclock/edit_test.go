package main

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestEdit checks that the time.go of this Go installation can be edited once, and that the result is valid Go.
func TestEdit(t *testing.T) {
	file, err := timeGo()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited, err := edit(string(source))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "time.go", edited, 0); err != nil {
		t.Error(err)
	}
	for name, other := range map[string]string{"edited": edited, "empty": ""} {
		if _, err := edit(other); err == nil || !strings.Contains(err.Error(), "times, not once, in this version of Go") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
