package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"probesim.dev/scenarios/library"
)

// TestManifests checks that the loader and the API server accept the same published manifests of
// the library, and report the same errors for random mutations of them.
func TestManifests(t *testing.T) {
	const mutations = 250 // mutations of each workload
	valid, different, all := 0, 0, 0
	check := func(manifest []byte, seed int) {
		theirs, ours := both(t, manifest, seed)
		if diff := compare(t, theirs, ours); diff != "" && different < 10 {
			different++
			t.Errorf("seed %d (- API server, + loader):\n%s%s", seed, diff, manifest)
		}
		if all++; theirs.accepts() {
			valid++
		}
	}
	workloads := published(t)
	for _, workload := range workloads {
		manifest, _ := json.Marshal(workload)
		if theirs, _ := both(t, manifest, 0); !theirs.accepts() {
			t.Errorf("the API server does not accept %s: %v %v", manifest, theirs.decodeErr, theirs.errs)
		}
		check(manifest, 0)
		for seed := range mutations {
			m := mutator{rand.New(rand.NewPCG(uint64(seed), 1))}
			var copied any
			_ = json.Unmarshal(manifest, &copied)
			for range 1 + m.IntN(2) {
				copied = m.mutate(copied)
			}
			if mutated, err := json.Marshal(copied); err == nil {
				check(mutated, seed)
			}
		}
	}
	if len(workloads) < 10 || valid < all/10 || valid > all*9/10 {
		t.Errorf("%d of %d mutations of %d workloads are valid", valid, all, len(workloads))
	}
	t.Logf("%d of %d mutations of %d workloads are valid", valid, all, len(workloads))
}

// published returns the workloads in the published manifests of the library.
func published(t *testing.T) []any {
	t.Helper()
	var all []any
	err := fs.WalkDir(library.FS, "manifests/published", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := library.FS.ReadFile(name)
		if err != nil {
			return err
		}
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			text, err := documents.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			var object any
			if err := yaml.Unmarshal(text, &object); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if m, ok := object.(map[string]any); ok && strategies[fmt.Sprint(m["kind"])] != nil {
				all = append(all, object)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// mutator makes random changes to manifests.
type mutator struct{ *rand.Rand }

// odd has replacement values. Each is valid for few fields or for none.
var odd = []any{nil, "", "x", "X y", "a.b", "80", "http", true, false, 0, -1, 1, 2, 70000, 1.5, int64(1) << 40, []any{},
	[]any{"x"},
	map[string]any{}, map[string]any{"x": "y"}, map[string]any{"exec": map[string]any{"command": []any{"x"}}}, "Always",
	"OnFailure", "Never"}

// mutate changes one place in a value. It keeps kind and apiVersion, because another kind is
// another object.
func (m mutator) mutate(v any) any {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(v)),
			func(k string) bool { return k == "kind" || k == "apiVersion" })
		if len(keys) == 0 {
			break
		}
		key := keys[m.IntN(len(keys))]
		switch m.IntN(16) {
		case 0:
			delete(v, key)
		case 1:
			v[key+"s"] = v[key]
		case 2:
			v[key] = odd[m.IntN(len(odd))]
		default:
			v[key] = m.mutate(v[key])
		}
		return v
	case []any:
		if len(v) == 0 {
			break
		}
		i := m.IntN(len(v))
		switch m.IntN(8) {
		case 0:
			return append(v, v[i])
		case 1:
			return slices.Delete(slices.Clone(v), i, i+1)
		default:
			v[i] = m.mutate(v[i])
		}
		return v
	}
	return odd[m.IntN(len(odd))]
}
