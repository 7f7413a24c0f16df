package explore

import (
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios/plan"
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
