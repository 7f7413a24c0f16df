package explore

import (
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// policies are in the order in which an exploration uses them: those first that find most with few
// runs.
var policies = []struct {
	name, about string
	tasks       func(*Explorer) []task
}{
	{"canonical", "the run that 'probesim run' shows", func(*Explorer) []task { return []task{single(Change{})} }},
	{"restarts", "a restart of the kubelet at each instant of the trace, for 1ms and 3s", func(e *Explorer) []task {
		return changes(e.faults(KubeletRestart, quickRestart, slowRestart))
	}},
	{"moves", "each time in the scenario, moved by 1s and 0.5s and refined", moves},
	{"phases", "20 ages of the kubelet at t=0", func(e *Explorer) []task { return changes(e.phaseChanges()) }},
	{"orders", "each choice in each other way, one at a time",
		func(e *Explorer) []task { return changes(e.deviations(e.canonical, 0)) }},
	{"seeds", "random orders and jitters",
		func(e *Explorer) []task { return changes(e.seedChanges(e.options.Seeds)) }},
	{"outages", "an outage of the API server, and of the runtime, at each instant", func(e *Explorer) []task {
		return changes(append(e.faults(APIOutage, outageTime), e.faults(RuntimeOutage, outageTime)...))
	}},
	{"calls", "each call to the runtime and the API server fails, or is done without an answer", failedCalls},
	{"meetings", "times moved until a verdict of a probe and a sync of its pod fall together, and random orders of " +
		"that instant", meetings},
	{"pairs", "two choices in other ways", pairs},
	{"products", "a seed together with a restart, a move and a phase", products},
}

// Policies returns the names of the policies, in the order in which an exploration uses them.
func Policies() []string {
	var names []string
	for _, p := range policies {
		names = append(names, p.name)
	}
	return names
}

// Describe says in a line what a policy does.
func Describe(policy string) string { return policies[slices.Index(Policies(), policy)].about }

// order returns the policies of the options in the order for the scenario. In a rollout most
// depends on latencies, which only seeds draw, and on the order of controllers; its trace is long,
// so that restarts at each instant would leave no runs for the others.
func (e *Explorer) order() []string {
	names := Policies()
	if e.controlled() {
		first := []string{"canonical", "seeds", "orders"}
		names = append(first,
			slices.DeleteFunc(names, func(name string) bool { return slices.Contains(first, name) })...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(e.options.Policies, name) })
}

func (e *Explorer) controlled() bool { return e.canonical.plan.Scenario.Spec.ControlPlane != nil }

// single returns the task that makes one run.
func single(c Change) task {
	return task{size: 1, do: func(r *runner) { r.try(c) }}
}

func changes(list []Change) []task {
	var tasks []task
	for _, c := range list {
		tasks = append(tasks, single(c))
	}
	return tasks
}

// faults returns changes with a fault at each instant of the canonical run.
func (e *Explorer) faults(kind FaultKind, spans ...time.Duration) []Change {
	var list []Change
	last := virtual.Time(-1)
	for i := range e.canonical.Records {
		t := e.canonical.Records[i].T
		if t <= last || t.Offset() > e.subject.Plan.Duration {
			continue
		}
		last = t
		for _, span := range spans {
			list = append(list, Change{Faults: []Fault{{Kind: kind, At: t.Offset(), For: span}}})
		}
	}
	return list
}

// failedCalls returns changes in which one call of the canonical run fails: first those about pods,
// then those about the node.
func failedCalls(e *Explorer) []task {
	var ofPods, ofNode []Change
	known := map[string]bool{}
	for i := range e.canonical.Records {
		rec := &e.canonical.Records[i]
		call := fakeruntime.NameOf(fakeruntime.Method(rec.Reason))
		// A step at an instant follows the calls that begin there.
		at := rec.T.Add(-rec.Took - time.Millisecond).Offset().Truncate(time.Millisecond)
		if rec.Kind != trace.CRICall || call == "" || at < 0 || at > e.subject.Plan.Duration {
			continue
		}
		for _, done := range []bool{false, true} {
			f := Fault{Kind: FailedCall, At: at, Call: &FailedCallOf{call, rec.Pod, rec.Container, done}}
			if key := f.String(); known[key] || done && !fakeruntime.Method(rec.Reason).Changes() {
				continue
			} else {
				known[key] = true
			}
			list := &ofPods
			if rec.Pod == "" {
				list = &ofNode
			}
			*list = append(*list, Change{Faults: []Fault{f}})
		}
	}
	return changes(append(ofPods, ofNode...))
}

// Downtimes of the kubelet: the shortest that a scenario file can have, and that of a step without
// one.
const (
	quickRestart = time.Millisecond
	slowRestart  = 3 * time.Second
)

// outageTime is longer than the timeout of the probes and the period of the kubelet's relists.
const outageTime = 5 * time.Second

// phaseCount is the number of ages of the kubelet, spread evenly over a second and over ten: the
// tickers of the kubelet have periods of one, two and ten seconds, and statuses have whole seconds.
const phaseCount = 20

func (e *Explorer) phaseChanges() []Change {
	var list []Change
	uptime := e.subject.Plan.Uptime
	for i := range phaseCount {
		step := 50 * time.Millisecond
		if i >= phaseCount/2 {
			step = time.Second + 50*time.Millisecond
		}
		moved := uptime + time.Duration(i+1)*step
		list = append(list, Change{Uptime: &moved})
	}
	return list
}

func (e *Explorer) seedChanges(n int) []Change {
	var list []Change
	for i := range n {
		list = append(list, Change{Seed: new(int64(i + 1))})
	}
	return list
}

// productSeeds is the number of seeds for each product of other changes.
const productSeeds = 10

// products combines kinds of changes: some restarts, moves and phases, each with seeds. The changes
// are spread evenly over those of their policy.
func products(e *Explorer) []task {
	some := func(list []Change, n int) []Change {
		var chosen []Change
		for i := range n {
			if k := i * len(list) / n; len(list) > 0 {
				chosen = append(chosen, list[k])
			}
		}
		return chosen
	}
	var moved []Change
	for _, t := range e.subject.Plan.Scenario.Times() {
		for _, by := range []time.Duration{-500 * time.Millisecond, 500 * time.Millisecond} {
			moved = append(moved, Change{Shifts: []plan.Shift{{Path: t.Path, By: by}}})
		}
	}
	restart, phase := some(e.faults(KubeletRestart, quickRestart, slowRestart), 20), some(e.phaseChanges(), 4)
	moved = some(moved, 8)
	var bases []Change
	for _, a := range restart {
		bases = append(bases, a)
		for _, b := range some(moved, 2) {
			bases = append(bases, a.with(b))
		}
	}
	for _, b := range moved {
		bases = append(bases, b)
		for _, c := range phase {
			bases = append(bases, b.with(c))
		}
	}
	var list []Change
	for _, base := range bases {
		for _, seed := range e.seedChanges(productSeeds) {
			list = append(list, base.with(seed))
		}
	}
	return changes(list)
}

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
