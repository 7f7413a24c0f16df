package explore

import (
	"time"

	"probesim.dev/scenarios/plan"
)

// Moves of a time: by up to moveSpan in both directions in steps of moveStep, whole seconds first,
// and halved between neighbors with different outcomes down to moveFinest.
const (
	moveSpan   = 10 * time.Second
	moveStep   = 500 * time.Millisecond
	moveFinest = 10 * time.Millisecond
	moveSize   = int(2*moveSpan/moveStep) + 60 // runs for one time at most
)

// moves has a task for each time in the scenario.
func moves(e *Explorer) []task {
	var tasks []task
	for _, t := range e.subject.Plan.Scenario.Times() {
		tasks = append(tasks, task{size: moveSize, do: func(r *runner) { r.sweep(t) }})
	}
	return tasks
}

// sweep moves a time and refines between neighbors with different outcomes.
func (r *runner) sweep(t plan.Time) {
	known := map[time.Duration]string{0: r.canonical.History.withoutExpectations().ID()}
	at := func(by time.Duration) string {
		if id, ok := known[by]; ok {
			return id
		}
		if t.Value.Min+by < 0 || t.Value.Max+by > r.subject.Plan.Duration {
			return ""
		}
		run := r.try(Change{Shifts: []plan.Shift{{Path: t.Path, By: by}}})
		if run == nil {
			return ""
		}
		known[by] = run.History.withoutExpectations().ID()
		return known[by]
	}
	for _, first := range []time.Duration{time.Second, moveStep} {
		for by := first; by <= moveSpan; by += time.Second {
			at(by)
			at(-by)
		}
	}
	for by := -moveSpan; by < moveSpan; by += moveStep {
		r.refine(by, by+moveStep, at)
	}
}

// refine halves an interval whose ends have different outcomes.
func (r *runner) refine(from, to time.Duration, at func(time.Duration) string) {
	a, b := at(from), at(to)
	if a == "" || b == "" || a == b || to-from <= moveFinest {
		return
	}
	middle := (from + to) / 2
	if at(middle) == "" {
		return
	}
	r.refine(from, middle, at)
	r.refine(middle, to, at)
}

// withoutExpectations returns the history without the verdicts of expectations, which runs with
// moved times do not have.
func (h *History) withoutExpectations() *History {
	return &History{Pods: h.Pods, Objects: h.Objects, Broken: h.Broken, Error: h.Error}
}
