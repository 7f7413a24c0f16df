package library

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// TestPublished checks that the published manifests are unchanged, and that a scenario file uses
// each of them and names its source and license in a comment.
func TestPublished(t *testing.T) {
	const directory = "manifests/published"
	published, err := fs.Sub(FS, directory)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := fs.ReadFile(published, "SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	err = fs.WalkDir(published, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == "SHA256SUMS" {
			return err
		}
		data, err := fs.ReadFile(published, name)
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name))
		if !isUsed(t, "published/"+name) {
			t.Errorf("%s/%s: no scenario file uses it and names its source and license", directory, name)
		}
		return err
	})
	if err != nil || len(lines) == 0 {
		t.Fatalf("no published manifests: %v", err)
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	if got := strings.Join(lines, ""); got != string(sums) {
		t.Errorf("%s/SHA256SUMS would be\n%s", directory, got)
	}
}

// isUsed reports whether a scenario file uses a published manifest and has a comment with its
// source and license.
func isUsed(t *testing.T, name string) bool {
	t.Helper()
	files, err := fs.Glob(FS, "manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		data, err := FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comment, rest, _ := bytes.Cut(data, []byte("\napiVersion:"))
		return bytes.Contains(rest, []byte("file: "+name)) && bytes.Contains(comment, []byte("\n# published/")) &&
			bytes.Contains(comment, []byte("https://")) && bytes.Contains(comment, []byte("License: "))
	})
}

// TestCharts checks that each manifest in manifests/charts says what it was written from and under
// which license that is, and that a scenario of manifests/charts.yaml uses each of its workloads
// that has a probe.
func TestCharts(t *testing.T) {
	const directory = "manifests/charts"
	files, err := fs.Glob(FS, directory+"/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%s has %d files: %v", directory, len(files), err)
	}
	all, err := FS.ReadFile(directory + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		comment, manifest, _ := strings.Cut(string(data), "\napiVersion:")
		comment = strings.ReplaceAll(comment, "\n# ", " ")
		if !strings.Contains(comment, " Written from ") || !strings.Contains(comment, "https://") ||
			!strings.Contains(comment, "License of the source: ") {
			t.Errorf("%s does not say what it was written from, or the license of the source", name)
		}
		for _, document := range strings.Split(manifest, "\n---\n") {
			_, workload, _ := strings.Cut(document, "metadata: {name: ")
			workload = workload[:strings.IndexAny(workload, ",}")]
			use := "    - name: " + workload + "\n      file: " + strings.TrimPrefix(name, "manifests/") + "\n"
			if strings.Contains(document, "Probe:") && !strings.Contains(string(all), use) {
				t.Errorf("no scenario of %s.yaml uses %s of %s", directory, workload, name)
			}
		}
	}
}
