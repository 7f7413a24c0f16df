package compare_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/input"
)

// BenchmarkTenWorkloads checks at least ten workloads of well-known charts before and after a
// change of their timeouts, and compares them.
func BenchmarkTenWorkloads(b *testing.B) {
	names, err := filepath.Glob("../../../scenarios/library/manifests/charts/*.yaml")
	if err != nil {
		b.Fatal(err)
	}
	typical, _ := fakeruntime.DelaySet("typical")
	var before, after []input.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		before = append(before, input.File{Name: name, Data: data})
		after = append(after, input.File{Name: name,
			Data: bytes.ReplaceAll(data, []byte("timeoutSeconds: 5"), []byte("timeoutSeconds: 4"))})
		if c, err := check.New(before, check.Options{}); err == nil && c.Workloads() >= 10 {
			break
		}
	}
	report := func(files []input.File) *check.Report {
		c, err := check.New(files, check.Options{Nodes: typical})
		if err != nil {
			b.Fatal(err)
		}
		return c.Report()
	}
	for b.Loop() {
		compare.Compare(report(before), report(after))
	}
}
