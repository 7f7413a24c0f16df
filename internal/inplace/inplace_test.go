package inplace_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"probesim.dev/internal/inplace"
	"probesim.dev/internal/strict"
)

// Merge changes objects in each style, and keeps every other byte.
func TestMerge(t *testing.T) {
	const sleep = `{containers: [{name: app, lifecycle: {preStop: {sleep: {seconds: 6}}}}]}`
	const instead = `{containers: [{name: app, lifecycle: {preStop: {exec: null, sleep: {seconds: 6}}}}]}`
	for _, c := range []struct{ name, text, patch, want string }{
		{"a new object in a block", "containers:\n- name: app # first\n  image: web:1\n  readinessProbe: {}\n", sleep,
			"containers:\n- name: app # first\n  image: web:1\n  lifecycle:\n    preStop:\n      sleep:\n        " +
				"seconds: 6\n  readinessProbe: {}\n"},
		{"a new object in flow style", "containers: [{name: app, image: 'web:1'}]\n", sleep,
			"containers: [{lifecycle: {preStop: {sleep: {seconds: 6}}}, name: app, image: 'web:1'}]\n"},
		{"a new object in JSON", `{"containers": [{"name": "app"}]}`, sleep,
			`{"containers": [{"lifecycle": {"preStop":{"sleep":{"seconds":6}}}, "name": "app"}]}`},
		{"an object beside another one", "containers:\n- name: app\n  lifecycle:\n    postStart: {exec: {command: " +
			"[x]}}\n", sleep,
			"containers:\n- name: app\n  lifecycle:\n    preStop:\n      sleep:\n        seconds: 6\n    postStart: " +
				"{exec: {command: [x]}}\n"},
		{"an object in an empty one", "containers:\n- name: app\n  lifecycle: {} # none\n", sleep,
			"containers:\n- name: app\n  lifecycle: {preStop: {sleep: {seconds: 6}}} # none\n"},
		{"a number", "containers:\n- name: app\n  lifecycle: {preStop: {sleep: {seconds: 2}}}\n", sleep,
			"containers:\n- name: app\n  lifecycle: {preStop: {sleep: {seconds: 6}}}\n"},
		{"an object instead of another one", "containers:\n- name: app\n  lifecycle:\n    preStop:\n      # wait\n   " +
			"   exec:\n        command: [sleep, '}']\n\n  # the image\n  image: web:1\n", instead,
			"containers:\n- name: app\n  lifecycle:\n    preStop:\n      # wait\n      sleep:\n        seconds: " +
				"6\n\n  # the image\n  image: web:1\n"},
		{"one at the end of the file", "containers:\n- name: app\n  lifecycle:\n    preStop:\n      exec:\n        " +
			"command:\n        - sleep\n        - '1'", instead,
			"containers:\n- name: app\n  lifecycle:\n    preStop:\n      sleep:\n        seconds: 6"},
		{"one in flow style", "containers: [{name: app, lifecycle: {preStop: {exec: {command: [sleep, " +
			"\"a}\\\"b\"]}}}, image: x}]\n", instead,
			"containers: [{name: app, lifecycle: {preStop: {sleep: {seconds: 6}}}, image: x}]\n"},
		{"lines that end in CR LF", "a:\r\n  b: 1\r\n", "{a: {b: 2, c: {d: x}}}",
			"a:\r\n  c:\r\n    d: x\r\n  b: 2\r\n"},
		{"strings", "a: Recreate\nb: \"25%\"\nc: 25%\nd: '1'\n", "{a: RollingUpdate, b: 1, c: 2, d: x}",
			"a: RollingUpdate\nb: 1\nc: 2\nd: 'x'\n"},
	} {
		got, _, err := merge(t, c.text, c.patch)
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

// What cannot be changed in place is an error with its line.
func TestMergeFails(t *testing.T) {
	for _, c := range []struct{ text, patch, line string }{
		{"a:\n  b: 1\n", "{a: {b: null}}", "line 2 "},
		{"a:\n  b: 1\n", "{a: {b: null, c: 1, d: null}}", ""},
		{"a:\n  b: 1\n  c: 2\n", "{a: {b: null, d: 1}}", "line 2 "},
		{"a: 1\n", "{a: {b: 1}}", "line 1 "},
		{"list:\n- name: a\n", "{list: [{name: b, c: 1}]}", "line 2 "},
		{"list:\n- name: a\n", "{list: [{name: a, c: {d: 1}}]}", "line 2 "},
		{"a:\n  b: 1 # old\n", "{a: {b: null, c: 1}}", "line 2 "},
	} {
		if _, _, err := merge(t, c.text, c.patch); c.line == "" && err != nil ||
			c.line != "" && (err == nil || !strings.HasPrefix(err.Error(), c.line)) {
			t.Errorf("%q with %s: %v, want %q", c.text, c.patch, err, c.line)
		}
	}
}

func merge(t *testing.T, text, patch string) (string, []inplace.Comment, error) {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(patch), &fields); err != nil {
		t.Fatal(err)
	}
	docs, _ := strict.Parse("x.yaml", []byte(text), &strict.Collector{})
	e := inplace.New([]byte(text))
	e.Merge(docs[0], fields)
	got, comments, err := e.Apply()
	return string(got), comments, err
}
