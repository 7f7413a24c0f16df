package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRewrite(t *testing.T) {
	const source = `package status

func NewManager(a int) bool { return a < 1 }

func (m *manager) sync(a, b int) bool {
	if a < b && m.known(a) {
		m.count++
		m.forget(a)
		logger.Info("forgotten")
	}
	switch {
	case a == b:
		m.last = a
	}
	return true
}
`
	text, mutants, err := rewrite(source, "status", "status/status_manager.go", 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", text, 0); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got, want := strings.Count(text, "\n"), strings.Count(source, "\n"); got != want {
		t.Errorf("the rewritten file has %d lines, want %d", got, want)
	}
	var got []string
	for _, m := range mutants {
		got = append(got, m.String())
	}
	want := []string{
		"status/status_manager.go:6 sync: negate left: a < b",
		"status/status_manager.go:6 sync: negate right: m.known(a)",
		"status/status_manager.go:7 sync: delete count: m.count++",
		"status/status_manager.go:8 sync: delete call: m.forget(a)",
		"status/status_manager.go:13 sync: delete assignment: m.last = a",
		"status/status_manager.go:12 sync: negate: a == b",
		"status/status_manager.go:15 sync: flip return: true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mutants (-want +got):\n%s", diff)
	}
	if got, want := mutants[3].key(), "status/status_manager.go | sync+3 | delete call | m.forget(a)"; got != want {
		t.Errorf("the key is %q, want %q", got, want)
	}
	for _, part := range []string{
		`package status; import "k8s.io/kubernetes/pkg/kubelet/mutant"`,
		"if (mutant.On(11) != (a < b)) && (mutant.On(12) != (m.known(a))) {",
		"if !mutant.On(13) { m.count++ }",
		"return (mutant.On(17) != (true))",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the rewritten file lacks %s:\n%s", part, text)
		}
	}
}

func TestBoundary(t *testing.T) {
	text, _, err := rewrite("package p\n\nfunc f(a, b int) {\n\tif a >= b {\n\t\tg()\n\t}\n}\n", "", "", 0)
	const want = "if (mutant.On(1) != ((a >= b != (mutant.On(2) && (a) == (b))))) {"
	if err != nil || !strings.Contains(text, want) {
		t.Errorf("got %v and\n%s\nwant %s", err, text, want)
	}
}

func TestUnshownHasReasons(t *testing.T) {
	for key, reason := range unshown(unshownText) {
		if reason == "" || strings.Count(key, " | ") != 3 {
			t.Errorf("%q: a reason is missing above, or it is not FILE | FUNCTION | KIND | TEXT", key)
		}
	}
}
