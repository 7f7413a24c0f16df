package rollout_test

import (
	"strings"
	"testing"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/input"
	"probesim.dev/internal/require"
)

// The manifest with the changes in place meets the requirement, and differs in nothing else.
func TestEdit(t *testing.T) {
	o := options()
	o.Runs = 30
	o.Require, _ = require.Parse("lost<=0")
	hook := "lifecycle:\n          preStop: # short\n            exec: {command: [sleep, '1']}"
	file := manifest{replicas: 3, container: hook}.file()
	r, err := rollout.Tune([]input.File{file}, nil, o, true)
	if err != nil {
		t.Fatal(err)
	}
	text, comments, err := r.Edit(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(string(file.Data), "exec: {command: [sleep, '1']}", "sleep:\n              seconds: 12",
		1); string(text) != want || len(comments) != 0 {
		t.Errorf("the comments are %v, and the text is\n%s", comments, text)
	}
	after, err := rollout.Run([]input.File{{Name: file.Name, Data: text}}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	if after.Bad() {
		t.Errorf("with the changes: %+v", after.Workloads[0])
	}
}

// A hook that two containers share through an anchor cannot be changed for one of them.
func TestEditRejectsAnchors(t *testing.T) {
	o := options()
	o.Runs = 4
	o.Require, _ = require.Parse("lost<=0")
	hook := "lifecycle: &hook {preStop: {exec: {command: [sleep, '0.1']}}}\n      initContainers:\n      - {name: " +
		"other, image: other, restartPolicy: Always, lifecycle: *hook}"
	file := manifest{replicas: 3, container: hook}.file()
	r, err := rollout.Tune([]input.File{file}, nil, o, true)
	if err != nil {
		t.Fatal(err)
	}
	if text, _, err := r.Edit(file); err == nil || !strings.Contains(err.Error(), "YAML anchors: use -o patch") {
		t.Errorf("error %v, text %s", err, text)
	}
}
