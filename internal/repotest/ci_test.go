package repotest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/scenarios/schema"
)

// TestCIWorkflow checks that the workflows use only inputs that the action has, and that the table
// lists all of them.
func TestCIWorkflow(t *testing.T) {
	type workflow struct {
		Jobs map[string]struct {
			Steps []struct {
				Uses string
				With map[string]any
			}
		}
	}
	inputs := readAction(t).Inputs
	uses := 0
	for _, text := range []string{yamlBlocks(t, "docs/ci.md")[".github/workflows/probes.yaml"],
		read(t, ".github/workflows/manifests.yaml")} {
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
	doc := read(t, "docs/ci.md")
	for name := range inputs {
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("docs/ci.md does not describe the input %s", name)
		}
	}
}

// TestActionsArePinned checks that workflows, the action and the documents name actions by commit,
// with the release in a comment: a tag can move. The action of this repository is the exception.
func TestActionsArePinned(t *testing.T) {
	pinned, uses := regexp.MustCompile(`^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`), 0
	walk(t, true, func(name string, text []byte) {
		if !slices.Contains([]string{".md", ".yaml", ".yml"}, filepath.Ext(name)) {
			return
		}
		for line := range strings.Lines(string(text)) {
			action, found := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(line), "- "), "uses: ")
			if action = strings.TrimSpace(action); !found || action == "./" ||
				strings.HasPrefix(action, "probesim/probesim@") {
				continue
			}
			if uses++; !pinned.MatchString(action) {
				t.Errorf("%s: name the action %s by commit, with its release in a comment", name, action)
			}
		}
	})
	if uses < 15 {
		t.Errorf("found only %d actions", uses)
	}
}

// TestCICommands runs the commands of the hook, of GitLab CI and of Argo CD with the manifest of
// docs/ci.md, whose mistake they must find.
func TestCICommands(t *testing.T) {
	blocks, dir := yamlBlocks(t, "docs/ci.md"), t.TempDir()
	writeFiles(t, dir, map[string]string{
		"deploy/deployment.yaml": blocks["deployment.yaml"],
		"deploy/service.yaml":    blocks["service.yaml"],
		"probes/s.yaml":          failingScenario,
		".bin/kustomize":         "#!/bin/sh\nfor f in deploy/*.yaml; do echo ---; cat $f; done\n",
	})
	if err := os.Symlink(filepath.Join(commandDir(t), "probesim"), filepath.Join(dir, ".bin/probesim")); err != nil {
		t.Fatal(err)
	}
	// run runs a command, and checks that it fails with a message.
	run := func(what, want string, args ...string) {
		t.Helper()
		cmd := exec.Command("sh", append([]string{"-c", `"$@"`, "sh"}, args...)...) // finds commands in the PATH below
		cmd.Dir = dir
		cmd.Env = withPath(t, filepath.Join(dir, ".bin"))
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
	hooks := parse[[]hook](t, read(t, ".pre-commit-hooks.yaml"))
	used := parse[struct{ Repos []struct{ Hooks []hook } }](t, blocks[".pre-commit-config.yaml"]).Repos[0].Hooks[0]
	i := slices.IndexFunc(hooks, func(h hook) bool { return h.ID == used.ID })
	if i < 0 || hooks[i].Language != "golang" || !regexp.MustCompile(used.Files).MatchString("deploy/deployment.yaml") {
		t.Fatalf("the hooks are %v, docs/ci.md uses %v", hooks, used)
	}
	run("pre-commit", mistake, slices.Concat(strings.Fields(hooks[i].Entry), used.Args,
		[]string{"deploy/service.yaml", "deploy/deployment.yaml"})...)

	gitlab := parse[map[string]struct{ Script []string }](t, blocks[".gitlab-ci.yml"])["probes"].Script
	if len(gitlab) != 3 {
		t.Fatalf("the script of GitLab CI is %q", gitlab)
	}
	run("GitLab CI", mistake, "sh", "-ec", strings.Join(gitlab[:2], "\n"))
	run("GitLab CI", "", "sh", "-ec", gitlab[2])
	if report, err := os.ReadFile(filepath.Join(dir, "junit.xml")); err != nil ||
		!bytes.Contains(report, []byte("never-ready")) {
		t.Errorf("the JUnit report is %q: %v", report, err)
	}

	plugin := parse[struct {
		Spec struct {
			Generate struct{ Command []string }
		}
	}](t, blocks["plugin.yaml"]).Spec.Generate.Command
	run("the plugin", mistake, plugin...)

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

// TestSchemaStore checks that the entry for the catalog of SchemaStore names the schema by its own
// address.
func TestSchemaStore(t *testing.T) {
	type entry struct {
		Name, Description, URL string
		FileMatch              []string `yaml:"fileMatch"`
	}
	listed := parse[entry](t, read(t, ".github/release/schemastore.json"))
	data, err := schema.JSON()
	if err != nil {
		t.Fatal(err)
	}
	id := parse[map[string]any](t, string(data))["$id"]
	if listed.URL != id || listed.Name == "" || listed.Description == "" || len(listed.FileMatch) == 0 {
		t.Errorf("the entry is %+v, the $id of the schema %v", listed, id)
	}
}

// TestRelease checks that the configuration of releases fits the repository: a package for each
// build, archives of both commands, and an image with the command. 'goreleaser check' validates the
// rest.
func TestRelease(t *testing.T) {
	type part struct {
		ID, Main, Binary, Dockerfile string
		IDs, Flags                   []string
		Files                        []struct{ Src string }
	}
	config := parse[struct {
		Builds, Archives, Krews []part
		Docker                  []part `yaml:"dockers_v2"`
		Casks                   []part `yaml:"homebrew_casks"`
	}](t, read(t, ".goreleaser.yaml"))
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
			if _, err := os.Stat(file.Src); err != nil {
				t.Error(err)
			}
		}
	}
	if !slices.Equal(archived, []string{"probesim", "kubectl-probesim"}) ||
		binaries[config.Krews[0].IDs[0]] != "kubectl-probesim" || binaries[config.Casks[0].IDs[0]] != "probesim" {
		t.Errorf("archives of %q, a krew plugin of %q, a cask of %q", archived, config.Krews[0].IDs,
			config.Casks[0].IDs)
	}
	if image := read(t, config.Docker[0].Dockerfile); !strings.Contains(image, "COPY $TARGETPLATFORM/"+
		binaries[config.Docker[0].IDs[0]]+" ") {
		t.Errorf("the image does not have the command:\n%s", image)
	}
	// A release builds into dist, which must not count as a local change.
	if !strings.Contains(read(t, ".gitignore"), "/dist/\n") {
		t.Error("git does not ignore dist")
	}
}
