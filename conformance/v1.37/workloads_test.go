package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// TestWorkloads checks that the loader reports the same errors as the API server for random
// workloads of all kinds, and gives the pods of valid workloads the same defaults.
func TestWorkloads(t *testing.T) {
	const workloads = 6000
	valid, different := 0, 0
	for seed := uint64(0); seed < workloads && different < 10; seed++ {
		r := newRandomPods(seed)
		r.wild /= 3
		manifest, err := json.Marshal(r.workload())
		if err != nil {
			t.Fatal(err)
		}
		theirs, ours := both(t, manifest, int(seed))
		if diff := compare(t, theirs, ours); diff != "" {
			different++
			t.Errorf("seed %d (- API server, + loader):\n%s%s", seed, diff, manifest)
		}
		if theirs.accepts() {
			valid++
		}
	}
	if valid < workloads/10 {
		t.Errorf("only %d of the workloads are valid", valid)
	}
	t.Logf("%d of %d workloads are valid", valid, workloads)
}

// both returns the answers of the API server and the loader. place selects where the loader finds
// the manifest.
func both(t *testing.T, manifest []byte, place int) (theirs, ours *answer) {
	t.Helper()
	var object struct {
		Kind     string
		Metadata struct{ Name, GenerateName string }
	}
	_ = json.Unmarshal(manifest, &object) // if the types do not match, the loader reports it
	ours = load(t, manifest, object.Kind, cmp.Or(object.Metadata.Name, object.Metadata.GenerateName, "unnamed"), place)
	podName := "unknown"
	if ours.pod != nil {
		podName = ours.pod.Name
	}
	return ask(t, manifest, podName), ours
}

// load loads a scenario that uses a manifest from its own stream, from another file, or from a list
// in another file.
func load(t *testing.T, manifest []byte, kind, name string, place int) *answer {
	t.Helper()
	uses := map[string]any{"name": name, "kind": kind, "file": "m.json"}
	if kind != "Pod" && kind != "DaemonSet" {
		uses["replicas"] = 1 // the manifest may have none
	}
	if place%3 == 0 {
		delete(uses, "file")
	}
	scenario, err := json.Marshal(map[string]any{
		"apiVersion": format.APIVersion, "kind": "Scenario", "metadata": map[string]any{"name": "s"},
		"spec": map[string]any{"pods": []any{uses}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file, text := []byte(nil), string(scenario)
	switch place % 3 {
	case 0:
		text = string(manifest) + "\n---\n" + text
	case 1:
		file = manifest
	case 2:
		file = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"List","items":[%s]}`, manifest)
	}
	loaded, err := scenarios.LoadBytes("s.json", []byte(text), func(string) ([]byte, error) {
		if file == nil {
			return nil, fs.ErrNotExist
		}
		return file, nil
	})
	if err == nil {
		return &answer{pod: loaded[0].Plan("v1.37", nil).Pods()[0].Pod}
	}
	a := &answer{}
	var list scenarios.Errors
	if !errors.As(err, &list) {
		t.Fatal(err)
	}
	for _, e := range list {
		a.errs = append(a.errs, strings.TrimPrefix(e.Path, "items[0].")+": "+e.Message)
	}
	return a
}

// compare returns the difference between the answers, or an empty string.
func compare(t *testing.T, theirs, ours *answer) string {
	t.Helper()
	if theirs.decodeErr != nil {
		if len(ours.errs) == 0 {
			return fmt.Sprintf("- cannot be decoded: %s\n+ is accepted\n", theirs.decodeErr)
		}
		return ""
	}
	want, got := normalized(theirs.errs), normalized(ours.errs)
	if slices.ContainsFunc(want, noSelector.MatchString) { // the API server then reports no further errors
		want = slices.DeleteFunc(want, noSelector.MatchString)
		for i := range got { // those of the template are then errors of a pod, in which a negative grace period is 1 s
			got[i] = strings.Replace(got[i], "terminationGracePeriodSeconds (-1)", "terminationGracePeriodSeconds (1)",
				1)
		}
		got = slices.DeleteFunc(got,
			func(e string) bool { return ofTemplate.MatchString(e) && !slices.Contains(want, e) })
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		return diff
	}
	if ours.pod == nil || len(theirs.errs) > 0 {
		return ""
	}
	return gocmp.Diff(indented(t, simulated(theirs.pod)), indented(t, simulated(ours.pod)))
}

var (
	// notRead matches errors about fields that the simulator does not read.
	notRead = regexp.MustCompile(`^spec\.(jobTemplate\.spec\.)?(activeDeadlineSeconds|backoffLimit` +
		`|backoffLimitPerIndex|completionMode|podFailurePolicy|podReplacementPolicy|managedBy` +
		`|ttlSecondsAfterFinished)\b` +
		`|^spec\.(concurrencyPolicy|revisionHistoryLimit|strategy|updateStrategy|serviceName|podManagementPolicy` +
		`|volumeClaimTemplates|minReadySeconds|progressDeadlineSeconds|schedule)\b` +
		`|^spec\.(jobTemplate\.|spec\.|template\.)*(affinity|hostAliases|nodeSelector|securityContext|tolerations` +
		`|topologySpreadConstraints|volumes|priority|priorityClassName|preemptionPolicy|dnsPolicy|hostname|subdomain` +
		`|serviceAccountName|nodeName)\b` +
		`|^spec\.(jobTemplate\.|spec\.|template\.)*(initContainers|containers)\[\d+\]\.` +
		`(resources|securityContext|volumeMounts|env|envFrom|terminationMessagePolicy|ports\[\d+\]\.hostPort)\b` +
		`|^spec\.template\.metadata\.labels(: Invalid value: \{.*|\[(batch\.kubernetes\.io/)?)controller-uid` +
		`|^spec\.selector: .*not auto-generated|(is not supported yet|a list item must not be empty)$`)
	// noSelector matches an error that the API server reports in addition to the actual error in a
	// selector.
	noSelector = regexp.MustCompile(`^spec\.selector: Invalid value: \{.*\}(: invalid label selector)?$`)
	// jobLabel matches an error about a label of a Job's pods, which lists all given and generated
	// labels.
	jobLabel = regexp.MustCompile(`metadata\.labels(\[|\.)(job-name|batch.kubernetes.io/job-name)\]?: Invalid value: ` +
		`\{.*\}: must be`)
	// ofTemplate matches errors that the API server reports only for templates that a selector
	// could match.
	ofTemplate = regexp.MustCompile(`^spec\.template\.spec\.(restartPolicy: |activeDeadlineSeconds: ` +
		`|.*terminationGracePeriodSeconds \(-1\)$)`)
)

// normalized removes errors about fields that the simulator does not read, and known differences in
// wording: labels of a template are also labels of its Job, and a template may have a different
// grace period than its pods.
func normalized(list []string) []string {
	const metadata, template = "metadata.labels: ", "spec.template.metadata.labels: "
	list = slices.Clone(list)
	for i := range list {
		list[i] = strings.Replace(list[i], ".template.labels: ", ".template.metadata.labels: ", 1)
		list[i] = strings.Replace(list[i], ".template.annotations: ", ".template.metadata.annotations: ", 1)
		list[i] = jobLabel.ReplaceAllString(list[i], "metadata.labels.$2: must be")
	}
	return comparable(slices.DeleteFunc(slices.Clone(list), func(e string) bool {
		label, of := strings.CutPrefix(e, metadata)
		short := strings.Replace(e, "terminationGracePeriodSeconds (1)", "terminationGracePeriodSeconds (-1)", 1)
		return notRead.MatchString(e) || short != e && slices.Contains(list, short) ||
			of && slices.Contains(list, template+label)
	}))
}

// simulated returns a copy of a pod with only the fields that affect a simulation and that the
// loader sets. It omits the generated labels of jobs, because no controller generates them in a
// simulation.
func simulated(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.TypeMeta = metav1.TypeMeta{}
	pod.UID, pod.Name, pod.GenerateName, pod.Generation, pod.CreationTimestamp, pod.Status = "", "", "", 0,
		metav1.Time{}, v1.PodStatus{}
	for _, label := range []string{"controller-uid", "job-name", "batch.kubernetes.io/controller-uid",
		"batch.kubernetes.io/job-name"} {
		delete(pod.Labels, label)
	}
	if len(pod.Labels) == 0 {
		pod.Labels = nil
	}
	for i := range pod.Spec.Volumes {
		pod.Spec.Volumes[i].VolumeSource = v1.VolumeSource{} // the simulator mounts all volumes in the same way
	}
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			containers[i].Resources = v1.ResourceRequirements{}
		}
	}
	return pod
}
