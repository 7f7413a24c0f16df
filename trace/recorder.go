package trace

import "iter"

// chunk is how many records are kept together, so that a long trace is never copied as it grows.
const chunk = 1 << 12

// Recorder numbers records and keeps them. The zero value keeps the observable ones in memory.
type Recorder struct {
	// Internal keeps the internal records too.
	Internal bool
	// Also, if set, is an internal kind of which the records are kept whatever Internal says.
	Also Kind
	// Sink, if set, is handed each record instead of keeping it in memory. The record is valid only
	// during the call.
	Sink func(*Record)

	steps     int64
	chunks    [][]Record
	all       []Record // what Records returned last
	observers []func(*Record)
	handed    Record // to Sink
}

// Wants reports whether a record of this kind would be kept, so that a caller can avoid making it.
func (r *Recorder) Wants(k Kind) bool { return r.Internal || k.Observable() || k == r.Also }

// Add numbers a record, keeps it and returns its step, or 0 if it is not kept.
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
		r.handed = rec
		r.Sink(&r.handed)
		return &r.handed
	}
	n := len(r.chunks)
	if n == 0 || len(r.chunks[n-1]) == cap(r.chunks[n-1]) {
		// The first chunk grows as slices do: most traces are short.
		r.chunks = append(r.chunks, make([]Record, 0, min(chunk, 64<<(2*n))))
		n++
	}
	last := &r.chunks[n-1]
	*last = append(*last, rec)
	return &(*last)[len(*last)-1]
}

// Observe calls f for each record from now on, after it was kept.
func (r *Recorder) Observe(f func(*Record)) { r.observers = append(r.observers, f) }

// All goes over what was kept, in order, without copying it.
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

// Records returns what was kept, in order. It copies a long trace; All does not.
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

// Len returns how many records were added.
func (r *Recorder) Len() int64 { return r.steps }
