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
	s.eachTime(func(path, field string, d *value.Draw, _ *fakeruntime.Draw) {
		list = append(list, Time{path, field, *d})
	})
	return list
}

// eachTime calls visit for each time that a Shift can move. In a rule, compiled is the beginning of
// the window in the program; it is nil for other times, and for the length of the window, which
// programs share with the specification.
func (s *Scenario) eachTime(visit func(path, field string, d *value.Draw, compiled *fakeruntime.Draw)) {
	add := func(of, field string, d *value.Draw, compiled *fakeruntime.Draw) {
		if d != nil {
			visit(of+"."+field, field, d, compiled)
		}
	}
	for i := range s.Spec.Pods {
		p := &s.Spec.Pods[i]
		of := fmt.Sprintf("spec.pods[%d]", i)
		add(of, "at", &p.At, nil)
		for j := range p.Containers {
			c := &p.Containers[j]
			rules := s.Workloads[i].Containers[c.Name].Program.Rules
			for k := range c.Behavior {
				r, from := &c.Behavior[k], &rules[k].From
				of := fmt.Sprintf("%s.containers[%d].behavior[%d]", of, j, k)
				add(of, "after", r.After, from)
				add(of, "at", r.At, from)
				add(of, "afterSigterm", r.AfterSigterm, from)
				add(of, "for", r.For, nil)
			}
		}
	}
	for i, step := range s.Spec.Steps {
		of := fmt.Sprintf("spec.steps[%d]", i)
		add(of, "at", step.At, nil)
		add(of, "after", step.After, nil)
	}
}

// Vary returns a copy of a scenario with a variation. It returns an error if the scenario has no
// time with the path of a shift.
func (s *Scenario) Vary(v Variation) (*Scenario, error) {
	varied := *s
	if v.Uptime != nil {
		varied.Spec.Kubelet.Uptime = value.Draw{Min: *v.Uptime, Max: *v.Uptime}
	}
	if len(v.Shifts) > 0 {
		varied.copyTimes()
	}
	for _, shift := range v.Shifts {
		found := false
		varied.eachTime(func(path, _ string, d *value.Draw, compiled *fakeruntime.Draw) {
			if path == shift.Path {
				*d, found = moved(*d, shift.By), true
				if compiled != nil {
					*compiled = fakeruntime.Draw(*d)
				}
			}
		})
		if !found {
			return nil, fmt.Errorf("the scenario has no time %s", shift.Path)
		}
	}
	varied.Spec.Steps = slices.Concat(varied.Spec.Steps, v.Steps)
	return &varied, nil
}

// copyTimes replaces the times that a Shift can move, and all that leads to them, by copies.
func (s *Scenario) copyTimes() {
	s.Spec.Pods, s.Workloads, s.Spec.Steps = slices.Clone(s.Spec.Pods), slices.Clone(s.Workloads),
		slices.Clone(s.Spec.Steps)
	for i := range s.Spec.Pods {
		p, w := &s.Spec.Pods[i], *s.Workloads[i]
		p.Containers = slices.Clone(p.Containers)
		w.Spec, w.Containers, s.Workloads[i] = p, maps.Clone(w.Containers), &w
		for j := range p.Containers {
			c := &p.Containers[j]
			c.Behavior = slices.Clone(c.Behavior)
			config := w.Containers[c.Name]
			config.Program.Rules = slices.Clone(config.Program.Rules)
			w.Containers[c.Name] = config
			for k := range c.Behavior {
				r := &c.Behavior[k]
				copyDraws(&r.After, &r.At, &r.AfterSigterm, &r.For)
				config.Program.Rules[k].For = (*fakeruntime.Draw)(r.For)
			}
		}
	}
	for i := range s.Spec.Steps {
		step := *s.Spec.Steps[i]
		copyDraws(&step.At, &step.After)
		s.Spec.Steps[i] = &step
	}
}

func copyDraws(list ...**value.Draw) {
	for _, d := range list {
		if *d != nil {
			*d = new(**d)
		}
	}
}

func moved(d value.Draw, by time.Duration) value.Draw {
	within := func(t time.Duration) time.Duration { return min(max(t+by, 0), value.MaxDuration) }
	return value.Draw{Min: within(d.Min), Max: within(d.Max)}
}
