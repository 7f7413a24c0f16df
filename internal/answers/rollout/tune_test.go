package rollout_test

import (
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/input"
	"probesim.dev/internal/require"
	"probesim.dev/internal/value"
)

// The changes that tune finds meet the requirements in other runs too, and the patch makes them. A
// preStop sleep that is a second shorter does not.
func TestTune(t *testing.T) {
	for _, c := range []struct {
		require string
		always  bool
		changes string
	}{
		{"lost<=0", true, "preStop: none -> {sleep: {seconds: 12}}"},
		{"lost<=0", false, "preStop: none -> {sleep: {seconds: 2}}"},
		{"takes<=11s, replicas>=3", false, "maxSurge: 1 -> 2"},
		{"lost<=1000", true, ""},
		{"lost<=0, takes<=11s", true, "preStop: none -> {sleep: {seconds: 12}}, maxSurge: 1 -> 2"},
	} {
		o := options()
		o.Runs = 8
		o.App.Start.Ordinary = &value.Interval{Min: 3 * time.Second, Max: 3 * time.Second}
		o.Require, _ = require.Parse(c.require)
		file := manifest{replicas: 3}.file()
		r, err := rollout.Tune([]input.File{file}, nil, o, c.always)
		if err != nil {
			t.Fatal(err)
		}
		w := &r.Workloads[0]
		var changes []string
		for _, change := range w.Changes {
			changes = append(changes, change.Field[strings.LastIndex(change.Field, ".")+1:]+": "+change.Before+" -> "+
				change.After)
		}
		if got := strings.Join(changes, ", "); got != c.changes || !r.Met() {
			t.Errorf("%s: the changes are %q, want %q: %+v", c.require, got, c.changes, w.Requirements)
		}
		if c.changes == "" {
			continue
		}
		patched := apply(t, file, w.Patch)
		after, err := rollout.Run([]input.File{patched}, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range after.Workloads[0].Requirements {
			if !v.Met {
				t.Errorf("%s: with the patch, %s is not met", c.require, v.Requirement)
			}
		}
	}
}

// A requirement that nothing meets has the closest change, and no patch.
func TestTuneWithoutSolution(t *testing.T) {
	o := options()
	o.Runs = 4
	o.Require, _ = require.Parse("takes<=100ms")
	r, err := rollout.Tune([]input.File{manifest{replicas: 3}.file()}, nil, o, true)
	if err != nil || r.Met() || r.Workloads[0].Patch != nil || r.Workloads[0].Requirements[0].After.Met {
		t.Errorf("%v: %+v", err, r)
	}
}

// Changes that cannot help are not tried: a minReadySeconds that is long enough, and a pod more
// beside a claim that only one can have.
func TestTuneTriesWhatCanHelp(t *testing.T) {
	claim := "imagePullPolicy: IfNotPresent\n      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]"
	for _, c := range []struct {
		file  input.File
		met   bool
		never string
	}{
		{manifest{replicas: 3, spec: "minReadySeconds: 10"}.file(), true, "minReadySeconds"},
		{manifest{replicas: 1, spec: "strategy: {type: Recreate}", container: claim}.file(), false, "strategy"},
	} {
		o := options()
		o.Runs = 4
		o.Require, _ = require.Parse("lost<=0")
		r, err := rollout.Tune([]input.File{c.file}, nil, o, true)
		if err != nil {
			t.Fatal(err)
		}
		if r.Met() != c.met {
			t.Errorf("%s: met is %t", c.never, r.Met())
		}
		for _, change := range r.Workloads[0].Changes {
			if strings.Contains(change.Field, c.never) {
				t.Errorf("%s: %s -> %s", change.Field, change.Before, change.After)
			}
		}
	}
}

// No change is found for a rollout that a quota stops, and the note says so.
func TestTuneWithinAQuota(t *testing.T) {
	o := options()
	o.Require, _ = require.Parse("takes<=5m")
	data, err := os.ReadFile("testdata/reports/quota.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := rollout.Tune([]input.File{{Name: "quota.yaml", Data: data}}, nil, o, true)
	if err != nil || r.Met() || !strings.Contains(r.Workloads[0].Note, "A new pod needs room in ResourceQuota quota") {
		t.Errorf("%v: %+v", err, r)
	}
}

// apply applies a patch to the Deployment of a manifest, and returns it with its Service.
func apply(t *testing.T, file input.File, patch []byte) input.File {
	t.Helper()
	deployment, service, _ := strings.Cut(string(file.Data), "\n---\n")
	before, err := yaml.YAMLToJSON([]byte(deployment))
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, appsv1.Deployment{})
	if err != nil {
		t.Fatal(err)
	}
	return input.File{Name: file.Name, Data: []byte(string(after) + "\n---\n" + service)}
}
