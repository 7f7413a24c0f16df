package probesim_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ciBlocks returns the YAML blocks of docs/ci.md by the comment in their first line, and checks that they are valid.
func ciBlocks(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```yaml\n# ([^\n]+)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		var any yaml.Node
		if err := yaml.Unmarshal([]byte(m[2]), &any); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
		blocks[m[1]] = m[2]
	}
	if all := strings.Count(string(text), "```yaml\n"); all != len(blocks) {
		t.Errorf("%d of %d YAML blocks of docs/ci.md begin with a comment", len(blocks), all)
	}
	return blocks
}

// parse decodes YAML.
func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCIWorkflow checks that the workflows use only inputs that the action has, and that the table lists all of them.
func TestCIWorkflow(t *testing.T) {
	type workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]any
			}
		}
	}
	ours, err := os.ReadFile(".github/workflows/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inputs := readAction(t).Inputs
	uses := 0
	for _, text := range []string{ciBlocks(t)[".github/workflows/probes.yaml"], string(ours)} {
		for _, job := range parse[workflow](t, text).Jobs {
			for _, step := range job.Steps {
				if step.Uses != "./" && !strings.HasPrefix(step.Uses, "probesim/probesim@") {
					continue
				}
				uses++
				for name := range step.With {
					if _, known := inputs[name]; !known {
						t.Errorf("the action has no input %s", name)
					}
				}
			}
		}
	}
	if uses != 2 {
		t.Errorf("%d steps use the action, want 2", uses)
	}
	doc, err := os.ReadFile("docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range inputs {
		if !bytes.Contains(doc, []byte("`"+name+"`")) {
			t.Errorf("docs/ci.md does not describe the input %s", name)
		}
	}
}

// TestCICommands runs the commands of the hook, of GitLab CI and of Argo CD with the manifest of docs/ci.md, whose mistake they
// must find.
func TestCICommands(t *testing.T) {
	blocks := ciBlocks(t)
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, ".bin")+string(filepath.Separator), "./cmd/probesim")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if err == nil {
			err = os.WriteFile(name, []byte(text), 0o777)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("deploy/deployment.yaml", blocks["deployment.yaml"])
	write("deploy/service.yaml", blocks["service.yaml"])
	write("probes/s.yaml", failingScenario)
	write(".bin/kustomize", "#!/bin/sh\nfor f in deploy/*.yaml; do echo ---; cat $f; done\n")
	// run runs a command, and checks that it fails with a message.
	run := func(what, want string, args ...string) {
		t.Helper()
		cmd := exec.Command("sh", append([]string{"-c", `"$@"`, "sh"}, args...)...) // finds commands in the PATH below
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, ".bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %q ends with %v, want a failure with %q\n%s", what, args, err, want, out)
		}
	}
	const mistake = "The readiness probe can never run"

	type hook struct {
		ID, Entry, Language string
		Args                []string
		Files               string
	}
	text, err := os.ReadFile(".pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	hooks := parse[[]hook](t, string(text))
	used := parse[struct{ Repos []struct{ Hooks []hook } }](t, blocks[".pre-commit-config.yaml"]).Repos[0].Hooks[0]
	i := slices.IndexFunc(hooks, func(h hook) bool { return h.ID == used.ID })
	if i < 0 || hooks[i].Language != "golang" || !regexp.MustCompile(used.Files).MatchString("deploy/deployment.yaml") {
		t.Fatalf("the hooks are %v, docs/ci.md uses %v", hooks, used)
	}
	run("pre-commit", mistake, slices.Concat(strings.Fields(hooks[i].Entry), used.Args, []string{"deploy/service.yaml", "deploy/deployment.yaml"})...)

	gitlab := parse[map[string]struct{ Script []string }](t, blocks[".gitlab-ci.yml"])["probes"].Script
	if len(gitlab) != 3 {
		t.Fatalf("the script of GitLab CI is %q", gitlab)
	}
	run("GitLab CI", mistake, "sh", "-ec", strings.Join(gitlab[:2], "\n"))
	run("GitLab CI", "", "sh", "-ec", gitlab[2])
	if report, err := os.ReadFile(filepath.Join(dir, "junit.xml")); err != nil || !bytes.Contains(report, []byte("never-ready")) {
		t.Errorf("the JUnit report is %q: %v", report, err)
	}

	plugin := parse[struct {
		Spec struct {
			Generate struct{ Command []string }
		}
	}](t, blocks["plugin.yaml"]).Spec.Generate.Command
	temp := strings.ReplaceAll(plugin[2], "/tmp/", dir+"/")
	run("the plugin", mistake, plugin[0], plugin[1], temp)

	job := parse[struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}](t, blocks["hook.yaml"]).Spec.Template.Spec.Containers[0].Args
	for i := range job {
		job[i] = strings.ReplaceAll(job[i], "/manifests", "deploy")
	}
	run("the hook of Argo CD", mistake, append([]string{"probesim"}, job...)...)
}

// TestRelease checks that the configuration of releases fits the repository: a package for each build, archives of both
// commands, and an image with the command. 'goreleaser check' validates the rest.
func TestRelease(t *testing.T) {
	text, err := os.ReadFile(".goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type part struct {
		ID, Main, Binary, Dockerfile string
		IDs, Flags                   []string
		Files                        []string
	}
	config := parse[struct {
		Builds, Archives, Krews []part
		Docker                  []part `yaml:"dockers_v2"`
		Casks                   []part `yaml:"homebrew_casks"`
	}](t, string(text))
	binaries := map[string]string{}
	for _, b := range config.Builds {
		binaries[b.ID] = b.Binary
		if _, err := os.Stat(filepath.Join(b.Main, "main.go")); err != nil {
			t.Error(err)
		}
		if !slices.Contains(b.Flags, "-buildvcs=true") {
			t.Errorf("the version of the build %s has no commit", b.ID)
		}
	}
	var archived []string
	for _, a := range config.Archives {
		archived = append(archived, binaries[a.IDs[0]])
		for _, file := range a.Files {
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
		}
	}
	if !slices.Equal(archived, []string{"probesim", "kubectl-probesim"}) || binaries[config.Krews[0].IDs[0]] != "kubectl-probesim" || binaries[config.Casks[0].IDs[0]] != "probesim" {
		t.Errorf("archives of %q, a krew plugin of %q, a cask of %q", archived, config.Krews[0].IDs, config.Casks[0].IDs)
	}
	image, err := os.ReadFile(config.Docker[0].Dockerfile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(image, []byte("COPY $TARGETPLATFORM/"+binaries[config.Docker[0].IDs[0]]+" ")) {
		t.Errorf("the image does not have the command:\n%s", image)
	}
	// A release builds into dist, which must not count as a local change.
	ignored, err := os.ReadFile(".gitignore")
	if err != nil || !bytes.Contains(ignored, []byte("/dist/\n")) {
		t.Errorf("git does not ignore dist: %v", err)
	}
}
