package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	got := parse(`mode: set
k8s.io/kubernetes/pkg/kubelet/prober/worker.go:10.2,12.3 2 0
k8s.io/kubernetes/pkg/kubelet/prober/worker.go:4.20,6.3 1 0
k8s.io/kubernetes/pkg/kubelet/prober/worker.go:10.2,12.3 2 5
`)
	want := []block{
		{file: "kubelet/prober/worker.go", line: 4, column: 20, count: 1},
		{file: "kubelet/prober/worker.go", line: 10, column: 2, count: 2, ran: true},
	}
	var blocks []block
	for _, b := range got {
		blocks = append(blocks, *b)
	}
	if diff := cmp.Diff(want, blocks, cmp.AllowUnexported(block{})); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

func TestFirstLine(t *testing.T) {
	s := source{lines: []string{"\tif err != nil {", "\t\t// It is gone.", "\t\treturn false", "\t}"},
		functions: []span{{"doProbe", 1, 4}}}
	if got := s.function(1) + " | " + s.firstLine(&block{line: 1, column: 16}); got != "doProbe | return false" {
		t.Errorf("got %q", got)
	}
}

func TestUnreachedHasReasons(t *testing.T) {
	reason := ""
	for line := range strings.Lines(unreachedText) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "# "):
			reason = line
		case line == "":
			reason = ""
		case reason == "" || strings.Count(line, " | ") < 2:
			t.Errorf("%q: a reason is missing above, or it is not FILE | FUNCTION | LINE", line)
		}
	}
}
