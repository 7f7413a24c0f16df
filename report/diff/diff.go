// Package diff says how two runs of a scenario differ, such as with two versions of Kubernetes: the first record that one
// has and the other has not, and what the differences come to.
package diff

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"probesim.dev/trace"
)

// Run is a run to be compared.
type Run struct {
	Records []trace.Record
	End     time.Duration
}

// Side says whose a record is.
type Side int

const (
	Both Side = iota
	A
	B
)

// Line is a record near a difference. Where it is of both sides it is that of the first.
type Line struct {
	Side   Side
	Record *trace.Record
}

// Difference says how the second run differs from the first. Texts of events, which every release words anew, and status
// patches that change nothing that a trace shows are left out.
type Difference struct {
	// First is the time of the first difference, and Around the records near it, oldest first. Both are empty if there is none.
	First  time.Duration
	Around []Line
	// Other is the time of the first thing that happens in one of them and not in the other, at whatever time; OtherAt is
	// false if the same things happen at other times. AroundOther are the records near it, if it is later than First.
	Other       time.Duration
	OtherAt     bool
	AroundOther []Line
	// Words are texts of events that differ and nothing else about them.
	Words []Words
}

// Words are the texts of an event.
type Words struct{ Reason, A, B string }

// Same reports whether nothing differs but words.
func (d *Difference) Same() bool { return len(d.Around) == 0 }

// Compare compares two runs.
func Compare(a, b Run) *Difference {
	d := &Difference{}
	x, y := seen(a), seen(b)
	n := 0
	for n < len(x) && n < len(y) && bytes.Equal(x[n].key, y[n].key) {
		n++
	}
	if n == len(x) && n == len(y) {
		d.Words = words(x, y)
		return d
	}
	d.First = firstTime(x[n:], y[n:])
	d.Around = around(x, y, n, n, sameTimed)
	if d.Other, d.OtherAt = otherwise(x, y); d.OtherAt && d.Other > d.First {
		d.AroundOther = around(x, y, from(x, d.Other), from(y, d.Other), same)
	}
	return d
}

func firstTime(x, y []item) time.Duration {
	switch {
	case len(x) == 0:
		return y[0].record.T
	case len(y) == 0:
		return x[0].record.T
	}
	return min(x[0].record.T, y[0].record.T)
}

// item is a record with what is compared of it.
type item struct {
	record *trace.Record
	key    []byte
}

// seen returns what is compared of a run. What happens at one instant is compared in any order.
func seen(r Run) []item {
	var items []item
	status := map[string][]byte{} // of pods
	for i := range r.Records {
		rec := &r.Records[i]
		if !rec.Kind.Observable() {
			continue
		}
		key := keyOf(*rec)
		if rec.Kind == trace.StatusPatched {
			untimed := timeless(*rec)
			if bytes.Equal(status[rec.Pod], untimed) {
				continue
			}
			status[rec.Pod] = untimed
		}
		items = append(items, item{rec, key})
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Or(cmp.Compare(a.record.T, b.record.T), bytes.Compare(a.key, b.key)) })
	return items
}

// keyOf is what is compared of a record: not the words of an event.
func keyOf(r trace.Record) []byte {
	if r.Kind == trace.Event {
		r.Message = ""
	}
	return trace.AppendObserved(nil, &r)
}

// timeless is what is compared of a record without its times.
func timeless(r trace.Record) []byte {
	r.T, r.Took = 0, 0
	return keyOf(r)
}

// context is how many records are shown before a difference, and of each run after it.
const context = 3

// from returns the index of the first item at or after a time.
func from(items []item, t time.Duration) int {
	n, _ := slices.BinarySearchFunc(items, t, func(i item, t time.Duration) int { return cmp.Compare(i.record.T, t) })
	return n
}

func sameTimed(a, b item) bool { return bytes.Equal(a.key, b.key) }

func same(a, b item) bool { return bytes.Equal(timeless(*a.record), timeless(*b.record)) }

// around returns the records before the n-th of one run and the m-th of the other, where they differ, and the next ones of
// both.
func around(x, y []item, n, m int, equal func(a, b item) bool) []Line {
	var lines []Line
	for _, i := range x[max(0, n-context):n] {
		lines = append(lines, Line{Both, i.record})
	}
	x, y = x[n:min(len(x), n+context)], y[m:min(len(y), m+context)]
	var next []Line
	for _, i := range x {
		side := A
		if slices.ContainsFunc(y, func(j item) bool { return equal(i, j) }) {
			side = Both
		}
		next = append(next, Line{side, i.record})
	}
	for _, i := range y {
		if !slices.ContainsFunc(x, func(j item) bool { return equal(i, j) }) {
			next = append(next, Line{B, i.record})
		}
	}
	slices.SortStableFunc(next, func(a, b Line) int { return cmp.Compare(a.Record.T, b.Record.T) })
	return append(lines, next...)
}

// words returns the texts of events that differ, each pair once, of runs that are the same but for them.
func words(x, y []item) []Words {
	var list []Words
	for i := range x {
		w := Words{x[i].record.Reason, x[i].record.Message, y[i].record.Message}
		if x[i].record.Kind == trace.Event && w.A != w.B && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}
