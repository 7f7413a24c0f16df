package shrink

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"testing"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/long"
	"probesim.dev/internal/proof/random"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

func load(t *testing.T, file []byte) *scenarios.Scenario {
	t.Helper()
	loaded, err := scenarios.LoadBytes(fileName, file, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return loaded[0]
}

// checkMinimal tries to leave out each part of a result, and reports parts that the problem does
// not need.
func checkMinimal(t *testing.T, r Result, differs func([]byte) (string, bool)) {
	t.Helper()
	if !r.Minimal {
		t.Errorf("not minimal after %d trials", r.Trials)
	}
	s := &shrinker{docs: parse(r.File)}
	if again := s.docs.write(nil).text; !bytes.Equal(again, r.File) {
		t.Errorf("the formatting is not stable:\n%s\n%s", r.File, again)
	}
	for depth := 0; len(s.level(depth)) > 0; depth++ {
		for _, part := range s.level(depth) {
			text := s.docs.write(nodes{part: true}).text
			if _, err := scenarios.LoadBytes(fileName, text, nil); err != nil {
				continue
			}
			if signature, ok := differs(text); ok && signature == r.Signature {
				t.Errorf("a part at depth %d can be left out of\n%s\nwhich gives\n%s", depth, r.File, text)
			}
		}
	}
}

// twoProbesAndExit reports whether a container has two probes and a program that ends by itself.
func twoProbesAndExit(s *scenarios.Scenario) bool {
	exits := func(c fakeruntime.ContainerConfig) bool {
		for _, r := range c.Program.Rules {
			if r.Exit != nil {
				return true
			}
		}
		return false
	}
	for _, p := range s.Plans()[0].Pods() {
		for _, c := range p.Pod.Spec.Containers {
			l, r, u := c.LivenessProbe != nil, c.ReadinessProbe != nil, c.StartupProbe != nil
			if (l && r || l && u || r && u) && exits(p.Program.Containers[c.Name]) {
				return true
			}
		}
	}
	return false
}

// TestStaticProperty shrinks files to a property of their text, which needs no run. The results
// must be minimal and small.
func TestStaticProperty(t *testing.T) {
	count, largest, most := 0, 0, 0
	for seed := uint64(1); count < long.Sample(4, 12); seed++ {
		file := random.Scenario(seed)
		differs := func(file []byte) (string, bool) { return "", twoProbesAndExit(load(t, file)) }
		if _, ok := differs(file); !ok {
			continue
		}
		r, err := File(file, differs, Options{})
		if err != nil {
			t.Fatal(err)
		}
		checkMinimal(t, r, differs)
		count, largest, most = count+1, max(largest, len(r.File)), max(most, r.Trials)
	}
	t.Logf("%d files, at most %d bytes, %d trials", count, largest, most)
	if largest > 450 || most > 200 {
		t.Errorf("the largest result has %d bytes, want at most 450; File made up to %d trials, want at most 200",
			largest, most)
	}
}

// TestProgress checks that each file that Progress receives loads and shows the same problem, and
// that the last one is the result.
func TestProgress(t *testing.T) {
	differs := func(file []byte) (string, bool) { return "", twoProbesAndExit(load(t, file)) }
	var last Result
	calls := 0
	progress := func(r Result) {
		if _, ok := differs(r.File); !ok || r.Minimal || r.Trials < last.Trials {
			t.Errorf("after %d trials: minimal: %v, differs: %v", r.Trials, r.Minimal, ok)
		}
		last, calls = r, calls+1
	}
	r, err := File(random.Scenario(1), differs, Options{Progress: progress, Comment: "Seed 1."})
	if err != nil || calls == 0 || !bytes.Equal(last.File, r.File) || !bytes.HasPrefix(r.File, []byte("# Seed 1.\n")) {
		t.Errorf("error %v; Progress was called %d times, the last time with\n%s\nThe result is\n%s", err, calls,
			last.File, r.File)
	}
}

// unseen are the fields of profiles that change no record of a random scenario: no record contains
// the reason of a condition, and random scenarios neither step the wall clock nor use the pod
// fields that the other gates enable.
var unseen = []string{
	"SandboxReasonInCondition", "SandboxesByAttempt", "GRPCContainerProbeTLS", "H2CContainerProbe",
	"ContainerStopSignals",
}

// otherRules returns profiles that differ from the newest in one field each, by the name of the
// field.
func otherRules() map[string]profile.Profile {
	others := map[string]profile.Profile{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[profile.Profile]()) {
		if f.Type.Kind() != reflect.Bool || slices.Contains(unseen, f.Name) {
			continue
		}
		other := profile.Newest()
		flag := reflect.ValueOf(&other).Elem().FieldByIndex(f.Index)
		flag.SetBool(!flag.Bool())
		others[f.Name] = other
	}
	return others
}

// TestOneRule checks that, for each sixth rule or for each, some random scenario distinguishes two
// kubelets that differ only in this rule, and that the scenario shrinks to a small file. The
// signature is the kind of the first record that differs.
func TestOneRule(t *testing.T) {
	rules := otherRules()
	for i, name := range slices.Sorted(maps.Keys(rules)) {
		if i%long.Sample(12, 1) != 0 {
			continue
		}
		other := rules[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			differs := func(file []byte) (string, bool) {
				s := load(t, file)
				return firstDifference(observed(t, s, profile.Newest()), observed(t, s, other))
			}
			source, file := firstToDiffer(t, name, differs)
			r, err := File(file, differs, Options{Comment: fmt.Sprintf("%s: without %s.", source, name)})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d of %d bytes are left after %d trials; the signature is %s\n%s", len(r.File), len(file), r.Trials,
				r.Signature, r.File)
			if _, ok := differs(r.File); !ok || len(r.File) > 1000 || r.Trials > 400 {
				t.Errorf("the result has %d bytes, want at most 1000, after %d trials, want at most 400; or it does "+
					"not differ", len(r.File), r.Trials)
			}
		})
	}
}

// rare has scenario files for the fields of profiles whose effect random scenarios hardly ever
// show.
var rare = map[string]string{
	"UpdateNeedsAdmission":      "../../../scenarios/library/versions/rejected-pod.yaml",
	"ActuatedAtEachSync":        "../../../scenarios/library/versions/resources-of-an-evicted-pod.yaml",
	"InspectReadsResources":     "../../../scenarios/library/versions/resources-of-an-evicted-pod.yaml",
	"RequestsInUseOfPod":        "../../../scenarios/library/versions/requests-in-use-of-a-pod.yaml",
	"ReinspectionEventAlone":    "../../../scenarios/library/versions/resize-and-removal.yaml",
	"ResizeReasonOfAdmission":   "../../../scenarios/library/versions/resize-in-a-shutdown.yaml",
	"ResizesRetriedWhenPodsEnd": "../../../scenarios/library/versions/resize-when-a-pod-ends.yaml",
}

// firstToDiffer returns a file that differs, with its name or seed.
func firstToDiffer(t *testing.T, flag string, differs func([]byte) (string, bool)) (string, []byte) {
	t.Helper()
	if name := rare[flag]; name != "" {
		file, err := os.ReadFile(name)
		if _, ok := differs(file); err != nil || !ok {
			t.Fatalf("%s does not distinguish the two: %v", name, err)
		}
		return path.Base(name), file
	}
	seed, file := firstSeed(t, random.Options{Late: slices.Contains(ofResizes, flag),
		WithInitResizes: flag == ofInitResizes}, differs)
	return fmt.Sprintf("Seed %d", seed), file
}

// ofResizes are the fields of profiles whose effect needs a resize, which only random scenarios
// with the later features have.
var ofResizes = []string{
	"ResizesWithStarts", "ResizesAreQueued", "ResizeEvents", "PodMemoryRequestFollows",
	"InPlacePodLevelResourcesVerticalScaling",
	ofInitResizes,
}

// ofInitResizes is the field whose effect needs a resize of an init container that is not a
// sidecar.
const ofInitResizes = "InPlacePodVerticalScalingInitContainers"

// firstSeed returns a random scenario that differs.
func firstSeed(t *testing.T, o random.Options, differs func([]byte) (string, bool)) (uint64, []byte) {
	t.Helper()
	const most = 500
	for seed := uint64(1); seed <= most; seed++ {
		file := o.Scenario(seed)
		if _, ok := differs(file); ok {
			return seed, file
		}
	}
	t.Fatalf("none of %d random scenarios distinguishes the two", most)
	return 0, nil
}

// firstDifference returns the kind of the first record that two traces do not share.
func firstDifference(a, b []byte) (string, bool) {
	linesA, linesB := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(linesA), len(linesB)) {
		if !bytes.Equal(linesA[i], linesB[i]) {
			return string(kind(linesA[i])), true
		}
	}
	return "end", len(linesA) != len(linesB)
}

func kind(line []byte) []byte {
	_, after, _ := bytes.Cut(line, []byte(`"kind":"`))
	before, _, _ := bytes.Cut(after, []byte(`"`))
	return before
}
