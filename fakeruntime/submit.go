package fakeruntime

import (
	"cmp"
	"fmt"
	"slices"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// opState is what the runtime itself keeps in an Op.
type opState struct {
	event     event
	pod       *pod       // that the call is about, if it is known
	sandbox   *sandbox   // that the call is about, if it exists
	container *container // that the call is about, if it exists
	request   request
}

// Submit hands the runtime a call at time now. What is due up to now happens first. If the returned Op
// is Done it is not handed out by Advance. Time never goes back: an earlier now counts as the latest.
func (r *Runtime) Submit(now virtual.Time, c Call) *Op {
	r.run(now)
	op := r.newOp(c)
	r.submitted = op
	switch {
	case r.health.Down && !c.Method.isNetwork():
		r.aim(op)
		r.finish(op, errDown)
	case c.Method.asksProgram():
		r.beginRequest(op)
	default:
		r.begin(op)
	}
	r.run(now)
	r.submitted = nil
	return op
}

// Next returns when Advance must be called next: a time not before the latest one, false for never. Every
// Submit and Advance can change it.
func (r *Runtime) Next() (at virtual.Time, ok bool) {
	if len(r.done) > 0 {
		return r.now, true
	}
	at = r.queue.next()
	return at, at != never
}

// Advance lets everything happen that is due up to now and returns the calls that are done since the
// last Advance, in the order in which they ended. The slice is valid until the next Advance.
func (r *Runtime) Advance(now virtual.Time) []*Op {
	r.run(now)
	clear(r.handed)
	r.done, r.handed = r.handed[:0], r.done
	sortRequests(r.handed)
	return r.handed
}

// sortRequests orders the requests that end at one instant by container and probe: those who began them
// ticked at one instant too, in an order that means nothing.
func sortRequests(ops []*Op) {
	for len(ops) > 1 {
		n := 0
		for n < len(ops) && ops[n].Call.Method.asksProgram() && ops[n].End == ops[0].End {
			n++
		}
		if n > 1 {
			slices.SortStableFunc(ops[:n], func(a, b *Op) int {
				return cmp.Or(cmp.Compare(a.containerID(), b.containerID()), cmp.Compare(probeOrder[a.Call.Probe], probeOrder[b.Call.Probe]))
			})
		}
		ops = ops[max(n, 1):]
	}
}

// probeOrder is the order in which the kubelet makes the workers of a container.
var probeOrder = map[trace.Probe]int{trace.Startup: 0, trace.Readiness: 1, trace.Liveness: 2}

// Release hands back an Op that Submit or Advance has handed out as Done and that nobody will look at
// again, to be used for a later call. The slices in it stay valid. Nothing has to be released.
func (r *Runtime) Release(op *Op) {
	if op.Done && len(r.free) < maxFree {
		*op = Op{}
		r.free = append(r.free, op)
	}
}

// maxFree is how many ops are kept for reuse.
const maxFree = 1 << 12

func (r *Runtime) newOp(c Call) *Op {
	n := len(r.free)
	if n == 0 {
		return &Op{Call: c, Start: r.now}
	}
	op := r.free[n-1]
	r.free = r.free[:n-1]
	op.Call, op.Start = c, r.now
	return op
}

// run lets everything happen up to a time.
func (r *Runtime) run(now virtual.Time) {
	now = min(now, never-1)
	for at := r.queue.next(); at <= now; at = r.queue.next() {
		r.now = at
		r.happen(r.queue.pop())
	}
	r.now = max(r.now, now)
}

func (r *Runtime) happen(e *event) {
	switch {
	case e.process != nil:
		r.end(e.process)
	case e.op.Call.Method.asksProgram():
		r.continueRequest(e.op)
	default:
		r.complete(e.op)
	}
}

// finish ends a call.
func (r *Runtime) finish(op *Op, err error) {
	op.Done, op.End, op.Err, op.Generation = true, r.now, err, r.generation
	if r.recordCalls && !op.Call.Method.isNetwork() {
		r.recordCall(op)
	}
	if op != r.submitted {
		r.done = append(r.done, op)
	}
}

func (r *Runtime) recordCall(op *Op) {
	rec := trace.Record{
		T: op.End, Kind: trace.CRICall, Cause: op.Call.Cause,
		Reason: string(op.Call.Method), Probe: op.Call.Probe, Took: op.End.Sub(op.Start),
	}
	if op.Err != nil {
		rec.Message = op.Err.Error()
	}
	if op.pod != nil {
		rec.Pod = op.pod.Namespace + "/" + op.pod.Name
	}
	if op.container != nil {
		rec.Container, rec.Instance = op.container.Name, op.container.Instance
	}
	r.record(rec)
}

// change notes that a sandbox or container of a pod is not what it was.
func (r *Runtime) change(p *pod) {
	r.generation++
	r.changes = append(r.changes, p)
	r.all.changed()
	p.views.changed()
}

// rpcError is an error as a gRPC client shows it to the kubelet.
func rpcError(code, format string, args ...any) error {
	return fmt.Errorf(rpcPrefix+"%s desc = %s", code, fmt.Sprintf(format, args...))
}

const rpcPrefix = "rpc error: code = "

// Answer returns what a list or status call answers that ends now: for who has seen to its latency
// (Delay) in another way.
func (r *Runtime) Answer(now virtual.Time, c Call) *Op {
	r.run(now)
	op := r.newOp(c)
	r.submitted = op
	r.aim(op)
	switch {
	case r.health.Down:
		r.finish(op, errDown)
	case c.Method == Status:
		r.begin(op)
	default:
		op.Done, op.End, op.Generation, op.Err = true, r.now, r.generation, r.read(op) // who asks notes the call
	}
	r.submitted = nil
	return op
}
