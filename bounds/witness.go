package bounds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

// Witness is a scenario file that shows an end of a bound. It needs no other file.
type Witness struct {
	Name    string // of the scenario; the file should have this name too, with the extension .yaml
	Outcome string // what happens, in a sentence
	File    []byte
}

// margin is the distance of a witness from a limit and from other events: events at one instant have no fixed order.
const margin = 100 * time.Microsecond

// asked is the question that a case answers.
type asked struct {
	limit   bool                                 // the answer is how long the misfortune may last; otherwise, when the outcome happens
	probes  []trace.Probe                        // that decide; nil: those that can stop the instance
	measure func(*Subject, Case) (sample, error) // of the subject, or another one of the same container
	expect  string                               // the matcher of the outcome in a scenario file
	happens string                               // the outcome in a sentence: "the container is stopped"
}

// Witnesses returns the scenario files for a case in which a bound has its least or its greatest value: AtLeast or AtGreatest.
// The name begins with lowercase letters, digits and hyphens.
//
// A limit has two witnesses: in the first one the misfortune ends 0.1 ms before the limit, and in the second one 0.1 ms after it.
// A time has one. A witness expects its outcome, and Witnesses has run it. Its times can differ from those of the case by some
// tenths of a millisecond, so that no two events that decide are at the same instant.
//
// The error is one of the context, or says that the case has no witness.
func (s *Subject) Witnesses(name string, c Case) ([]Witness, error) {
	if c.question == nil {
		return nil, errors.New("there is no witness for this bound")
	}
	c, found, err := s.offTies(c)
	if err != nil {
		return nil, err
	}
	q, value := c.question, found.bound.Least
	if value == Never {
		return nil, errors.New("there is no witness for what never happens")
	}
	end := found.outcome + 2*time.Minute
	if !q.limit {
		expectation := fmt.Sprintf("first: %v..%v, %s", found.outcome-margin, found.outcome+margin, q.expect)
		w, err := s.witness(Witness{Name: name, Outcome: fmt.Sprintf("%s after %v", q.happens, value)}, c, end, expectation)
		return []Witness{w}, err
	}
	var list []Witness
	for _, side := range []struct {
		suffix, outcome string
		length          time.Duration
		window          string
	}{
		{"-below", "does not happen", value - margin, fmt.Sprintf("never: %v..", c.Event)},
		{"-above", "happens", value + margin, fmt.Sprintf("within: %v..", c.Event)},
	} {
		if side.length <= 0 {
			continue
		}
		w := Witness{Name: name + side.suffix, Outcome: fmt.Sprintf("after %v this %s: %s", side.length, side.outcome, q.happens)}
		if w, err = s.witness(w, c.lasting(side.length), end, side.window+", "+q.expect); err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}

// lasting returns the case with a misfortune that ends. Instances before that of the case keep it.
func (c Case) lasting(length time.Duration) Case {
	c = c.clone()
	last := len(c.Rules) - 1
	if r := c.Rules[last]; r.Instance == AnyInstance && c.Instance > 0 {
		r.Instance = c.Instance
		for i := range c.Instance {
			earlier := c.Rules[last]
			earlier.Instance = i
			c.Rules = append(c.Rules, earlier)
		}
		c.Rules[last] = r
	}
	c.Rules[last].For = length
	return c
}

// witness writes a scenario file and checks that its expectation holds.
func (s *Subject) witness(w Witness, c Case, end time.Duration, expectation string) (Witness, error) {
	var err error
	if w.File, err = s.scenario(w, c, end, expectation); err != nil {
		return w, err
	}
	loaded, err := scenarios.LoadBytes(w.Name+".yaml", w.File, nil)
	if err != nil {
		return w, fmt.Errorf("bug: the witness is not valid: %w", err)
	}
	plan := loaded[0].Plan(s.Profile.Version, c.Seed)
	ctx := s.Context
	if ctx == nil {
		ctx = context.Background()
	}
	s.Runs++
	r := simulate.Run(ctx, plan, simulate.Options{})
	if r.Err != nil {
		return w, r.Err
	}
	for i := range r.Results {
		if result := &r.Results[i]; result.Outcome != expect.Held {
			return w, fmt.Errorf("bug: the witness %s does not show what it should: %v", w.Name, result.Failures)
		}
	}
	return w, nil
}

// scenario writes a case as a scenario file.
func (s *Subject) scenario(w Witness, c Case, end time.Duration, expect string) ([]byte, error) {
	pod, err := block(struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        map[string]any `json:"metadata"`
		Spec            v1.PodSpec     `json:"spec"`
	}{metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, metadata(s.pod), s.pod.Spec})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s%s.\n%s---\n", strings.ToUpper(w.Outcome[:1]), w.Outcome[1:], pod)
	fmt.Fprintf(&b, "apiVersion: %s\nkind: Scenario\nmetadata: {name: %s}\nspec:\n", format.APIVersion, w.Name)
	fmt.Fprintf(&b, "  kubernetesVersions: [%s]\n  duration: %v\n", s.Profile.Version, end.Truncate(time.Second))
	if c.Seed != nil {
		fmt.Fprintf(&b, "  seeds: %d\n", *c.Seed)
	}
	fmt.Fprintf(&b, "  kubelet: {uptime: %v}\n", c.Uptime)
	if delays := delayNotation(c); len(delays) > 0 {
		fmt.Fprintf(&b, "  delays: {%s}\n", strings.Join(delays, ", "))
	}
	fmt.Fprintf(&b, "  pods:\n  - name: %s\n", s.pod.Name)
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
	return b.Bytes(), nil
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

// delayNotation writes the delays of a case as in a scenario file. A range becomes its middle, because a seed would draw from it.
func delayNotation(c Case) []string {
	var list []string
	delays := reflect.ValueOf(c.Delays)
	for field := range reflect.TypeFor[format.Delays]().Fields() {
		if own := delays.FieldByName(field.Name); own.IsValid() && !own.IsNil() {
			d := own.Interface().(*fakeruntime.Draw)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			list = append(list, fmt.Sprintf("%s: %v", name, d.Min+(d.Max-d.Min)/2))
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
		for _, p := range []trace.Probe{trace.Liveness, trace.Readiness, trace.Startup} {
			if probe := s.Probe(p); probe != nil {
				word := string(r.Misfortune)
				if r.Misfortune == Refuse && probe.Exec != nil {
					word = "fail"
				}
				add("%s: %s", p, word)
			}
		}
	}
	return strings.Join(parts, ", ")
}
