package check_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
)

var starts = value.Durations{Ordinary: &value.Interval{Min: 3e9, Max: 29e9}}

// fixable are containers with findings that have a fix.
var fixable = map[string]check.Options{
	"startupProbe: {httpGet: {port: 80}, periodSeconds: 3, " +
		"failureThreshold: 5}": {Start: starts},
	"startupProbe: {httpGet: {port: 80}, periodSeconds: 3, " +
		"failureThreshold: 11}": {Start: starts},
	"startupProbe: {httpGet: {port: 80}, periodSeconds: 1, " +
		"failureThreshold: 31}": {Start: value.Durations{Ordinary: &value.Interval{Min: 3e9, Max: 29500e6}},
		Nodes: typical},
	"livenessProbe: {exec: {command: [live]}, periodSeconds: 2, " +
		"failureThreshold: 40}": {},
	"livenessProbe: {httpGet: {port: 80}, periodSeconds: 2, timeoutSeconds: 5, " +
		"failureThreshold: 40}": {},
	"readinessProbe: {httpGet: {port: 80}, initialDelaySeconds: 20, " +
		"periodSeconds: 2}": {},
	"readinessProbe: {httpGet: {port: 80}, periodSeconds: 10, " +
		"successThreshold: 5}": {},
	"livenessProbe: {httpGet: {port: 80}, periodSeconds: 10, failureThreshold: 3}\nreadinessProbe: {httpGet: " +
		"{port: 80}, periodSeconds: 10, failureThreshold: 3}": {Nodes: typical},
	"livenessProbe: {httpGet: {path: /live, port: 80}, periodSeconds: 2}\nreadinessProbe: {httpGet: {path: " +
		"/ready, port: 80}, periodSeconds: 20, failureThreshold: 5}": {Nodes: typical},
	"livenessProbe: {httpGet: {port: 80}, initialDelaySeconds: 300, periodSeconds: 30}\nreadinessProbe: " +
		"{httpGet: {port: 80}, periodSeconds: 30, failureThreshold: 12}": {Nodes: typical},
	"livenessProbe: {httpGet: {port: 80}, periodSeconds: 60, failureThreshold: 1}\nreadinessProbe: " +
		"{httpGet: {port: 80}, periodSeconds: 7, failureThreshold: 30}": {Nodes: typical},
	"startupProbe: {httpGet: {port: 80}, periodSeconds: 10, failureThreshold: 6}\nlivenessProbe: {httpGet: " +
		"{port: 80}, periodSeconds: 2, failureThreshold: 3}": {Nodes: typical},
	"startupProbe: {httpGet: {port: 80}, initialDelaySeconds: 20, periodSeconds: 2, failureThreshold: " +
		"40}\nlivenessProbe: {httpGet: {port: 80}, periodSeconds: 20}\nlifecycle: {}": {Nodes: typical},
}

var (
	editsField = regexp.MustCompile(`(?:(\w+Probe)\.)?(\w+) (\d+) -> (\d+)`)
	addsProbe  = regexp.MustCompile(`add a startup probe \(every (\d+)s, (\d+) failures(?:, timeout (\d+)s)?\)`)
)

// apply makes the changes that a fix names, as a reader would, and reports whether it names any.
func apply(t *testing.T, fix string, pod *v1.PodSpec, c *v1.Container) (made bool) {
	t.Helper()
	number := func(text string) int32 { n, _ := strconv.Atoi(text); return int32(n) }
	if m := addsProbe.FindStringSubmatch(fix); m != nil {
		p := &v1.Probe{ProbeHandler: c.LivenessProbe.ProbeHandler, PeriodSeconds: number(m[1]),
			FailureThreshold: number(m[2]), TimeoutSeconds: max(1, number(m[3])), SuccessThreshold: 1}
		c.StartupProbe, made = p, true
	}
	probe := ""
	for _, m := range editsField.FindAllStringSubmatch(fix, -1) {
		made = true
		if m[2] == "terminationGracePeriodSeconds" {
			pod.TerminationGracePeriodSeconds = new(int64(number(m[4])))
			continue
		}
		if m[1] != "" {
			probe = m[1]
		}
		p := map[string]*v1.Probe{"startupProbe": c.StartupProbe, "livenessProbe": c.LivenessProbe,
			"readinessProbe": c.ReadinessProbe}[probe]
		field := map[string]*int32{"initialDelaySeconds": &p.InitialDelaySeconds, "periodSeconds": &p.PeriodSeconds,
			"timeoutSeconds": &p.TimeoutSeconds, "failureThreshold": &p.FailureThreshold,
			"successThreshold": &p.SuccessThreshold}[m[2]]
		if *field != number(m[3]) {
			t.Errorf("%s: %s is %d", fix, m[2], *field)
		}
		*field = number(m[4])
	}
	return made
}

// files returns the manifests of the library, and those of fixable.
func files(t *testing.T) map[*input.File][]check.Options {
	t.Helper()
	all := map[*input.File][]check.Options{}
	for container, o := range fixable {
		all[&input.File{Name: "web.yaml", Data: []byte(pod(container))}] = []check.Options{o}
	}
	known := value.Durations{Ordinary: &value.Interval{Min: 40e9, Max: 70e9}}
	stops := value.Durations{Ordinary: &value.Interval{Min: 3e9, Max: 29e9}}
	root := "../../../scenarios/library"
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{"e2e", "found", "versions"}, d.Name()) { // as in the others
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(name) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(name)
		options := []check.Options{{Nodes: typical}}
		if strings.Contains(name, "manifests") {
			options = append(options, check.Options{Nodes: typical, Start: known, Stop: stops})
		}
		all[&input.File{Name: name, Data: data}] = options
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestFixes makes the change of each fix, and checks again: the finding ends,
// no new finding comes, and the cost names each figure that gets worse.
func TestFixes(t *testing.T) {
	applied := map[check.FindingID]int{}
	for f, list := range files(t) {
		for _, o := range list {
			before := report(t, f, o)
			for wi := range before.Workloads {
				for ci := range before.Workloads[wi].Containers {
					c := &before.Workloads[wi].Containers[ci]
					for i := range c.Findings {
						if testFix(t, f, o, &before.Workloads[wi], c, &c.Findings[i]) {
							applied[c.Findings[i].ID]++
						}
					}
				}
			}
		}
	}
	for _, id := range []check.FindingID{check.StartKilled, check.StartTight, check.NoStartupProbe, check.ShortRestart,
		check.NoTimeToRecover, check.ExecTimeout, check.AnswerTimeout, check.OneFailure, check.LongTimeout,
		check.SlowReady, check.ShortGrace} {
		if applied[id] == 0 {
			t.Errorf("no fix of %s was applied", id)
		}
	}
	t.Logf("applied %v", applied)
}

func report(t *testing.T, f *input.File, o check.Options) *check.Report {
	t.Helper()
	c, err := check.New([]input.File{*f}, o)
	if err != nil {
		return &check.Report{} // the library has invalid files, too
	}
	return c.Report()
}

// testFix makes the change of the fix of a finding, and reports whether it has one.
func testFix(t *testing.T, f *input.File, o check.Options, w *check.Workload, c *check.Container,
	found *check.Finding) (made bool) {
	t.Helper()
	o.Modify = func(_ string, m *manifests.Workload) {
		if m.Kind == w.Kind && m.Name == w.Name && m.Pod.Namespace == w.Namespace {
			m.Pod = m.Pod.DeepCopy()
			made = apply(t, found.Fix, &m.Pod.Spec, podutil.Find(m.Pod, c.Name))
		}
	}
	after := report(t, f, o)
	if !made {
		return false
	}
	i := slices.IndexFunc(after.Workloads, func(x check.Workload) bool {
		return x.Kind == w.Kind && x.Name == w.Name && x.Namespace == w.Namespace
	})
	k := slices.IndexFunc(after.Workloads[i].Containers, func(x check.Container) bool { return x.Name == c.Name })
	now := &after.Workloads[i].Containers[k]
	title := fmt.Sprintf("%s %s/%s, %s: %s", f.Name, w.Name, c.Name, found.ID, found.Fix)
	for _, other := range now.Findings {
		same := func(b check.Finding) bool { return b.ID == other.ID }
		if !slices.ContainsFunc(c.Findings, same) && !strings.Contains(found.Cost, other.Summary) {
			t.Errorf("%s: a new finding: %s", title, other.Message)
		}
		if other.ID == found.ID && other.Field == found.Field {
			t.Errorf("%s: the finding stays: %s", title, other.Message)
		}
	}
	for _, l := range c.Limits {
		for _, n := range now.Limits {
			if n.Row == l.Row && l.Always-n.Always > 1.5e9 && l.Always-n.Always > n.Always/20 &&
				!strings.Contains(found.Cost, n.Text) {
				t.Errorf("%s: %s falls from %v to %v, and the cost is %q", title, n.Text, l.Always, n.Always,
					found.Cost)
			}
		}
	}
	return true
}

// TestWrittenDefaults checks that a manifest as the API server prints it, with all defaults, has
// the findings that it has without them.
func TestWrittenDefaults(t *testing.T) {
	checked := 0
	for f, list := range files(t) {
		m, err := manifests.Read(f.Name, f.Data)
		if err != nil {
			continue
		}
		short := report(t, f, list[0])
		for i, w := range m.Workloads {
			if w.Kind != "Pod" && w.Kind != "Deployment" || w.Owner != nil {
				continue
			}
			w.Pod.TypeMeta.Kind, w.Pod.TypeMeta.APIVersion = "Pod", "v1"
			w.Pod.Name = "written"
			data, err := json.Marshal(w.Pod)
			if err != nil {
				t.Fatal(err)
			}
			o := list[0]
			o.IgnoreAnnotations = true
			long, err := check.New([]input.File{{Name: "written.json", Data: data}}, o)
			if err != nil {
				if list, is := err.(scenarios.Errors); !is || len(list) == 0 {
					t.Errorf("%s: %v", f.Name, err)
				}
				continue
			}
			checked++
			if got, want := messages(&long.Report().Workloads[0]), messages(&short.Workloads[i]); got != want {
				t.Errorf("%s, %s: with all defaults\n%s\nwithout them\n%s", f.Name, w.Name, got, want)
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d workloads were checked", checked)
	}
}

// messages returns the findings of a workload as text.
func messages(w *check.Workload) string {
	var list []string
	for _, c := range w.Containers {
		for _, f := range slices.Concat(c.Findings, c.Ignored) {
			list = append(list, fmt.Sprintln(c.Name, f.ID, f.Message, f.Fix))
		}
	}
	slices.Sort(list) // their order is that of the lines
	return strings.Join(list, "")
}

// TestFixWithLessLeft checks a fix for starts that are killed, with which check finds something
// that is less severe: its cost says so.
func TestFixWithLessLeft(t *testing.T) {
	f := &input.File{Name: "web.yaml", Data: []byte(pod("startupProbe: {httpGet: {port: 80}, periodSeconds: 30, " +
		"failureThreshold: 1, timeoutSeconds: 2}\nlivenessProbe: {httpGet: {port: 80}, periodSeconds: 5, " +
		"timeoutSeconds: 2}"))}
	o := check.Options{Start: starts, Nodes: typical}
	r := report(t, f, o)
	for i, found := range r.Workloads[0].Containers[0].Findings {
		if found.ID == check.StartKilled {
			if !strings.Contains(found.Cost, "(short-restart)") ||
				!testFix(t, f, o, &r.Workloads[0], &r.Workloads[0].Containers[0],
					&r.Workloads[0].Containers[0].Findings[i]) {
				t.Errorf("fix %q, cost %q", found.Fix, found.Cost)
			}
			return
		}
	}
	t.Error("no start is killed")
}
