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

// TestPublished checks that the published manifests are unchanged, and that a scenario file uses each of them and
// names its source and license in a comment.
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

// isUsed reports whether a scenario file uses a published manifest and has a comment with its source and license.
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
