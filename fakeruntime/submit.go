package fakeruntime

import (
	"cmp"
	"fmt"
	"slices"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// opState is the part of an Op that only the runtime uses.
type opState struct {
	event     event
	expiry    event      // the deadline, if it is before the end
	abandoned bool       // the caller has gone
	fault     *Fault     // that makes the call fail; nil: none
	returns   bool       // a StopContainer whose process has ended
	reserved  string     // the name in the runtime of the object to create
	pod       *pod       // the pod of the call; nil: unknown
	sandbox   *sandbox   // nil: none
	container *container // nil: none
	request   request
}

// Submit begins a call at time now. Events that are due until now happen first. If Done is true in
// the result, Advance does not return the Op again. Time does not go back: a now before the latest
// time counts as the latest time.
func (r *Runtime) Submit(now virtual.Time, c Call) *Op {
	r.run(now)
	op := r.newOp(c)
	r.submitted = op
	switch {
	case (r.health.Down || c.Unconnected) && !c.Method.IsNetwork():
		r.resolve(op)
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

// Next returns the time at which the driver must call Advance next, or false if there is no such
// time. It is not before the latest time. Every Submit and Advance can change it.
func (r *Runtime) Next() (at virtual.Time, ok bool) {
	if len(r.done) > 0 {
		return r.now, true
	}
	at = r.queue.next()
	return at, at != never
}

// Advance moves the time to now, lets everything happen that is due until then, and returns the
// calls that ended since the last Advance, in the order of their ends. The slice is valid until the
// next Advance.
func (r *Runtime) Advance(now virtual.Time) []*Op {
	r.run(now)
	clear(r.handed)
	r.done, r.handed = r.handed[:0], r.done
	sortRequests(r.handed)
	return r.handed
}

// sortRequests sorts the requests that end at one instant by container and probe, because the order
// in which they began at one instant has no meaning.
func sortRequests(ops []*Op) {
	for len(ops) > 1 {
		n := 0
		for n < len(ops) && ops[n].Call.Method.asksProgram() && ops[n].End == ops[0].End {
			n++
		}
		if n > 1 {
			slices.SortStableFunc(ops[:n], func(a, b *Op) int {
				return cmp.Or(cmp.Compare(a.containerID(), b.containerID()),
					cmp.Compare(probeOrder[a.Call.Probe], probeOrder[b.Call.Probe]))
			})
		}
		ops = ops[max(n, 1):]
	}
}

// probeOrder is the order in which the kubelet creates the probe workers of a container.
var probeOrder = map[trace.Probe]int{trace.Startup: 0, trace.Readiness: 1, trace.Liveness: 2}

// Release returns an Op that is done for reuse by a later call. The caller must not use the Op
// again; its slices stay valid. Calling Release is optional.
func (r *Runtime) Release(op *Op) {
	if op.Done && len(r.free) < maxFree {
		*op = Op{}
		r.free = append(r.free, op)
	}
}

// maxFree is the number of Ops that the runtime keeps for reuse.
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

// run handles all events until a time.
func (r *Runtime) run(now virtual.Time) {
	now = min(now, never-1)
	for at := r.queue.next(); at <= now; at = r.queue.next() {
		r.now = at
		r.handle(r.queue.pop())
	}
	r.now = max(r.now, now)
}

func (r *Runtime) handle(e *event) {
	switch {
	case e.process != nil:
		r.process(e.process)
	case e.expires:
		r.expire(e.op)
	case e.op.Call.Method.asksProgram():
		r.continueRequest(e.op)
	default:
		r.complete(e.op)
	}
}

// finish ends a call.
func (r *Runtime) finish(op *Op, err error) {
	op.Done, op.End, op.Err, op.Generation = true, r.now, err, r.generation
	r.queue.cancel(&op.expiry)
	if err != nil {
		op.release()
	}
	if op.abandoned {
		return
	}
	if op.fault != nil {
		r.fail(op)
	}
	if r.recordCalls && !op.Call.Method.IsNetwork() {
		r.recordCall(op)
	}
	if op != r.submitted {
		r.done = append(r.done, op)
	}
}

// RecordsCalls reports whether each call leaves a record: Options.RecordCalls.
func (r *Runtime) RecordsCalls() bool { return r.recordCalls }

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

// markChanged notes a change of a sandbox or container of a pod.
func (r *Runtime) markChanged(p *pod) {
	r.generation++
	r.changes = append(r.changes, p)
	r.all.changed()
	p.views.changed()
}

// rpcError is an error with the text that a gRPC client shows.
func rpcError(code, format string, args ...any) error {
	return fmt.Errorf(rpcPrefix+"%s desc = %s", code, fmt.Sprintf(format, args...))
}

const rpcPrefix = "rpc error: code = "

// Answer returns the result of a list or status call that ends now. It is for drivers that handle
// the latency (Delay) of the call themselves.
func (r *Runtime) Answer(now virtual.Time, c Call) *Op {
	r.run(now)
	op := r.newOp(c)
	r.submitted = op
	r.resolve(op)
	switch {
	case r.health.Down || c.Unconnected:
		r.finish(op, errDown)
	case c.Method == Status:
		r.begin(op)
	default:
		op.Done, op.End, op.Generation, op.Err = true, r.now, r.generation, r.read(op) // the driver records the call
	}
	r.submitted = nil
	return op
}
