package shrink

import (
	"bytes"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/internal/long"
	"probesim.dev/internal/proof/random"
	"probesim.dev/scenarios"
)

// FuzzFile shrinks every input that loads. The result must load and differ, where a hash decides
// which files differ.
func FuzzFile(f *testing.F) {
	files, err := filepath.Glob("../../../scenarios/testdata/format/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for seed := uint64(1); seed <= uint64(long.Sample(3, 20)); seed++ {
		f.Add(random.Options{Seeds: 2}.Scenario(seed))
	}
	f.Add([]byte(odd))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := Options{Trials: 40, ReadFile: func(path string) ([]byte, error) {
			if path == "self.yaml" {
				return data, nil
			}
			return nil, fs.ErrNotExist
		}}
		if _, err := scenarios.LoadBytes(fileName, data, o.ReadFile); err != nil {
			if _, err := File(data, nil, o); err == nil {
				t.Fatal("File shrank a file that does not load")
			}
			return
		}
		first := true
		differs := func(file []byte) (string, bool) {
			if _, err := scenarios.LoadBytes(fileName, file, o.ReadFile); err != nil {
				t.Fatalf("File tried a file that does not load: %v\n%s", err, file)
			}
			was := first
			first = false
			return "", was || sha256.Sum256(file)[0]%4 != 0
		}
		r, err := File(data, differs, o)
		if err != nil {
			return // the formatted file happens not to differ
		}
		if _, ok := differs(r.File); !ok || r.Trials > 40 {
			t.Fatalf("after %d trials the result does not differ:\n%s", r.Trials, r.File)
		}
	})
}

// odd is a file with rarely used features of YAML.
const odd = `
apiVersion: v1
kind: Pod
metadata:
  name: &n web
  annotations: {a.b/c: "1", "n": 'null', ? k : v, <<: {m: "1"}}
  labels:
    ? x
    : |-
      text
spec:
  containers:
  - &c {name: app, image: a, livenessProbe: &p {exec: {command: ["#", "- x", "5", "~", "\u00e9\n", ""]}}}
  - <<: [*c, {stdin: true}]
    name: "2"
    readinessProbe: *p
    env:
    - name: LONG
      value: >-
        folded
        text: "here"
    - name: OTHER
      value: |+
        kept

--- # nothing
---
apiVersion: probesim.dev/v1alpha1
kind: ScenarioList
items:
- metadata: {name: odd, labels: {"1": &name web}}
  spec:
    duration: 61s
    seeds: 1..3
    pods:
    - name: *name
      at: 0s..1.5s
      patch: {metadata: {annotations: {"a.b/c": "3"}}, spec: {containers: [{name: app, image: b}]}}
      containers:
      - name: app
        behavior:
        - {instance: ..3, after: 10ms..3s, every: 10s, for: 1s..2s, chance: 5%, probes: [1, ok in 1s..2s x3, repeat]}
        - {exit: 1}
    steps: [{since: {becomes: {ready: true}}, delete: {}}]
    expect: [{order: [{record: {kind: PodAdded}}, {container: app, becomes: {started: true}}]}]
`

// TestOdd checks that parsing and writing a file with rarely used YAML keeps its meaning, and that
// the formatting is stable.
func TestOdd(t *testing.T) {
	load(t, []byte(odd))
	docs := parse([]byte(odd))
	text := docs.write(nil).text
	want, got := load(t, []byte(odd)).Plans()[0].Pods(), load(t, text).Plans()[0].Pods()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pods differ (- before, + after writing):\n%s", diff)
	}
	if again := parse(text).write(nil).text; !bytes.Equal(again, text) {
		t.Errorf("the formatting is not stable:\n%s\n%s", text, again)
	}
}
