package explore

import (
	"slices"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
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
// If the deviation changes neither the trace nor what there is to choose after its instant, only
// the other choices of the same instant remain: the later ones are those of the canonical run.
func pairs(e *Explorer) []task {
	if e.options.Deviations < 2 {
		return nil
	}
	firsts := e.deviations(e.canonical, 0)
	canonical := e.subject.run(Change{}, runOptions{decisions: true}) // with observable records only
	var tasks []task
	for i, left := 0, e.left; i < len(firsts) && left > 0; i++ {
		seconds := e.seconds(firsts[i], canonical)
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

// seconds returns the changes that make a later choice in another way too.
func (e *Explorer) seconds(first Change, canonical *Run) []Change {
	run := e.subject.run(first, runOptions{decisions: true})
	if run.Err != nil {
		return nil
	}
	until, after := run.decisionsAt(virtual.At(first.Choices[0].At))
	_, written := canonical.decisionsAt(virtual.At(first.Choices[0].At))
	if !e.options.plain && run.Hash() == canonical.Hash() && slices.EqualFunc(after, written, decision.equal) {
		run.decisions = until
	}
	var list []Change
	for _, second := range e.deviations(run, first.Choices[0].Index+1) {
		list = append(list, first.with(second))
	}
	return list
}

// decisionsAt splits the choices that came up at the end of an instant.
func (r *Run) decisionsAt(t virtual.Time) (until, after []decision) {
	i := slices.IndexFunc(r.decisions, func(d decision) bool { return d.t > t })
	if i < 0 {
		return r.decisions, nil
	}
	return r.decisions[:i], r.decisions[i:]
}

// equal reports whether two runs have the same to choose at the same instant, whatever the number
// of choices before.
func (d decision) equal(other decision) bool {
	same := func(a, b choose.Choice) bool { return a.Kind == b.Kind && a.Key == b.Key }
	return d.t == other.t && d.n == other.n && same(d.choice, other.choice) &&
		slices.EqualFunc(d.candidates, other.candidates, same)
}
