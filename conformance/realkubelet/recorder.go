package realkubelet

import (
	"sync"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// recorder keeps the trace of a run. The kubelet's goroutines write to it at once.
type recorder struct {
	now func() virtual.Time

	mu     sync.Mutex
	trace  trace.Recorder
	closed bool
}

// add stamps a record with the current time and keeps it. Observers are called under the lock.
func (r *recorder) add(rec trace.Record) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0
	}
	rec.T = r.now()
	return r.trace.Add(rec)
}

func (r *recorder) observe(f func(*trace.Record)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace.Observe(f)
}

// close ends the trace; what the kubelet does while it is torn down is not part of it.
func (r *recorder) close() []trace.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	records := r.trace.Records()
	r.trace = trace.Recorder{} // goroutines of the kubelet that never end hold r
	return records
}
