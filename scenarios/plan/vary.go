package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// Variation is a change of a scenario: it runs on a kubelet of another age, has more steps, or has
// other times. The zero value changes nothing.
type Variation struct {
	Uptime *time.Duration // age of the kubelet at t=0; nil: as in the scenario
	Steps  []*format.Step // further steps, after those of the scenario
	Shifts []Shift
}

// Shift moves a time of a scenario.
type Shift struct {
	Path string        // of the time, as in Time
	By   time.Duration // may be negative; a time does not become negative
}

// Time is a time in a scenario that a Shift can move: of a pod, of a step, or of a rule of a
// program.
type Time struct {
	Path  string // such as spec.steps[0].at
	Field string // the last part of the path, such as at
	Value value.Draw
}

// Times returns the times in a scenario that a Shift can move, in the order of the file.
func (s *Scenario) Times() []Time {
	var list []Time
	add := func(of, field string, d *value.Draw) {
		if d != nil {
			list = append(list, Time{of + "." + field, field, *d})
		}
	}
	for i := range s.Spec.Pods {
		p := &s.Spec.Pods[i]
		of := fmt.Sprintf("spec.pods[%d]", i)
		add(of, "at", &p.At)
		for j := range p.Containers {
			for k := range p.Containers[j].Behavior {
				r := &p.Containers[j].Behavior[k]
				of := fmt.Sprintf("%s.containers[%d].behavior[%d]", of, j, k)
				add(of, "after", r.After)
				add(of, "at", r.At)
				add(of, "afterSigterm", r.AfterSigterm)
				add(of, "for", r.For)
			}
		}
	}
	for i, step := range s.Spec.Steps {
		of := fmt.Sprintf("spec.steps[%d]", i)
		add(of, "at", step.At)
		add(of, "after", step.After)
	}
	return list
}

// Vary returns a copy of a scenario with a variation. It returns an error if the scenario has no
// time with the path of a shift.
func (s *Scenario) Vary(v Variation) (*Scenario, error) {
	varied := *s
	varied.Spec.Steps = slices.Concat(s.Spec.Steps, v.Steps)
	if v.Uptime != nil {
		varied.Spec.Kubelet.Uptime = value.Draw{Min: *v.Uptime, Max: *v.Uptime}
	}
	if len(v.Shifts) > 0 {
		varied.Workloads, varied.Spec.Pods = slices.Clone(s.Workloads), slices.Clone(s.Spec.Pods)
	}
	for _, shift := range v.Shifts {
		if !varied.shift(shift) {
			return nil, fmt.Errorf("the scenario has no time %s", shift.Path)
		}
	}
	return &varied, nil
}

// shift moves a time. The scenario has its own slices of pods, workloads and steps.
func (s *Scenario) shift(shift Shift) bool {
	var i, j, k int
	var field string
	if n, _ := fmt.Sscanf(shift.Path, "spec.steps[%d].%s", &i, &field); n == 2 && i >= 0 && i < len(s.Spec.Steps) {
		step := *s.Spec.Steps[i]
		s.Spec.Steps[i] = &step
		switch field {
		case "at":
			return moveWritten(&step.At, shift.By)
		case "after":
			return moveWritten(&step.After, shift.By)
		}
		return false
	}
	if n, _ := fmt.Sscanf(shift.Path, "spec.pods[%d].containers[%d].behavior[%d].%s", &i, &j, &k, &field); n == 4 {
		return s.shiftRule(i, j, k, field, shift.By)
	}
	if n, _ := fmt.Sscanf(shift.Path, "spec.pods[%d].%s", &i, &field); n == 2 && field == "at" && i >= 0 &&
		i < len(s.Spec.Pods) {
		s.Spec.Pods[i].At = moved(s.Spec.Pods[i].At, shift.By)
		w := *s.Workloads[i]
		w.Spec = &s.Spec.Pods[i]
		s.Workloads[i] = &w
		return true
	}
	return false
}

// shiftRule moves a time of a rule: in the specification, and in the compiled program.
func (s *Scenario) shiftRule(i, j, k int, field string, by time.Duration) bool {
	if i < 0 || i >= len(s.Spec.Pods) || j < 0 || j >= len(s.Spec.Pods[i].Containers) {
		return false
	}
	p := &s.Spec.Pods[i]
	p.Containers = slices.Clone(p.Containers)
	c := &p.Containers[j]
	if k < 0 || k >= len(c.Behavior) {
		return false
	}
	c.Behavior = slices.Clone(c.Behavior)
	r := &c.Behavior[k]
	w := *s.Workloads[i]
	w.Spec, w.Containers = p, maps.Clone(w.Containers)
	config := w.Containers[c.Name]
	config.Program.Rules = slices.Clone(config.Program.Rules)
	rule := &config.Program.Rules[k]
	times := map[string]**value.Draw{"after": &r.After, "at": &r.At, "afterSigterm": &r.AfterSigterm, "for": &r.For}
	if times[field] == nil || !moveWritten(times[field], by) {
		return false
	}
	if field == "for" {
		rule.For = (*fakeruntime.Draw)(r.For)
	} else {
		rule.From = fakeruntime.Draw(**times[field])
	}
	w.Containers[c.Name] = config
	s.Workloads[i] = &w
	return true
}

// moveWritten replaces a time that the file has by a later one, or an earlier one if by is
// negative.
func moveWritten(d **value.Draw, by time.Duration) bool {
	if *d == nil {
		return false
	}
	*d = new(moved(**d, by))
	return true
}

func moved(d value.Draw, by time.Duration) value.Draw {
	within := func(t time.Duration) time.Duration { return min(max(t+by, 0), value.MaxDuration) }
	return value.Draw{Min: within(d.Min), Max: within(d.Max)}
}
