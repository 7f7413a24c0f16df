package scenarios

import (
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/trace"
)

// Driver does in a world what a plan says from outside: it adds the pods and does the steps.
type Driver struct {
	plan    *Plan
	world   World
	present map[string]bool // pods that the API server has, by namespace/name
	waiting []*waitingStep
	reached []bool // by index of the step
}

// waitingStep is a step whose moment has not come.
type waitingStep struct {
	index int
	watch func(*trace.Record) bool
}

// Drive has the world do what the plan says: pods come at their times, and steps at theirs or after
// their moment. It is called before the run begins.
func (p *Plan) Drive(w World) *Driver {
	d := &Driver{plan: p, world: w, present: map[string]bool{}, reached: make([]bool, len(p.Scenario.Spec.Steps))}
	w.Observe(d.observe)
	for _, pod := range p.Pods() {
		w.At(pod.At, func() { w.AddPod(pod.Pod, pod.Program) })
	}
	for i, step := range p.Scenario.Spec.Steps {
		d.schedule(i, step)
	}
	return d
}

// Unreached returns the steps that did not happen, after the run: their moment never came, or there was
// nothing left to do them to.
func (d *Driver) Unreached() []*Step {
	var steps []*Step
	for i, step := range d.plan.Scenario.Spec.Steps {
		if !d.reached[i] {
			steps = append(steps, step)
		}
	}
	return steps
}

func (d *Driver) schedule(i int, step *Step) {
	if step.At != nil {
		d.world.At(draw(*step.At, d.plan.Seed, "step at", i), func() { d.do(i, step) })
		return
	}
	var pods func(string) bool
	if step.Since.Pod != "" {
		keys := d.plan.Scenario.PodKeys(step.Since.Pod)
		pods = func(pod string) bool { return slices.Contains(keys, pod) }
	}
	d.waiting = append(d.waiting, &waitingStep{index: i, watch: step.Since.NewWatcher(pods).Observe})
}

// observe looks for the moments that steps wait for.
func (d *Driver) observe(r *trace.Record) {
	switch r.Kind {
	case trace.PodAdded:
		d.present[r.Pod] = true
	case trace.PodRemoved:
		delete(d.present, r.Pod)
	}
	var come []*waitingStep
	d.waiting = slices.DeleteFunc(d.waiting, func(s *waitingStep) bool {
		now := s.watch(r)
		if now {
			come = append(come, s)
		}
		return now
	})
	for _, s := range come {
		d.after(r.T, s.index)
	}
}

// after schedules a step whose moment was at t.
func (d *Driver) after(t time.Duration, i int) {
	step := d.plan.Scenario.Spec.Steps[i]
	if step.After != nil {
		t += draw(*step.After, d.plan.Seed, "step after", i)
	}
	d.world.At(t, func() { d.do(i, step) })
}

// do does a step. It is reached if there was something to do it to.
func (d *Driver) do(i int, step *Step) {
	for _, key := range d.plan.Scenario.PodKeys(step.Delete.Pod) {
		if d.present[key] {
			d.reached[i] = true
			namespace, name, _ := strings.Cut(key, "/")
			d.world.DeletePod(namespace, name, step.Delete.GracePeriodSeconds)
		}
	}
}
