package witness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios/format"
)

// File is a scenario file that shows a value of a figure. It needs no other file.
type File struct {
	Name    string // of the scenario; the file should have this name too, with the extension .yaml
	Outcome string // what happens, in a sentence
	Data    []byte
}

// margin is the distance of a scenario from a limit, and that of the outcome from the end of the window of its expectation.
const margin = 100 * time.Microsecond

// files returns the scenario files for a case. A limit has two: in the first one the misfortune ends 0.1 ms before the limit, and in the second one 0.1 ms after it.
// A time has one.
func (f *Figure) files(s *Subject, name string, c *Case, m Measured) ([]File, error) {
	end := m.Outcome + 2*time.Minute
	if !f.limit {
		expect := fmt.Sprintf("first: %v..%v, %s", m.Outcome-margin, m.Outcome+margin, f.expect(s, c))
		w, err := s.file(File{Name: name, Outcome: fmt.Sprintf("%s after %v", f.happens, m.Value)}, c, end, expect)
		return []File{w}, err
	}
	var list []File
	for _, side := range []struct {
		suffix, outcome, window string
		length                  time.Duration
	}{
		{"-below", "does not happen", fmt.Sprintf("never: %v..", c.Event), m.Value - margin},
		{"-above", "happens", fmt.Sprintf("within: %v..", c.Event), m.Value + margin},
	} {
		if side.length <= 0 {
			continue
		}
		w := File{Name: name + side.suffix, Outcome: fmt.Sprintf("after %v this %s: %s", side.length, side.outcome, f.happens)}
		w, err := s.file(w, c.lasting(side.length), end, side.window+", "+f.expect(s, c))
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}

// lasting returns the case with a misfortune that ends. Instances before that of the case keep it.
func (c *Case) lasting(length time.Duration) *Case {
	next := *c
	last := len(c.Rules) - 1
	next.Rules = append([]Rule(nil), c.Rules[:last]...)
	r := c.Rules[last]
	if r.Instance == AnyInstance && c.Instance > 0 {
		for i := range c.Instance {
			earlier := r
			earlier.Instance = i
			next.Rules = append(next.Rules, earlier)
		}
		r.Instance = c.Instance
	}
	r.For = length
	next.Rules = append(next.Rules, r)
	return &next
}

// file writes a case as a scenario file.
func (s *Subject) file(w File, c *Case, end time.Duration, expect string) (File, error) {
	pod, err := block(struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        map[string]any `json:"metadata"`
		Spec            v1.PodSpec     `json:"spec"`
	}{metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, metadata(s.Pod), s.Pod.Spec})
	if err != nil {
		return w, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s%s.\n%s---\n", strings.ToUpper(w.Outcome[:1]), w.Outcome[1:], pod)
	fmt.Fprintf(&b, "apiVersion: %s\nkind: Scenario\nmetadata: {name: %s}\nspec:\n", format.APIVersion, w.Name)
	fmt.Fprintf(&b, "  kubernetesVersions: [%s]\n  duration: %v\n  seeds: %d\n", s.Profile.Version, end.Truncate(time.Second), c.Seed)
	fmt.Fprintf(&b, "  kubelet: {uptime: %v}\n", c.Uptime)
	if delays := notationOf(c.Delays); len(delays) > 0 {
		fmt.Fprintf(&b, "  delays: {%s}\n", strings.Join(delays, ", "))
	}
	fmt.Fprintf(&b, "  pods:\n  - name: %s\n", s.Pod.Name)
	if len(c.Rules) > 0 || c.InitRuns > 0 {
		b.WriteString("    containers:\n")
	}
	if c.InitRuns > 0 {
		fmt.Fprintf(&b, "    - name: %s\n      behavior:\n      - {after: %v, exit: 0}\n", s.init(), c.InitRuns)
	}
	if len(c.Rules) > 0 {
		fmt.Fprintf(&b, "    - name: %s\n      behavior:\n", s.Container)
		for _, r := range c.Rules {
			fmt.Fprintf(&b, "      - {%s}\n", s.notation(r))
		}
	}
	if c.Wall > 0 {
		fmt.Fprintf(&b, "  steps:\n  - {at: 0s, stepClock: {by: %v}}\n", c.Wall)
	}
	fmt.Fprintf(&b, "  expect:\n  - {%s}\n", expect)
	w.Data = b.Bytes()
	return w, nil
}

// block writes a value in the block style of YAML, with the names of its fields in JSON.
func block(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var plain any
	if err := yaml.Unmarshal(data, &plain); err != nil {
		return nil, err
	}
	return yaml.Marshal(plain)
}

// metadata is the part of a pod's metadata that a manifest has.
func metadata(pod *v1.Pod) map[string]any {
	m := map[string]any{"name": pod.Name}
	if pod.Namespace != "" && pod.Namespace != "default" {
		m["namespace"] = pod.Namespace
	}
	if len(pod.Labels) > 0 {
		m["labels"] = pod.Labels
	}
	return m
}

// notationOf writes delays as in a scenario file.
func notationOf(d fakeruntime.Delays) []string {
	var list []string
	delays := reflect.ValueOf(d)
	for field := range reflect.TypeFor[format.Delays]().Fields() {
		if own := delays.FieldByName(field.Name); own.IsValid() && !own.IsNil() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			list = append(list, fmt.Sprintf("%s: %v", name, own.Interface().(*fakeruntime.Draw).Min))
		}
	}
	return list
}

// notation writes a rule as in a scenario file.
func (s *Subject) notation(r Rule) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if r.Instance != AnyInstance {
		add("instance: %d", r.Instance)
	}
	switch {
	case r.Clock == fakeruntime.AtScenario:
		add("at: %v", r.From)
	case r.Clock == fakeruntime.AfterSigterm:
		add("afterSigterm: %v", r.From)
	case r.From > 0:
		add("after: %v", r.From)
	}
	if r.For > 0 {
		add("for: %v", r.For)
	}
	switch {
	case r.NeverExits:
		add("exit: never")
	case r.Misfortune == "":
		add("exit: %d", r.Exit)
	default:
		for _, p := range s.probes() {
			word := string(r.Misfortune)
			if r.Misfortune == bounds.Refuse && s.probe(p).Exec != nil {
				word = "fail"
			}
			add("%s: %s", p, word)
		}
	}
	return strings.Join(parts, ", ")
}
