package realkubelet

import (
	"sync"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// recorder keeps the trace of a run. The kubelet's goroutines write to it concurrently.
type recorder struct {
	now func() virtual.Time

	mu     sync.Mutex
	trace  trace.Recorder
	closed bool
}

// add sets the time of a record and keeps the record. It calls observers while it holds the lock.
func (r *recorder) add(rec trace.Record) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0
	}
	rec.T = r.now()
	return r.trace.Add(rec)
}

func (r *recorder) wantsDetails() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trace.Details
}

func (r *recorder) observe(f func(*trace.Record)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace.Observe(f)
}

// fold adds the records of the requests that are lost. Later observers see them after the record
// that ends or begins a loss.
func (r *recorder) fold(requests *traffic.Fold) {
	r.observe(func(rec *trace.Record) {
		for _, lost := range requests.Observe(rec) {
			r.trace.Add(lost)
		}
	})
}

// close ends the trace and returns the records. Later records, while the kubelet is torn down, are
// dropped.
func (r *recorder) close() []trace.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	records := r.trace.Records()
	r.trace = trace.Recorder{} // free the records: goroutines of the kubelet that never end refer to r
	return records
}
