package explore

import (
	"slices"
	"time"

	"probesim.dev/scenarios/plan"
)

// The policies, in the order in which an exploration uses them: those first that find most with few
// runs.
var order = []string{"canonical", "restarts", "moves", "phases", "orders", "seeds", "outages", "meetings", "pairs",
	"products"}

// Policies returns the names of the policies, in the order in which an exploration uses them.
func Policies() []string { return append([]string(nil), order...) }

// order returns the policies in the order for the scenario. In a rollout most depends on latencies,
// which only seeds draw, and on the order of controllers; its trace is long, so that restarts at
// each instant would leave no runs for the others.
func (e *Explorer) order() []string {
	if !e.controlled() {
		return Policies()
	}
	first := []string{"canonical", "seeds", "orders"}
	return append(first, slices.DeleteFunc(Policies(),
		func(name string) bool { return slices.Contains(first, name) })...)
}

func (e *Explorer) controlled() bool { return e.canonical.plan.Scenario.Spec.ControlPlane != nil }

// policies list the tasks of each policy.
var policies = map[string]func(*Explorer) []task{
	"canonical": func(e *Explorer) []task { return []task{single(Change{})} },
	"restarts":  restarts,
	"moves":     moves,
	"phases":    phases,
	"orders":    func(e *Explorer) []task { return changes(e.deviations(e.canonical, 0)) },
	"seeds":     seeds,
	"outages":   outages,
	"meetings":  meetings,
	"pairs":     pairs,
	"products":  products,
}

// Describe says in a line what a policy does.
func Describe(policy string) string {
	return map[string]string{
		"canonical": "the run that 'probesim run' shows",
		"restarts":  "a restart of the kubelet at each instant of the trace, for 1ms and 3s",
		"moves":     "each time in the scenario, moved by 1s and 0.5s and refined",
		"phases":    "20 ages of the kubelet at t=0",
		"orders":    "each choice in each other way, one at a time",
		"seeds":     "random orders and jitters",
		"outages":   "an outage of the API server, and of the runtime, at each instant",
		"meetings": "times moved until a verdict of a probe and a sync of its pod fall together, and random orders " +
			"of that instant",
		"pairs":    "two choices in other ways",
		"products": "a seed together with a restart, a move and a phase",
	}[policy]
}

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
	for _, t := range e.instants {
		if t.Offset() > e.subject.Plan.Duration {
			break
		}
		for _, span := range spans {
			list = append(list, Change{Faults: []Fault{{kind, t.Offset(), span}}})
		}
	}
	return list
}

// outageTime is longer than the timeout of the probes and the period of the kubelet's relists.
const outageTime = 5 * time.Second

func outages(e *Explorer) []task {
	return append(changes(e.faults(APIOutage, outageTime)), changes(e.faults(RuntimeOutage, outageTime))...)
}

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

func phases(e *Explorer) []task { return changes(e.phaseChanges()) }

func (e *Explorer) seedChanges(n int) []Change {
	var list []Change
	for i := range n {
		list = append(list, Change{Seed: new(int64(i + 1))})
	}
	return list
}

func seeds(e *Explorer) []task { return changes(e.seedChanges(e.options.Seeds)) }

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
