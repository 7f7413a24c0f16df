package strict

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// maxFuzzed is the size up to which inputs are tried. Larger ones are slow and have no other
// structure.
const maxFuzzed = 1 << 10

// parse parses a file, sometimes twice, and checks that both results are equal and that errors have
// a position in the file.
func parse(t *testing.T, data []byte) []*Node {
	t.Helper()
	var errs, again Collector
	docs, _ := Parse("f.yaml", data, &errs)
	if len(data)%4 == 0 { // only sometimes, to save time
		if Parse("f.yaml", data, &again); !reflect.DeepEqual(errs, again) {
			t.Fatalf("the errors are\n%v\nand then\n%v", errs.Err(), again.Err())
		}
	}
	checkPositions(t, data, errs.Err())
	nodes := 0
	for _, doc := range docs {
		values, _ := doc.Size()
		nodes += values
	}
	if nodes > MaxNodes {
		t.Fatalf("there are %d values", nodes)
	}
	return docs
}

// checkPositions checks that errors are of type Errors and have a position in the file.
func checkPositions(t *testing.T, data []byte, err error) {
	t.Helper()
	var errs Errors
	if err == nil {
		return
	}
	if !errors.As(err, &errs) || len(errs) == 0 {
		t.Fatalf("the error is %v", err)
	}
	lines := 1 // of any line break that YAML 1.1 or 1.2 has
	for _, lineBreak := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		lines += bytes.Count(data, []byte(lineBreak))
	}
	for _, e := range errs {
		if utf16 := len(data) > 1 && data[0]^data[1] == 1; !utf16 && (e.File != "f.yaml" || e.Line < 0 ||
			e.Line > lines || e.Column < 0 || e.Column > len(data)+1) {
			t.Fatalf("the position is not in the file: %v", e)
		}
	}
}

// FuzzParse parses YAML to nodes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a: 1", "- a\n- b\n", "{a: [b, c], d: {e: f}}", "a: &a {b: c}\nd: {<<: *a}\n", "a: |\n  b\n", "? a\n: b\n",
		"a: 'b'\n---\n# c\n--- d\n...\n",
		"%YAML 1.1\n---\na", "a: \"\\x41\"", "a: [b, }", "&a [*a]", "yes: ~", "<<: {a: 1}", "!!str a",
		"a: >-\n b\n\n c\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) <= maxFuzzed {
			parse(t, data)
		}
	})
}

// FuzzDecode decodes a document to a pod, twice. The document is in the form of its Text.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"metadata: {name: a, labels: {b: c}}", "spec: {containers: [{name: a, image: b}]}",
		"spec: {hostNetwork: off, priority: 1e3}",
		"spec: {containers: [{ports: [{containerPort: 80}], resources: {limits: {cpu: 100m}}}]}",
		"metadata: {creationTimestamp: 2001-01-01T00:00:00Z}",
		"spec: {containers: [{livenessProbe: {httpGet: {port: http}, periodSeconds: 5}}]}", "metdata: {nam: a}",
		"spec: {containers: {}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxFuzzed {
			return
		}
		for _, text := range slices.Compact([]string{string(data), strings.ToValidUTF8(string(data), "?")}) {
			var errs Collector
			docs, _ := Parse("f.yaml", []byte(text), &errs)
			for _, doc := range docs {
				var pod v1.Pod
				Decode(doc, &pod)
				doc.JSON()
				doc.Text()
			}
			checkPositions(t, []byte(text), errs.Err())
		}
	})
}
