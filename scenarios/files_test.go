package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios/plan"
)

const podYAML = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: w}]}
`

func scenarioYAML(name, pod string) string {
	return fmt.Sprintf("\napiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: %s}\nspec: {pods: "+
		"[%s]}\n", name, pod)
}

// write creates files in a new directory and changes into it.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func names(loaded []*plan.Scenario) string {
	var list []string
	for _, s := range loaded {
		list = append(list, s.File+" "+s.Metadata.Name)
	}
	return strings.Join(list, ", ")
}

func TestLoadDirectory(t *testing.T) {
	write(t, map[string]string{
		"all/b.yaml":             podYAML + "---" + scenarioYAML("own", "{name: web}"),
		"all/a/a.yml":            scenarioYAML("from-file", "{name: web, file: ../deploy/web.yaml}"),
		"all/a/up.yaml":          scenarioYAML("from-outside", "{name: web, file: ../../outside.yaml}"),
		"all/deploy/web.yaml":    podYAML,
		"all/deploy/service.yml": "{apiVersion: v1, kind: Service, metadata: {name: web}}",
		"all/.hidden/x.yaml":     "not: [valid",
		"all/.hidden.yaml":       "not: [valid",
		"all/README.md":          "not: [valid",
		"outside.yaml":           podYAML,
	})
	for _, test := range []struct {
		paths []string
		want  string
	}{
		{[]string{"all"}, "all/a/a.yml from-file, all/a/up.yaml from-outside, all/b.yaml own"},
		{[]string{"all/b.yaml", "./all/", "all/b.yaml"},
			"all/b.yaml own, all/a/a.yml from-file, all/a/up.yaml from-outside"},
		{[]string{"all/a/a.yml"}, "all/a/a.yml from-file"},
	} {
		loaded, err := Load(test.paths...)
		if err != nil {
			t.Error(err)
		} else if got := names(loaded); got != test.want {
			t.Errorf("%v: %s", test.paths, got)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	write(t, map[string]string{
		"none/web.yaml":   podYAML,
		"empty/README.md": "",
		"bad/one.yaml":    scenarioYAML("one", "{name: web}"),
		"bad/two.yaml":    "a: [",
		"bad/values.yaml": "replicaCount: 1",
		"service.yaml":    "{apiVersion: v1, kind: Service, metadata: {name: web}}",
		"good.yaml":       podYAML + "---" + scenarioYAML("good", "{name: web}"),
		"folder.yaml/x":   "",
		"nothing.yaml":    "",
		"blank/a.yaml":    "",
		"blank/b.yaml":    podYAML + "---" + scenarioYAML("bad", "{name: wbe}"),
		"takes.yaml": scenarioYAML("takes",
			"{name: web, file: large.yaml}, {name: web, file: folder.yaml}, {name: web, file: gone.yaml}"),
	})
	large, err := os.Create("large.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Truncate(50 << 20); err != nil {
		t.Fatal(err)
	}
	large.Close()
	for _, test := range []struct{ paths, want string }{
		{"gone", "gone: cannot be read: no such file or directory"},
		{"none", "none: there is no Scenario in this directory (in files named *.yaml or *.yml); 'probesim init -f " +
			"none/web.yaml' writes one"},
		{"empty", "empty: there is no Scenario in this directory (in files named *.yaml or *.yml)"},
		{"service.yaml", "service.yaml: there is no Scenario in this file, and no workload: it has only Service; a " +
			"workload is a " + manifests.Workloads},
		{"nothing.yaml", "nothing.yaml: cannot be read: it is empty, or it is a special file without a size, as in " +
			"/proc"},
		{"blank", `blank/b.yaml:10:22: spec.pods[0].name: there is no workload "wbe" in this file (did you mean "web"?)`},
		{"large.yaml", "large.yaml: cannot be read: it has more than 4 MiB"},
		{"bad", `bad/one.yaml:5:22: spec.pods[0].name: there is no workload "web" in this file
bad/two.yaml:1:4: not valid YAML: did not find expected node content
bad/values.yaml:1:1: apiVersion: is required: every document names its type, as in apiVersion: v1, kind: Pod
bad/values.yaml:1:1: kind: is required: every document names its type, as in apiVersion: v1, kind: Pod`},
		{"good.yaml bad/one.yaml", `bad/one.yaml:5:22: spec.pods[0].name: there is no workload "web" in this file`},
		{"takes.yaml", `takes.yaml:5:33: spec.pods[0].file: cannot be read: it has more than 4 MiB
takes.yaml:5:64: spec.pods[1].file: cannot be read: it is a directory: specify a file in it
takes.yaml:5:96: spec.pods[2].file: cannot be read: no such file or directory`},
	} {
		loaded, err := Load(strings.Fields(test.paths)...)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: the error is\n%v\nwant\n%s", test.paths, err, test.want)
		}
		if loaded != nil {
			t.Errorf("%s: there are scenarios beside the errors", test.paths)
		}
	}
}

// BenchmarkLoad loads a file with 100 scenarios of one pod each.
func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, `---
apiVersion: v1
kind: Pod
metadata: {name: p%[1]d}
spec:
  containers:
  - name: app
    image: shop:1
    startupProbe: {exec: {command: [up]}, periodSeconds: 5, failureThreshold: 30}
    livenessProbe: {exec: {command: [live]}, timeoutSeconds: 1}
    readinessProbe: {exec: {command: [ready]}, timeoutSeconds: 1, periodSeconds: 5, failureThreshold: 1}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s%[1]d, labels: {area: tuning}}
spec:
  seeds: 1..20
  pods:
  - name: p%[1]d
    containers:
    - name: app
      behavior:
      - {probes: ok in 5ms..80ms}
      - {for: 45s, probes: down}
      - {after: 90s, every: 90s, for: 6s, probes: stall}
  steps: [{at: 5m, delete: {}}]
  expect:
  - {first: 45s..53s, becomes: {ready: true}}
  - {never: .., container: app, status: {restartCount: 1..}}
  - {since: {becomes: {ready: false}}, first: 0s..7s, becomes: {ready: true}}
`, i)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := LoadBytes("s.yaml", []byte(text.String()), nil); err != nil {
			b.Fatal(err)
		}
	}
}
