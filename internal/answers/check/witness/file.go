package witness

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios/format"
)

// File is a scenario file that shows a value of a figure. It needs no other file.
type File struct {
	Name    string // of the scenario; the file should have this name too, with the extension .yaml
	Outcome string // what happens, in a sentence
	Data    []byte
}

// margin is the distance of a scenario from a limit, and of the outcome from the ends of the window
// of its expectation.
const margin = 100 * time.Microsecond

// files returns the scenario files for a case. A limit has two: in the first one the misfortune
// ends 0.1 ms before the limit, and in the second one 0.1 ms after it. A time has one.
func (f *Figure) files(s *Subject, name string, c *Case, m Measured) []File {
	duration := (m.Outcome + 2*time.Minute).Truncate(time.Second)
	if !f.Limit {
		window := fmt.Sprintf("first: %v..%v", m.Outcome-margin, m.Outcome+margin)
		return []File{s.file(name, fmt.Sprintf("%s after %v", f.says(), m.Value), c, duration,
			f.Outcome.expectation(s, c, window))}
	}
	var list []File
	for _, side := range []struct {
		suffix, says, window string
		length               time.Duration
	}{{"-below", "does not happen", "never", m.Value - margin}, {"-above", "happens", "within", m.Value + margin}} {
		if side.length <= 0 {
			continue
		}
		ends := *c
		ends.Rules = slices.Clone(c.Rules)
		ends.Rules[len(c.Rules)-1].For = side.length.String()
		outcome := fmt.Sprintf("after %v this %s: %s", side.length, side.says, f.says())
		list = append(list, s.file(name+side.suffix, outcome, &ends, duration,
			f.Outcome.expectation(s, c, fmt.Sprintf("%s: %v..", side.window, c.Event))))
	}
	return list
}

// file writes a case as a scenario file.
func (s *Subject) file(name, outcome string, c *Case, duration time.Duration, expect string) File {
	meta := metav1.ObjectMeta{Name: s.Pod.Name, Namespace: s.Pod.Namespace, Labels: s.Pod.Labels}
	if meta.Namespace == v1.NamespaceDefault {
		meta.Namespace = ""
	}
	pod, err := manifests.Document(&v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta,
		Spec: s.Pod.Spec})
	if err != nil {
		panic(err) // each pod can be written
	}
	var b bytes.Buffer
	line := func(text string, args ...any) { fmt.Fprintf(&b, text+"\n", args...) }
	line("# %s%s.\n%s---", strings.ToUpper(outcome[:1]), outcome[1:], pod)
	line("apiVersion: %s\nkind: Scenario\nmetadata: {name: %s}\nspec:", format.APIVersion, name)
	line("  kubernetesVersions: [%s]\n  duration: %v\n  seeds: %d", s.Profile.Version, duration, c.Seed)
	line("  kubelet: {uptime: %v}", c.Uptime)
	if delays := notation(c.Delays); delays != "" {
		line("  delays: {%s}", delays)
	}
	line("  pods:\n  - name: %s", s.Pod.Name)
	behavior := s.behavior(c)
	if len(behavior) > 0 {
		line("    containers:")
	}
	for _, name := range slices.Sorted(maps.Keys(behavior)) {
		line("    - name: %s\n      behavior:", name)
		for _, r := range behavior[name] {
			line("      - %s", r)
		}
	}
	if c.Wall > 0 {
		line("  steps:\n  - {at: 0s, stepClock: {by: %v}}", c.Wall)
	}
	line("  expect:\n  - {%s}", expect)
	return File{name, outcome, b.Bytes()}
}

// notation writes delays as in a scenario file.
func notation(d fakeruntime.Delays) string {
	var list []string
	delays := reflect.ValueOf(d)
	for field := range reflect.TypeFor[format.Delays]().Fields() {
		if own := delays.FieldByName(field.Name); own.IsValid() && !own.IsNil() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			list = append(list, fmt.Sprintf("%s: %v", name, own.Interface().(*fakeruntime.Draw).Min))
		}
	}
	return strings.Join(list, ", ")
}
