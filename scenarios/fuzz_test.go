package scenarios

import (
	"fmt"
	"io/fs"
	"reflect"
	"testing"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios/plan"
)

// FuzzManifest checks and defaults arbitrary pods, twice: the input is the rest of a manifest.
func FuzzManifest(f *testing.F) {
	for _, seed := range []string{
		"spec: {containers: [{name: app, image: w}]}",
		"spec: {containers: [{name: app, image: w, livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 5}}]}",
		"spec: {containers: [{name: app, image: w, ports: [{name: http, containerPort: 80}], readinessProbe: " +
			"{tcpSocket: {port: http}}}]}",
		"spec: {initContainers: [{name: i, image: w, restartPolicy: Always}], containers: [{name: app, image: w}]}",
		"spec: {restartPolicy: Never, containers: [{name: app, image: w, lifecycle: {preStop: {sleep: {seconds: " +
			"5}}}}]}",
		"spec: {hostNetwork: on, containers: [{name: app, image: a/b:c, resources: {limits: {cpu: 1e3}}}]}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		if len(rest) > maxFuzzed {
			return
		}
		data := []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n" + rest)
		first, err := manifests.Read("f.yaml", data)
		if !twice(data) {
			return
		}
		second, again := manifests.Read("f.yaml", data)
		if fmt.Sprint(err) != fmt.Sprint(again) || !reflect.DeepEqual(first, second) {
			t.Fatalf("the results differ: %v, %v", err, again)
		}
	})
}

// twice reports whether to load an input a second time, to compare the results: every fourth, to
// save time.
func twice(data []byte) bool { return len(data)%4 == 0 }

// maxFuzzed is the size up to which inputs are tried. Larger ones are slow and have no other
// structure.
const maxFuzzed = 1 << 10

// FuzzCheck checks the spec of an arbitrary scenario of a small pod, without running it.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"duration: 5m", "seeds: 1..5", "kubernetesVersions: [v1.36.., v1.34]", "steps: [{at: 5s, delete: {}}]",
		"steps: [{at: 5s, kill: {container: app}}]",
		"expect: [{first: 1s..5s, becomes: {ready: true}}]", "expect: [{never: .., record: {kind: ContainerStopping}}]",
		"expect: [{since: {becomes: {ready: false}}, first: 0s..7s, becomes: {ready: true}}]",
		"kubelet: {config: {featureGates: {A: on}}}", "delays: {exec: 5ms..10ms}",
		"steps: [{at: 5s, patch: {metadata: {labels: {a: b}}}}]",
		"expect: [{container: 'a{0..3}', pod: 'w{1..1}', never: .., becomes: {ready: true}}]",
		"variants: [{name: a}, {name: b, duration: 1m, pods: [{name: web, patch: {spec: {restartPolicy: Never}}}]}]",
		"expect: [{transitions: {ready: [false, true]}}]",
	} {
		f.Add(seed, "behavior: [{for: 20s, probes: fail}]")
	}
	for _, seed := range []string{"behavior: [{liveness: [ok x3, fail]}]",
		"behavior: [{since: {pod: web, becomes: {ready: true}}, after: 5s, exit: 1}]",
		"behavior: [{after: 5s, exit: 1}]", "answers: [{name: slow, code: 503}], behavior: [{probes: slow in 2s}]",
		"behavior: [{afterSigterm: 5s, exit: 0}]"} {
		f.Add("duration: 5m", seed)
	}
	f.Fuzz(func(t *testing.T, spec, container string) {
		if len(spec)+len(container) > maxFuzzed {
			return
		}
		text := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: app, image: w, " +
			"livenessProbe: {exec: {command: [a]}}}]}\n" +
			"---\napiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec: {pods: [{name: web, " +
			"containers: [{name: app, " + container + "}]}], " + spec + "}\n"
		load := func() ([]*plan.Scenario, error) {
			return LoadBytes("f.yaml", []byte(text), func(string) ([]byte, error) { return nil, fs.ErrNotExist })
		}
		loaded, err := load()
		if twice([]byte(text)) {
			if _, again := load(); fmt.Sprint(err) != fmt.Sprint(again) {
				t.Fatalf("the errors are\n%v\nand then\n%v", err, again)
			}
		}
		if (err == nil) != (len(loaded) > 0) {
			t.Fatalf("%d scenarios and the error %v", len(loaded), err)
		}
	})
}
