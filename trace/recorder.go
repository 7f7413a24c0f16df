package trace

import "iter"

// chunk is the number of records in one slice. A long trace uses several slices: growing it does not copy earlier records.
const chunk = 1 << 12

// Recorder numbers records and keeps them in memory or passes them on. The zero value keeps observable records in memory. A
// Recorder is not safe for concurrent use.
type Recorder struct {
	// Internal includes internal records.
	Internal bool
	// Also, if set, is an internal kind to include even if Internal is false.
	Also Kind
	// Sink, if set, receives each record, and the Recorder keeps none in memory. The record is valid only during the call.
	Sink func(*Record)

	steps     int64
	chunks    [][]Record
	all       []Record // cache of Records
	observers []func(*Record)
	passed    Record // the record passed to Sink
}

// Wants reports whether Add includes records of a kind. Callers can skip building other records.
func (r *Recorder) Wants(k Kind) bool { return r.Internal || k.Observable() || k == r.Also }

// Add sets the step of a record, keeps or passes on the record, and returns the step. It returns 0 for a kind that the Recorder
// does not include.
func (r *Recorder) Add(rec Record) int64 {
	if !r.Wants(rec.Kind) {
		return 0
	}
	r.steps++
	rec.Step = r.steps
	kept := r.keep(rec)
	for _, observe := range r.observers {
		observe(kept)
	}
	return r.steps
}

func (r *Recorder) keep(rec Record) *Record {
	if r.Sink != nil {
		r.passed = rec
		r.Sink(&r.passed)
		return &r.passed
	}
	n := len(r.chunks)
	if n == 0 || len(r.chunks[n-1]) == cap(r.chunks[n-1]) {
		// The first chunks are smaller, because most traces are short.
		r.chunks = append(r.chunks, make([]Record, 0, min(chunk, 64<<(2*n))))
		n++
	}
	last := &r.chunks[n-1]
	*last = append(*last, rec)
	return &(*last)[len(*last)-1]
}

// Observe calls f for each later record, after the Recorder has kept it or passed it to Sink.
func (r *Recorder) Observe(f func(*Record)) { r.observers = append(r.observers, f) }

// All returns an iterator over the records in memory, in order, without copying them.
func (r *Recorder) All() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		for _, c := range r.chunks {
			for i := range c {
				if !yield(&c[i]) {
					return
				}
			}
		}
	}
}

// Records returns the records in memory, in order. It copies a long trace; use All to avoid that.
func (r *Recorder) Records() []Record {
	if len(r.chunks) == 1 {
		return r.chunks[0]
	}
	if n := r.kept(); len(r.all) != n {
		r.all = make([]Record, 0, n)
		for _, c := range r.chunks {
			r.all = append(r.all, c...)
		}
	}
	return r.all
}

func (r *Recorder) kept() int {
	n := 0
	for _, c := range r.chunks {
		n += len(c)
	}
	return n
}

// Len returns the number of records that Add has included.
func (r *Recorder) Len() int64 { return r.steps }
