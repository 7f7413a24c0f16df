package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write writes files below a new directory.
func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		file := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestPaths checks what paths are, and what is said about those that are nothing.
func TestPaths(t *testing.T) {
	const checkout = "module k8s.io/kubernetes\n"
	base := func(version string) string { return `	DefaultKubeBinaryVersion = "` + version + "\"\n" }
	const baseFile = staging + "/component-base/version/base.go"
	for title, test := range map[string]struct {
		path          string
		files, errors string
		note          string
	}{
		"nothing there":      {path: filepath.Join(t.TempDir(), "none"), errors: "is neither a checkout of Kubernetes"},
		"an empty directory": {path: t.TempDir(), errors: "nor has it changed packages, such as pkg/kubelet/prober"},
		"another module": {path: write(t, "go.mod", "module x\n", "x.go", "package x\n"),
			errors: "is neither a checkout of Kubernetes"},
		"only tests": {path: write(t, "pkg/kubelet/prober/worker_test.go", "package prober\n"),
			errors: "is neither a checkout of Kubernetes"},
		"a checkout without the kubelet": {path: write(t, "go.mod", checkout), errors: "has no pkg/kubelet"},
		"a checkout of a release with a directory": {
			path:   write(t, "go.mod", checkout, "pkg/kubelet/x.go", "", baseFile, base("1.36")),
			errors: "is Kubernetes 1.36, and HARNESS runs v1.37.2: use --harness ",
		},
		"a checkout of a release without one": {
			path: write(t, "go.mod", checkout, "pkg/kubelet/x.go", "", baseFile, base("1.99")),
			note: "The answer includes all that changed since v1.37.2.",
		},
		"packages": {
			path: write(t, "pkg/kubelet/prober/worker.go", "", "pkg/kubelet/prober/new.go", "",
				"pkg/kubelet/prober/testdata/x.go", "", "pkg/kubelet/prober/worker_test.go", "",
				staging+"/api/core/v1/types.go", ""),
			files: "LINKS/k8s.io/api/core/v1/types.go -> PATH/" + staging + "/api/core/v1/types.go\n" +
				"LINKS/k8s.io/kubernetes/pkg/kubelet/prober/new.go -> PATH/pkg/kubelet/prober/new.go\n" +
				"LINKS/k8s.io/kubernetes/pkg/kubelet/prober/prober.go -> \n" +
				"LINKS/k8s.io/kubernetes/pkg/kubelet/prober/worker.go -> PATH/pkg/kubelet/prober/worker.go\n",
			note: "lacks files of the release, so the package is built without them: prober.go",
		},
		"a module that the kubelet does not use": {path: write(t, staging+"/sample-controller/main.go", ""),
			errors: "does not use the module k8s.io/sample-controller"},
	} {
		t.Run(title, func(t *testing.T) {
			harness, err := filepath.Abs("../v1.37")
			if err != nil {
				t.Fatal(err)
			}
			w := &workspace{harness: harness, temp: t.TempDir(), modules: map[string]module{
				"k8s.io/kubernetes": {"v1.37.2", write(t, "pkg/kubelet/prober/worker.go", "",
					"pkg/kubelet/prober/prober.go", "", "pkg/kubelet/prober/old_test.go", "")},
				"k8s.io/api": {"v0.37.2", t.TempDir()},
			}}
			c, err := w.read([]string{test.path})
			if err != nil || test.errors != "" {
				text := strings.ReplaceAll(errorText(err), harness, "HARNESS")
				if test.errors == "" || !strings.Contains(text, test.errors) {
					t.Errorf("the error is %q, and should have %q", text, test.errors)
				}
				return
			}
			if notes := strings.Join(c.notes, "\n"); !strings.Contains(notes, test.note) || test.note == "" && notes != "" {
				t.Errorf("the notes are %q, and should have %q", notes, test.note)
			}
			var got []string
			for to, from := range c.files {
				got = append(got, strings.NewReplacer(w.temp, "LINKS", test.path, "PATH").Replace(to+" -> "+from+"\n"))
			}
			if diff := cmp.Diff(sorted(strings.SplitAfter(test.files, "\n")), sorted(got)); diff != "" {
				t.Errorf("replaced files (- want, + got):\n%s", diff)
			}
		})
	}
}
