package bounds_test

import (
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
	"probesim.dev/internal/scenarios/text"
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
	f := text.File{
		Comments: []string{strings.ToUpper(outcome[:1]) + outcome[1:] + "."}, Objects: append(pod, "---\n"...),
		Name: name,
		Spec: [][2]string{
			{"kubernetesVersions: [" + s.Profile.Version + "]"}, {"duration: " + duration.String()},
			{fmt.Sprintf("seeds: %d", c.Seed)},
			{fmt.Sprintf("kubelet: {uptime: %v}", c.Uptime)},
		},
	}
	if delays := notation(c.Delays); delays != "" {
		f.Spec = append(f.Spec, [2]string{"delays: {" + delays + "}"})
	}
	entry, behavior := text.Pod{Name: s.Pod.Name}, s.behavior(c)
	for _, name := range slices.Sorted(maps.Keys(behavior)) {
		program := text.List{Key: name}
		for _, r := range behavior[name] {
			program.Lines = append(program.Lines, "- "+r.String())
		}
		entry.Containers = append(entry.Containers, program)
	}
	steps := text.List{Key: "steps"}
	if c.Wall > 0 {
		steps.Lines = []string{fmt.Sprintf("- {at: 0s, stepClock: {by: %v}}", c.Wall)}
	}
	f.Pods, f.Lists = []text.Pod{entry}, []text.List{steps, {Key: "expect", Lines: []string{"- {" + expect + "}"}}}
	return File{name, outcome, f.Bytes()}
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

// says is the outcome in a sentence.
func (f *Figure) says() string {
	if f.Start != "" {
		return string(f.Outcome) + " while it starts"
	}
	return string(f.Outcome)
}

// expectation returns the expectation that the outcome of a case happens in a window, or not.
func (o Outcome) expectation(s *Subject, c *Case, window string) string {
	matches := fmt.Sprintf("becomes: {ready: %v}", o == Ready)
	if o == Stopped {
		matches = fmt.Sprintf("instance: %d, record: {kind: ContainerStopping}", c.Instance)
	}
	return fmt.Sprintf("%s, container: %s, %s", window, s.Container, matches)
}
