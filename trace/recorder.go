package trace

import (
	"iter"
	"slices"
)

// chunk is the number of records in one slice. A long trace uses several slices: growing it does
// not copy earlier records.
const chunk = 1 << 12

// The memory that Size counts, in bytes.
const (
	// RecordSize is the size of a Record, of its copy in Records, and of its place in an index.
	RecordSize = 2*200 + 64
	// textSize is the overhead of a distinct text.
	textSize = 64
	// statusSize and containerSize are the sizes of a PodStatus and a ContainerStatus.
	statusSize, containerSize = 72, 72
	// detailsSize, conditionSize and containerDetailsSize are the sizes of a PodDetails with an IP,
	// of a Condition with its message, and of a ContainerDetails with its times.
	detailsSize, conditionSize, containerDetailsSize = 100, 150, 150
	// growth is the growth after which the Recorder calls the functions of OnGrowth.
	growth = 64 << 10
)

// Recorder numbers records and keeps them in memory or passes them on. The zero value keeps
// observable records in memory. A Recorder is not safe for concurrent use.
type Recorder struct {
	// Internal includes internal records.
	Internal bool
	// Details adds the details of statuses.
	Details bool
	// Also are internal kinds to include even if Internal is false.
	Also []Kind
	// Rules, if set, receives each record of kind Behavior, even if the Recorder does not include
	// it. The record is valid only during the call.
	Rules func(*Record)
	// Room, if set, is a number of records to which a run is expected to come. Fewer slices, and no
	// copy in Records, are needed then.
	Room int
	// Buffer, if it has capacity, holds the first records, and the Recorder overwrites what it
	// held. A program that makes many runs, and is done with the records of each before the next,
	// allocates it once.
	Buffer []Record
	// Sink, if set, receives each record, and the Recorder keeps none in memory. The record is
	// valid only during the call.
	Sink func(*Record)

	steps     int64
	chunks    [][]Record
	all       []Record // cache of Records
	observers []func(*Record)
	passed    Record // the record passed to Sink

	texts    map[string]string // equal texts of records share their memory
	status   *PodStatus        // the status of the last record that has one
	size     int64
	reported int64 // size at the last call of watchers
	watchers []func(size int64)
}

// Wants reports whether Add includes records of a kind, or passes them to Rules. Callers can skip
// building other records.
func (r *Recorder) Wants(k Kind) bool { return r.includes(k) || k == Behavior && r.Rules != nil }

func (r *Recorder) includes(k Kind) bool {
	return r.Internal || k.Observable() || slices.Contains(r.Also, k)
}

// Add sets the step of a record, keeps or passes on the record, and returns the step. It returns 0
// for a kind that the Recorder does not include.
func (r *Recorder) Add(rec Record) int64 {
	if rec.Kind == Behavior && r.Rules != nil {
		passed := rec // not rec, which then would be on the heap in each call
		r.Rules(&passed)
	}
	if !r.includes(rec.Kind) {
		return 0
	}
	r.steps++
	step := r.steps // an observer can add records
	rec.Step = step
	kept := r.keep(rec)
	for _, observe := range r.observers {
		observe(kept)
	}
	return step
}

func (r *Recorder) keep(rec Record) *Record {
	if r.Sink != nil {
		r.passed = rec
		r.Sink(&r.passed)
		return &r.passed
	}
	r.share(&rec)
	n := len(r.chunks)
	if n == 0 || len(r.chunks[n-1]) == cap(r.chunks[n-1]) {
		size := chunk
		if n < 3 {
			size = 64 << (2 * n) // the first chunks are smaller, because most traces are short
		}
		if n == 0 && r.Room > 0 {
			size = min(r.Room, chunk)
		}
		if n == 0 && cap(r.Buffer) > 0 {
			r.chunks = append(r.chunks, r.Buffer[:0])
		} else {
			r.chunks = append(r.chunks, make([]Record, 0, size))
		}
		r.size += int64(cap(r.chunks[n])) * RecordSize
		n++
	}
	last := &r.chunks[n-1]
	*last = append(*last, rec)
	if r.size-r.reported >= growth {
		r.grown()
	}
	return &(*last)[len(*last)-1]
}

// share replaces the texts of a record by equal texts of earlier records: a failing probe has the
// same message each time, which may be 10 KiB long. It also counts the memory of new texts and of
// the status.
func (r *Recorder) share(rec *Record) {
	if rec.Message != "" {
		rec.Message = r.text(rec.Message)
	}
	if rec.Kind != ProbeExecuted { // a probe worker uses the same string each time
		rec.Pod = r.text(rec.Pod)
	}
	if rec.Status != nil && rec.Status != r.status {
		r.status = rec.Status
		r.size += rec.Status.memory()
	}
	if rec.Object != nil {
		r.size += rec.Object.memory()
	}
}

func (r *Recorder) text(s string) string {
	if known, ok := r.texts[s]; ok {
		return known
	}
	if r.texts == nil {
		r.texts = map[string]string{}
	}
	r.texts[s] = s
	r.size += textSize + int64(len(s))
	return s
}

func (s *PodStatus) memory() int64 {
	size := statusSize + containerSize*int64(len(s.Containers)) + s.Details.memory()
	for i := range s.Containers {
		if s.Containers[i].Details != nil {
			size += containerDetailsSize
		}
	}
	return size
}

func (r *Recorder) grown() {
	r.reported = r.size
	for _, f := range r.watchers {
		f(r.size)
	}
}

// Size returns an estimate of the memory that the kept records take, in bytes. It includes the copy
// that [Recorder.Records] makes and an index by pod. Records share equal texts. The same records
// have the same size on all machines.
func (r *Recorder) Size() int64 { return r.size }

// OnGrowth calls f with the Size each time it has grown by 64 KiB or more. The functions of Observe
// are called after f.
func (r *Recorder) OnGrowth(f func(size int64)) { r.watchers = append(r.watchers, f) }

// Usage is the memory that the records of a kind take.
type Usage struct {
	Kind    Kind
	Records int64
	Size    int64 // in bytes, with texts and statuses that records of other kinds do not use before
}

// Largest returns the kind of record that takes most of Size.
func (r *Recorder) Largest() Usage {
	again := Recorder{}
	index := map[Kind]int{}
	var all []Usage
	for rec := range r.All() {
		i, ok := index[rec.Kind]
		if !ok {
			i = len(all)
			index[rec.Kind] = i
			all = append(all, Usage{Kind: rec.Kind})
		}
		before, copied := again.size, *rec
		again.share(&copied)
		all[i].Records++
		all[i].Size += RecordSize + again.size - before
	}
	var largest Usage
	for _, u := range all {
		if u.Size > largest.Size {
			largest = u
		}
	}
	return largest
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
