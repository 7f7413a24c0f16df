package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"probesim.dev/internal/proof/random"
	"probesim.dev/internal/scenarios/draft"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios/library"
)

// compile compiles the schema with an independent validator.
func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := JSON()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("probesim.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("probesim.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate checks each document of a file separately, as editors do.
func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var doc any
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value); err != nil {
			return err
		}
	}
}

func TestLibraryIsValid(t *testing.T) {
	s, count := compile(t), 0
	examples, err := filepath.Glob("../../../scenarios/testdata/format/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Errorf("there are no examples of the format: %v", err)
	}
	for _, name := range examples {
		if data, err := os.ReadFile(name); err != nil {
			t.Error(err)
		} else if err := validate(t, s, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	err = fs.WalkDir(library.FS, ".", func(name string, entry fs.DirEntry, err error) error {
		if name == "manifests/published" || name == "manifests/charts" {
			return fs.SkipDir
		}
		if err != nil || path.Ext(name) != ".yaml" {
			return err
		}
		data, err := library.FS.ReadFile(name)
		if err != nil {
			return err
		}
		count++
		if err := validate(t, s, data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	})
	if err != nil || count < 100 {
		t.Errorf("%d files were found: %v", count, err)
	}
}

// TestPublishedIsValid checks drafts for the published manifests of the library, with copies of
// their workloads.
func TestPublishedIsValid(t *testing.T) {
	s, count := compile(t), 0
	err := fs.WalkDir(library.FS, "manifests/published", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".yaml" {
			return err
		}
		data, err := library.FS.ReadFile(name)
		if err != nil {
			return err
		}
		text, _, err := draft.Write(draft.Options{Manifest: name, Data: data})
		if err != nil {
			return nil // the file has no workloads
		}
		count++
		if err := validate(t, s, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return nil
	})
	if err != nil || count < 15 {
		t.Errorf("%d manifests were found: %v", count, err)
	}
}

func TestRandomIsValid(t *testing.T) {
	s := compile(t)
	for seed := range uint64(300) {
		if err := validate(t, s, random.Scenario(seed)); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

const valid = `apiVersion: v1
kind: Pod
metadata: {name: web, creationTimestamp: null}
spec: {containers: [{name: app, image: x, resources: {limits: {cpu: 1, memory: 1.5Gi}}, livenessProbe: {httpGet: {path: /a, port: http}, periodSeconds: 5}}]}
---
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: a, labels: {b: c}}
spec:
  duration: 1m30s
  seeds: 1..20
  kubernetesVersions: [v1.36.., v1.34]
  kubelet: {uptime: 1h, config: {syncFrequency: 1m}}
  pods:
  - name: web
    patch: {spec: {containers: [{name: app, $patch: replace}]}}
    containers:
    - name: app
      answers: [{name: away, code: 302, location: /b, then: fail in 1s}]
      behavior:
      - {instance: 1.., after: 10s..20s, for: 5s, every: 1m, chance: 5%, liveness: [ok x3, 503, away in 2s, repeat]}
      - {replica: 0, at: 0.5s, readiness: 503}
      - {afterSigterm: 0s, exit: never}
  steps:
  - {at: 30s, delete: {gracePeriodSeconds: 5}}
  - {since: {record: {kind: ContainerStarted}}, after: 3s, patch: {status: {conditions: [{type: a, status: "True"}]}}}
  expect:
  - {first: 1s..2s, becomes: {ready: true}, count: 1..}
  - {at: 5s, container: app, status: {restartCount: 1.., reason: /Err.*/, state: running}}
  - {never: .., record: {kind: Event, type: Warning, reason: Unhealthy}}
  - {container: app, transitions: {restartCount: [0, 1, any]}, runs: some}
`

// TestMistakes makes single changes to a valid file that must make it invalid.
func TestMistakes(t *testing.T) {
	s := compile(t)
	if err := validate(t, s, []byte(valid)); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"kind: Pod", "kind: Pot"}, {"apiVersion: v1", "apiVersion: v2"}, {"v1alpha1", "v1"},
		{"kind: Scenario", "kind: Service"},
		{"livenessProbe", "livenesProbe"}, {"periodSeconds: 5", "periodSecond: 5"},
		{"periodSeconds: 5", "periodSeconds: 5s"},
		{"memory: 1.5Gi", "memory: 1.5GB"}, {"port: http", "port: [1]"},
		{"containers: [{name: app, image", "container: [{name: app, image"},
		{"duration: 1m30s", "duration: 90"}, {"duration: 1m30s", "duration: 1 minute"}, {"duration", "durations"},
		{"seeds: 1..20", "seeds: 1-20"}, {"v1.36..,", "1.36..,"}, {"uptime: 1h", "uptime: ..1h"},
		{"syncFrequency", "syncfrequency"},
		{"- name: web", "- nam: web"}, {"behavior:", "behaviour:"}, {"answers:", "answer:"},
		{"code: 302", "code: 1302"}, {"then: fail in 1s", "then: fail after 1s"},
		{"instance: 1..", "instance: -1"}, {"chance: 5%", "chance: 0.05"}, {"ok x3", "ok * 3"},
		{"readiness: 503", "ready: 503"},
		{"exit: never", "exit: 300"}, {"exit: never", "exit: ever"}, {"delete:", "remove:"},
		{"gracePeriodSeconds: 5", "gracePeriodSeconds: 5s"},
		{"{kind: ContainerStarted}", "{kind: ContainerStart}"}, {"{kind: ContainerStarted}", "{container: app}"},
		{`"True"`, "true"},
		{"{ready: true}", "{ready: yes}"}, {"{ready: true}", "{readyness: true}"}, {"state: running", "state: runing"},
		{"restartCount: 1..", "restartCount: one"},
		{"reason: Unhealthy}", "exitCode: 1}"}, {"type: Warning", "type: Warn"}, {"runs: some", "runs: any"},
		{"[0, 1, any]", "[0, 1, all]"},
		{"first: 1s..2s", "first: 1s-2s"}, {"metadata: {name: a,", "metadata: {"}, {"  pods:\n", "  pod:\n"},
	} {
		text := strings.Replace(valid, change[0], change[1], 1)
		if text == valid {
			t.Errorf("the valid file does not contain %s", change[0])
		} else if validate(t, s, []byte(text)) == nil {
			t.Errorf("%s instead of %s is valid", change[1], change[0])
		}
	}
}

// TestOtherObjects checks the objects beside scenarios and workloads: those that probesim ignores,
// and custom resources with a pod template.
func TestOtherObjects(t *testing.T) {
	s := compile(t)
	rollout := `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: a}, spec: {strategy: {canary: ` +
		`{}}, template: {spec: {containers: [{name: a, FIELD}]}}}}`
	for text, want := range map[string]bool{
		`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {anything: [1]}}`: true,
		`{apiVersion: v1, kind: ConfigMap, data: {a: b}}`:                             true,
		`{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret}]}`:       true,
		`{apiVersion: v1, kind: ServiceList, items: []}`:                              true,
		`{apiVersion: apps/v1, kind: ControllerRevision}`:                             true,
		`{apiVersion: networking.k8s.io/v1, kind: Ingress}`:                           true,
		`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler}`:                 true,
		`{apiVersion: cert-manager.io/v1, kind: Certificate, spec: {secretName: a}}`:  true,
		`{apiVersion: cluster.x-k8s.io/v1, kind: Deployment, spec: {x: 1}}`:           true,
		strings.Replace(rollout, "FIELD", "image: x",
			1): true,
		strings.Replace(rollout, "FIELD", "livenesProbe: {}",
			1): false,
		`{apiVersion: serving.knative.dev/v1, kind: Service, spec: {template: {spec: {timeoutSeconds: 5, containers: [{}]}}}}`: true,
		`{apiVersion: v1, kind: Servcie}`:                                    false,
		`{apiVersion: v1, kind: Deployment}`:                                 false,
		`{apiVersion: v1, kind: PodExecOptions}`:                             false,
		`{apiVersion: apps/v1, kind: Deploymnet}`:                            false,
		`{apiVersion: batch/v1, kind: Pod}`:                                  false,
		`{apiVersion: probesim.dev/v1alpha1, kind: Scenaro}`:                 false,
		`{apiVersion: example.com/v1, kind: Scenario}`:                       false,
		`{apiVersion: extensions/v1beta1, kind: Deployment}`:                 false,
		`{apiVersion: 1, kind: ConfigMap}`:                                   false,
		`{apiVersion: v1, metadata: {name: a}}`:                              false,
		`{apiVersion: v1, kind: List, items: [{kind: Pot, apiVersion: v1}]}`: false,
	} {
		if err := validate(t, s, []byte(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestEveryFieldIsDescribed checks that fields.txt describes exactly the fields that exist, each in
// sentences.
func TestEveryFieldIsDescribed(t *testing.T) {
	_, used := build()
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if texts[name] == "" {
			t.Errorf("fields.txt lacks a description of %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !used[name] {
			t.Errorf("fields.txt describes %s, which is not a field", name)
		}
		if !regexp.MustCompile(`[.}\]]$`).MatchString(texts[name]) {
			t.Errorf("%s: %q is not a sentence", name, texts[name])
		}
	}
}

// TestDefaultDelaysMatchFormatReference compares the defaults in fields.txt with docs/format.md.
func TestDefaultDelaysMatchFormatReference(t *testing.T) {
	reference, err := os.ReadFile("../../../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for name, text := range texts {
		field, ok := strings.CutPrefix(name, "Delays.")
		if !ok || field == "set" {
			continue
		}
		count++
		_, value, _ := strings.Cut(strings.TrimSuffix(text, "."), "Default: ")
		if !strings.Contains(string(reference), "`"+field+"` | "+value+" |") {
			t.Errorf("%s: docs/format.md does not have the default %q", name, value)
		}
	}
	if count < 20 {
		t.Errorf("fields.txt has only %d delays", count)
	}
}

// TestKinds checks that the schema has exactly the kinds that can be loaded.
func TestKinds(t *testing.T) {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.Name)
		if k.Name != "Scenario" && !manifests.IsWorkload(k.APIVersion, k.Name) {
			t.Errorf("%s of %s is not a workload", k.Name, k.APIVersion)
		}
	}
	if want := append([]string{"Scenario"}, manifests.WorkloadKinds()...); !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestSchemaIsDeterministic(t *testing.T) {
	first, _ := JSON()
	second, _ := JSON()
	if !bytes.Equal(first, second) || !json.Valid(first) {
		t.Error("two calls return different schemas, or the schema is not JSON")
	}
}
