package fakeruntime

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Each run uses the same examples, unless -rapid.seed selects others.
var _ = flag.Set("rapid.seed", "1")

// outcomeOf drives a run to its end and returns everything observable. Before each call it advances
// the time in steps: to each Next, or if step is 0 directly to the call.
func outcomeOf(t *rapid.T, run randomRun, step time.Duration, release bool) (log []string) {
	run.options.Record = func(r trace.Record) int64 {
		log = append(log, fmt.Sprintf("%+v", r))
		return int64(len(log))
	}
	run.options.RecordCalls = true
	rt := New(run.options)
	for _, p := range run.pods {
		rt.AddPod(p)
	}
	d := &driver{t: t, rt: rt, open: map[*Op]bool{}, release: release, ends: map[int]string{}}
	for i, c := range run.calls {
		d.advance(c.at, step)
		d.now = c.at
		op := rt.Submit(c.at, c.call)
		op.Waiter = i
		d.open[op] = true
		if op.Done {
			d.done(op)
		}
	}
	d.advance(lastInstant, step)
	for i := range run.calls {
		log = append(log, fmt.Sprintf("%d %s", i, d.ends[i]))
	}
	return log
}

// lastInstant is later than all calls of a random run.
const lastInstant = virtual.Time(time.Hour)

type driver struct {
	t       *rapid.T
	rt      *Runtime
	now     virtual.Time
	open    map[*Op]bool
	ends    map[int]string
	release bool
}

func (d *driver) advance(to virtual.Time, step time.Duration) {
	for step > 0 {
		next, ok := d.rt.Next()
		if !ok || next > to {
			break
		}
		if next < d.now {
			d.t.Fatalf("at %v the next time is %v", d.now, next)
		}
		d.now = min(to, max(next, d.now.Add(step)))
		d.deliver()
	}
	if step == 0 && to < lastInstant {
		return
	}
	d.now = to
	d.deliver()
}

func (d *driver) deliver() {
	for _, op := range d.rt.Advance(d.now) {
		d.done(op)
	}
}

func (d *driver) done(op *Op) {
	if !d.open[op] || !op.Done || op.End < op.Start || op.End > d.now {
		d.t.Fatalf("at %v: a call is not done, or done twice or in the future: %+v", d.now, op)
	}
	delete(d.open, op)
	d.ends[op.Waiter.(int)] = fmt.Sprint(op.End, outcome(op), op.TimedOut, op.Sandboxes, op.Containers)
	if op.Call.Method.IsNetwork() {
		d.checkReply(op)
	}
	if limit := op.Call.Deadline; limit > 0 && op.End.Sub(op.Start) > limit {
		d.t.Fatalf("a call took %v with a deadline of %v", op.End.Sub(op.Start), limit)
	}
	if d.release {
		d.rt.Release(op)
	}
}

// checkReply checks the fields of the result of a network request against each other.
func (d *driver) checkReply(op *Op) {
	took, limit := op.End.Sub(op.Start), op.Call.Timeout
	wrong := false
	switch {
	case op.TimedOut:
		wrong = op.Reply != 0 || took != limit || op.Answer != nil
	case op.Reply == NoHandshake:
		wrong = took != op.Call.Handshake || !op.Unanswered || !op.Accepted || limit > 0 && took >= limit
	case op.Reply == Answered:
		wrong = op.Answer == nil || op.Unanswered || limit > 0 && took >= limit
	case op.Reply == Refused:
		wrong = (op.Accepted || !op.Unanswered) && op.Call.Method != TCPSocket
	default:
		wrong = op.Reply != HungUp || !op.Accepted
	}
	if op.Err != nil {
		d.t.Fatalf("a request has an error of the runtime: %v", op.Err)
	}
	if wrong {
		d.t.Fatalf("impossible result of a request: %+v", op)
	}
}

// The steps in which time advances, and the reuse of Ops, have no effect on the events, their times
// and their order.
func TestStepsHaveNoEffect(t *testing.T) { rapid.Check(t, anySteps) }

func FuzzAnySteps(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anySteps)) }

func anySteps(t *rapid.T) {
	run := genRun.Draw(t, "run")
	want := outcomeOf(t, run, 1, false)
	for _, step := range []time.Duration{0, 1, grid, 10 * time.Second} {
		got := outcomeOf(t, run, step, true)
		if i := firstDifference(want, got); i >= 0 {
			t.Fatalf("in steps of %v, line %d:\n got %v\nwant %v", step, i, tail(got, i), tail(want, i))
		}
	}
}

// The events of one pod, including its random values, do not depend on other pods.
func TestPodsAreIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := genRun.Draw(t, "run")
		alone := run
		alone.calls = slices.Clone(run.calls)
		alone.calls = slices.DeleteFunc(alone.calls, func(c timedCall) bool { return c.pod != "a" })
		want, got := recordsOf(t, alone), recordsOf(t, run)
		if i := firstDifference(want, got); i >= 0 {
			t.Fatalf("line %d:\n got %v\nwant %v", i, tail(got, i), tail(want, i))
		}
	})
}

// recordsOf returns the records of a run that are about pod a, calls included.
func recordsOf(t *rapid.T, run randomRun) (records []string) {
	run.options.RecordCalls = true
	run.options.Record = func(r trace.Record) int64 {
		if r.Pod == "default/a" {
			records = append(records, fmt.Sprintf("%+v", r))
		}
		return 0
	}
	rt := New(run.options)
	for _, p := range run.pods {
		rt.AddPod(p)
	}
	for _, c := range run.calls {
		rt.Submit(c.at, c.call)
	}
	rt.Advance(lastInstant)
	return records
}

// Each instance starts once and exits at most once, and lists agree with the records.
func TestInstancesStartAndExitOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := genRun.Draw(t, "run")
		running := map[string]bool{}
		run.options.Record = func(r trace.Record) int64 {
			key := fmt.Sprintf("%s/%s#%d", r.Pod, r.Container, r.Instance)
			if was, seen := running[key]; (r.Kind == trace.ContainerStarted) == seen || seen && !was {
				t.Fatalf("%s of %s, which was seen: %v, runs: %v", r.Kind, key, seen, was)
			}
			running[key] = r.Kind != trace.ContainerExited
			return 0
		}
		rt := New(run.options)
		for _, p := range run.pods {
			rt.AddPod(p)
		}
		for _, c := range run.calls {
			rt.Submit(c.at, c.call)
		}
		list := rt.Submit(lastInstant, Call{Method: ListContainers, Running: true})
		rt.Advance(lastInstant.Add(time.Minute))
		listed := map[string]bool{}
		for _, c := range list.Containers {
			listed[fmt.Sprintf("%s/%s/%s#%d", c.Namespace, c.PodName, c.Name, c.Instance)] = true
		}
		for key, runs := range running {
			if runs != listed[key] {
				t.Fatalf("%s runs: %v, is listed: %v", key, runs, listed[key])
			}
		}
	})
}

// firstDifference returns the index of the first difference of a and b, or -1.
func firstDifference(a, b []string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// tail returns a list without its first i items.
func tail(list []string, i int) []string { return list[min(i, len(list)):] }
