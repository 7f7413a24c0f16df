package manifest

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
)

var update = flag.Bool("update", false, "write the golden files")

func load(t *testing.T, file string) *plan.Plan {
	t.Helper()
	all, err := scenarios.Load(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return all[0].Plan("v1.37", nil)
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s is not up to date: go test ./internal/runner/play/manifest -update, and read the diff\n%s", file,
			got)
	}
}

// TestManifests checks what becomes of a pod that has a bit of everything, and of a Deployment.
func TestManifests(t *testing.T) {
	p := load(t, "everything.yaml")
	files, err := Collect(p.Scenario)
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	s := &Stage{Image: "probesim:dev", Pull: "Never", Prefix: "pabc-1-", Seconds: 1200,
		Labels: map[string]string{Domain + "play": "abc"},
		Part:   Part{Files: files, File: "everything.yaml", Run: "everything", Version: "v1.37"}}
	var text strings.Builder
	write := func(o any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := yaml.Unmarshal(data, &fields); err != nil {
			t.Fatal(err)
		}
		out, err := yaml.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(out))
	}
	for _, planned := range p.Pods() {
		text.WriteString("# dropped: " + strings.Join(Dropped(planned.Pod), ", ") + "\n")
		write(s.Pod(planned.Pod))
	}
	known, _ := p.Profile()
	for _, w := range p.Deployments() {
		admitted, err := admission.AdmitDeployment(known, w.Controlled.Deployment)
		if err != nil {
			t.Fatal(err)
		}
		write(s.Deployment(admitted, 1, 0))
	}
	for _, service := range p.Scenario.Services {
		write(s.Service(service.Object), nil)
	}
	golden(t, "everything.golden.yaml", parts(text.String()))
}

// TestChange checks that a patch resets what the next state of a Deployment does not have.
func TestChange(t *testing.T) {
	p := load(t, "everything.yaml")
	known, _ := p.Profile()
	admitted, err := admission.AdmitDeployment(known, p.Deployments()[0].Controlled.Deployment)
	if err != nil {
		t.Fatal(err)
	}
	next, err := admission.PatchDeployment(known, admitted,
		[]byte(`{"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}, "minReadySeconds": 0}}`))
	if err != nil {
		t.Fatal(err)
	}
	patch, err := (&Stage{}).Change(next, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"minReadySeconds":0`, `"paused":false`, `"strategy":{"rollingUpdate":null,"type":"Recreate"}`} {
		if !strings.Contains(string(patch), want) {
			t.Errorf("the patch has no %s: %s", want, patch)
		}
	}
}

// parts replaces the parts of the players, which depend on the compression.
func parts(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if before, value, _ := strings.Cut(line, "value: "); strings.HasPrefix(value, "H4s") {
			lines[i] = before + "value: PART"
		}
	}
	return strings.Join(lines, "\n")
}

// TestRefusals checks what is refused, and where.
func TestRefusals(t *testing.T) {
	var text strings.Builder
	all, err := scenarios.Load("testdata/refused.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, e := range Refuse(s.Plan("v1.37", nil)) {
			text.WriteString(e.Error() + "\n")
		}
	}
	golden(t, "refused.golden", text.String())
}

// TestPart checks that a player gets its program from its environment.
func TestPart(t *testing.T) {
	p := load(t, "everything.yaml")
	files, err := Collect(p.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	for pod, want := range map[string]string{"default/one": "one", "default/two-1": "two-1"} {
		part := &Part{Files: files, File: "everything.yaml", Run: "everything", Version: "v1.37", Pod: pod}
		text, err := part.Text()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(envPart, text)
		t.Setenv(envContainer, "app")
		read, container, err := ReadPart()
		if err != nil || container != "app" {
			t.Fatal(container, err)
		}
		run, err := read.Plan()
		if err != nil {
			t.Fatal(err)
		}
		planned, err := read.Planned(run)
		if err != nil || planned.Pod.Name != want || len(planned.Program.Containers["app"].Program.Rules) != 1 {
			t.Errorf("the pod of %s is %+v, %v", pod, planned, err)
		}
	}
	part := &Part{Files: files, File: "everything.yaml", Run: "everything", Version: "v1.37", Pod: "default/web",
		Set: 2, Step: 1}
	t.Setenv(envPod, "pabc-1-web-5d4f-x7z")
	run, err := part.Plan()
	if err != nil {
		t.Fatal(err)
	}
	planned, err := part.Planned(run)
	if err != nil || planned.Program.Name != "pabc-1-web-5d4f-x7z" || planned.Program.Workload != "web-2" ||
		len(planned.Program.Containers["app"].Program.Rules) != 2 {
		t.Errorf("the pod of the Deployment is %+v, %v", planned, err)
	}
	t.Setenv(envPart, "")
	if _, _, err := ReadPart(); err == nil {
		t.Error("there is a part without a play")
	}
}

// TestLabelKeys checks that labels of a scenario become labels that only played pods have.
func TestLabelKeys(t *testing.T) {
	long := strings.Repeat("x", 40) + "/" + strings.Repeat("y", 40)
	for key, want := range map[string]string{"app": "play.probesim.dev/app",
		"app.kubernetes.io/name": "play.probesim.dev/app.kubernetes.io_name"} {
		if got := labelKey(key); got != want {
			t.Errorf("%s becomes %s, want %s", key, got, want)
		}
	}
	if got := labelKey(long); len(got) > len(Domain)+63 || got == labelKey(long+"z") {
		t.Errorf("the long key becomes %s", got)
	}
}
