package explore

import (
	"slices"

	"probesim.dev/node"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// fractions are the jitters besides the canonical 0.5: the shortest and nearly the longest.
var fractions = []float64{0, 0.999}

// deviations returns the changes that make one choice of a run in another way, for the choices from
// a number on.
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
// If the node is in the same state at the end of the instant as without the deviation, the later
// instants are those of the canonical run, and only the other choices of the same instant remain.
func pairs(e *Explorer) []task {
	if e.options.Deviations < 2 {
		return nil
	}
	firsts := e.deviations(e.canonical, 0)
	states := e.states(firsts)
	var tasks []task
	for i, left := 0, e.left; i < len(firsts) && left > 0; i++ {
		seconds := e.seconds(firsts[i], states)
		if len(seconds) > 0 {
			tasks = append(tasks, task{size: len(seconds), do: func(r *runner) {
				for _, c := range seconds {
					r.try(c)
				}
			}})
		}
		if left -= len(seconds); left <= 0 && i < len(firsts)-1 {
			tasks = append(tasks, task{size: 1, do: func(*runner) {}}) // which says that some are left out
		}
	}
	return tasks
}

// moment is the state of a node at the end of an instant, and the trace until then.
type moment struct {
	state uint64
	trace string
}

func momentOf(n *node.Node) moment {
	var h trace.Hasher
	for r := range n.Trace().All() {
		h.Add(r)
	}
	return moment{stateOf(n), h.Sum()}
}

// states returns the states of the canonical run at the instants of deviations. It is nil if the
// search is not reduced: controllers keep what they do next in the stacks of their syncs, which a
// state does not have.
func (e *Explorer) states(deviations []Change) map[virtual.Time]moment {
	if e.options.plain || e.controlled() {
		return nil
	}
	var instants []virtual.Time
	for _, d := range deviations {
		if t := virtual.At(d.Choices[0].At); t >= 0 {
			instants = append(instants, t)
		}
	}
	states := map[virtual.Time]moment{}
	e.subject.run(Change{}, runOptions{decisions: true, instants: slices.Compact(instants),
		at: func(n *node.Node, t virtual.Time) bool {
			states[t] = momentOf(n)
			return false
		}})
	return states
}

// seconds returns the changes that make a later choice in another way too.
func (e *Explorer) seconds(first Change, states map[virtual.Time]moment) []Change {
	t := virtual.At(first.Choices[0].At)
	o := runOptions{decisions: true, pods: e.pods}
	if canonical, known := states[t]; known {
		o.instants = []virtual.Time{t}
		o.at = func(n *node.Node, _ virtual.Time) bool { return momentOf(n) == canonical }
	}
	run := e.subject.run(first, o)
	if run.Err != nil {
		return nil
	}
	var list []Change
	for _, second := range e.deviations(run, first.Choices[0].Index+1) {
		list = append(list, first.with(second))
	}
	return list
}
