package outcomes

import "probesim.dev/sim/choose"

// fractions are the jitters besides the canonical 0.5: the shortest and nearly the longest.
var fractions = []float64{0, 0.999}

// deviations returns the changes that make one choice of a run in another way, for the choices from a number on.
func (e *Explorer) deviations(r *Run, from int) []Change {
	var list []Change
	begin := e.after()
	for i := from; i < len(r.decisions); i++ {
		if d := &r.decisions[i]; d.t >= begin {
			for _, m := range d.others() {
				list = append(list, Change{Choices: []Choice{choiceOf(m, i, d.t.Offset())}})
			}
		}
	}
	return list
}

// others returns the alternatives to the canonical choice.
func (d *decision) others() []choose.Made {
	var list []choose.Made
	if d.n == 0 {
		for _, f := range fractions {
			list = append(list, choose.Made{Choice: d.choice, Fraction: f})
		}
		return list
	}
	for i := 1; i < d.n; i++ {
		if d.candidates != nil {
			list = append(list, choose.Made{Choice: d.candidates[i], Before: d.candidates[0]})
			continue
		}
		list = append(list, choose.Made{Choice: d.choice, Value: i})
	}
	return list
}

// pairs has a task for each deviation: it makes each later choice of that run in another way too.
func pairs(e *Explorer) []task {
	if e.options.Deviations < 2 {
		return nil
	}
	firsts := e.deviations(e.canonical, 0)
	var tasks []task
	for i, first := range firsts {
		// The run after a deviation has about as many choices as the canonical one.
		size := 1 + len(firsts) - i + len(firsts)/4
		tasks = append(tasks, task{size: size, do: func(r *runner) { r.pair(first) }})
	}
	return tasks
}

func (r *runner) pair(first Change) {
	run := r.subject.run(first, runOptions{decisions: true, interrupt: r.ctx.Err})
	if run.Err != nil {
		return
	}
	for _, second := range r.deviations(run, first.Choices[0].Index+1) {
		if r.try(first.with(second)) == nil {
			return
		}
	}
}
