package repotest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// shards has a directory with the scenario of docs/explore.md in which commands find probesim.
type shards struct {
	*testing.T
	dir string
}

func newShards(t *testing.T) *shards {
	t.Helper()
	s := &shards{t, t.TempDir()}
	writeFiles(t, s.dir, map[string]string{"race.yaml": yamlBlocks(t, "docs/explore.md")["race.yaml"]})
	return s
}

// sh runs a command and returns its standard output.
func (s *shards) sh(env string, command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = s.dir
	cmd.Env = append(withPath(s.T), env)
	out, err := cmd.Output()
	return string(out), err
}

// same checks that the parts in files join to the result of a search without parts.
func (s *shards) same(flags string) {
	s.Helper()
	want, _ := s.sh("", "sh", "-c", "probesim explore race.yaml -o json "+flags)
	got, _ := s.sh("", "sh", "-c", "probesim merge [0-9].json -o json")
	if got != want || len(got) < 1000 {
		s.Errorf("the parts join to %d bytes, want %d: %.300s", len(got), len(want), got)
	}
}

// TestExploreJob checks the indexed Job of examples/explore against the types of the API, and runs
// its command for each index.
func TestExploreJob(t *testing.T) {
	var job batchv1.Job
	if err := sigsyaml.UnmarshalStrict([]byte(read(t, "examples/explore/job.yaml")), &job); err != nil {
		t.Fatal(err)
	}
	if job.APIVersion != "batch/v1" || job.Kind != "Job" || job.Spec.CompletionMode == nil ||
		*job.Spec.CompletionMode != batchv1.IndexedCompletion {
		t.Fatalf("this is not an indexed Job: %+v", job.Spec)
	}
	n, pod := int(*job.Spec.Completions), job.Spec.Template.Spec
	command := pod.Containers[0].Command
	if *job.Spec.Parallelism != int32(n) || !strings.Contains(command[2], fmt.Sprintf("$JOB_COMPLETION_INDEX/%d ", n)) {
		t.Errorf("%d completions, and the command is %q", n, command)
	}
	if pod.RestartPolicy != "Never" || pod.Containers[0].VolumeMounts[0].Name != pod.Volumes[0].Name ||
		pod.Containers[0].WorkingDir != pod.Containers[0].VolumeMounts[0].MountPath {
		t.Errorf("the pod is %+v", pod)
	}
	s := newShards(t)
	for i := range n {
		out, err := s.sh(fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i), command...)
		if err != nil {
			t.Fatalf("index %d: %v", i, err)
		}
		writeFiles(t, s.dir, map[string]string{fmt.Sprintf("%d.json", i): out})
	}
	s.same("")
}

// TestExploreMatrix runs the commands of the workflow of examples/explore, with fewer runs.
func TestExploreMatrix(t *testing.T) {
	type step struct{ Run string }
	workflow := parse[struct {
		Jobs struct {
			Explore struct {
				Strategy struct{ Matrix struct{ Shard []int } }
				Steps    []step
			}
			Merge struct {
				Needs string
				Steps []step
			}
		}
	}](t, read(t, "examples/explore/workflow.yaml"))
	const flags = "--runs 150 --policy canonical,orders,seeds"
	s, ran := newShards(t), 0
	for _, shard := range workflow.Jobs.Explore.Strategy.Matrix.Shard {
		for _, step := range workflow.Jobs.Explore.Steps {
			command := strings.NewReplacer("${{ matrix.shard }}", fmt.Sprint(shard), "--runs 100000", flags).
				Replace(step.Run)
			if !strings.HasPrefix(command, "probesim ") {
				continue
			}
			ran++
			if _, err := s.sh("", "sh", "-ec", command); err != nil {
				t.Errorf("%s: %v", command, err)
			}
		}
	}
	if ran != 8 || workflow.Jobs.Merge.Needs != "explore" {
		t.Errorf("%d parts, and the merge needs %q", ran, workflow.Jobs.Merge.Needs)
	}
	s.same(flags)
	for _, step := range workflow.Jobs.Merge.Steps {
		if strings.HasPrefix(step.Run, "probesim merge") {
			ran++
			out, err := s.sh("", "sh", "-ec", step.Run)
			if err == nil || !strings.Contains(out, "probesim replay witnesses/race-") {
				t.Errorf("%s: %v\n%s", step.Run, err, out)
			}
		}
	}
	if ran != 9 {
		t.Error("the workflow does not merge the parts")
	}
}
