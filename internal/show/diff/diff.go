// Package diff compares runs of one scenario, for example with two versions of Kubernetes.
//
// [Compare] finds the first record that differs between two runs, and the first difference that is
// more than a shift in time. [Changed] compares summaries of runs: first Ready, restarts, exits and
// numbers of probes.
package diff

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Run is one run to compare.
type Run struct {
	Name    string         // such as its version
	Records []trace.Record // oldest first; Compare ignores internal records
	End     virtual.Time   // virtual time at which the run ended
}

// Side names the runs that contain a record.
type Side string

const (
	Both Side = "both"
	A    Side = "a"
	B    Side = "b"
)

// Line is a record near a difference. If both runs contain it, Record belongs to the first run.
type Line struct {
	Side   Side
	Record *trace.Record
}

// MarshalJSON writes the record as traces have it.
func (l Line) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"in":%q,"record":%s}`, l.Side, trace.AppendJSON(nil, l.Record)), nil
}

// Difference describes how the second run differs from the first. These do not count as
// differences: messages, whose wording changes with each release, status patches without a visible
// change, and the order of records at one instant.
type Difference struct {
	A    string `json:"a"` // the names of the runs
	B    string `json:"b"`
	Same bool   `json:"same"` // except for messages
	// First is the virtual time of the first difference, nil if the runs are the same.
	First *virtual.Time `json:"first,omitempty"`
	// Behavior is the virtual time of the first record that one run has and the other does not have
	// at any time, and would not have after its end either. It is nil if the runs differ in timing
	// only.
	Behavior *virtual.Time `json:"otherwise,omitempty"`
	// Around holds the records around First, oldest first, and AroundBehavior those around Behavior
	// if that is later.
	Around         []Line `json:"records,omitempty"`
	AroundBehavior []Line `json:"-"`
	// Messages lists the messages that differ. Compare sets it only if the runs are the same
	// otherwise.
	Messages []Message `json:"messages,omitempty"`
}

// Message is a message that differs between two runs: that of an event, of a probe run, or of
// another action with a result.
type Message struct {
	Of string `json:"of"` // the reason of the event, or the action and its result: "liveness failure"
	A  string `json:"a"`
	B  string `json:"b"`
}

// Compare returns how run b differs from run a.
func Compare(a, b Run) *Difference {
	d := &Difference{A: a.Name, B: b.Name}
	x, y := visible(a), visible(b)
	n := 0
	for n < len(x) && n < len(y) && bytes.Equal(x[n].key, y[n].key) {
		n++
	}
	if d.Same = n == len(x) && n == len(y); d.Same {
		d.Messages = messages(x, y)
		return d
	}
	d.First = new(firstTime(x[n:], y[n:]))
	d.Around = around(x, y, n, n, equal)
	if d.Behavior = divergence(x, y, a.End, b.End); d.Behavior != nil && *d.Behavior > *d.First {
		d.AroundBehavior = around(x, y, firstFrom(x, *d.Behavior), firstFrom(y, *d.Behavior), equalUntimed)
	}
	return d
}

func firstTime(x, y []item) virtual.Time {
	switch {
	case len(x) == 0:
		return y[0].record.T
	case len(y) == 0:
		return x[0].record.T
	}
	return min(x[0].record.T, y[0].record.T)
}

// item is a record with the part of it that Compare compares.
type item struct {
	record *trace.Record
	key    []byte
}

// line returns a line with a copy of the record: a comparison outlives the run's other records.
func (i item) line(side Side) Line { return Line{side, new(*i.record)} }

// visible returns the records of a run to compare. It sorts records of one instant, so that their
// order does not matter.
func visible(r Run) []item {
	var items []item
	status := map[string][]byte{} // last status of each pod
	for i := range r.Records {
		rec := &r.Records[i]
		if !rec.Kind.Observable() {
			continue
		}
		key := keyOf(*rec)
		if rec.Kind == trace.StatusPatched {
			untimed := untimedKey(*rec)
			if bytes.Equal(status[rec.Pod], untimed) {
				continue
			}
			status[rec.Pod] = untimed
		}
		items = append(items, item{rec, key})
	}
	slices.SortStableFunc(items,
		func(a, b item) int { return cmp.Or(cmp.Compare(a.record.T, b.record.T), bytes.Compare(a.key, b.key)) })
	return items
}

// isText reports whether the message of a record is text for people, and not the name of what
// happens. The result of a probe run says what the kubelet does. Its message only says the same in
// words.
func isText(k trace.Kind) bool {
	return slices.Contains([]trace.Kind{trace.Event, trace.ProbeExecuted, trace.HookEnded, trace.ImagePullEnded}, k)
}

// keyOf returns the part of a record to compare: everything except a message for people.
func keyOf(r trace.Record) []byte {
	if isText(r.Kind) {
		r.Message = ""
	}
	return trace.AppendObserved(nil, &r)
}

// untimedKey returns the part of a record to compare regardless of time.
func untimedKey(r trace.Record) []byte {
	r.T, r.Took = 0, 0
	return keyOf(r)
}

// context is the number of records to show before a difference, and from each run after it.
const context = 3

// firstFrom returns the index of the first item at or after a time.
func firstFrom(items []item, t virtual.Time) int {
	n, _ := slices.BinarySearchFunc(items, t, func(i item, t virtual.Time) int { return cmp.Compare(i.record.T, t) })
	return n
}

func equal(a, b item) bool { return bytes.Equal(a.key, b.key) }

func equalUntimed(a, b item) bool { return bytes.Equal(untimedKey(*a.record), untimedKey(*b.record)) }

// around returns the records around a difference: the items before the n-th of x, and the next
// items from the n-th of x and the m-th of y.
func around(x, y []item, n, m int, same func(a, b item) bool) []Line {
	for n < len(x) && m < len(y) && same(x[n], y[m]) { // others of the instant
		n, m = n+1, m+1
	}
	var lines []Line
	for _, i := range x[max(0, n-context):n] {
		lines = append(lines, i.line(Both))
	}
	x, y = x[n:min(len(x), n+context)], y[m:min(len(y), m+context)]
	var next []Line
	for _, i := range x {
		side := A
		if slices.ContainsFunc(y, func(j item) bool { return same(i, j) }) {
			side = Both
		}
		next = append(next, i.line(side))
	}
	for _, i := range y {
		if !slices.ContainsFunc(x, func(j item) bool { return same(i, j) }) {
			next = append(next, i.line(B))
		}
	}
	slices.SortStableFunc(next, func(a, b Line) int { return cmp.Compare(a.Record.T, b.Record.T) })
	return append(lines, next...)
}

// messages returns the messages that differ, each pair once. Both runs have the same records
// otherwise.
func messages(x, y []item) []Message {
	var list []Message
	for i := range x {
		r := x[i].record
		m := Message{messageOf(r), r.Message, y[i].record.Message}
		if isText(r.Kind) && m.A != m.B && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// messageOf says what the message of a record is about.
func messageOf(r *trace.Record) string {
	switch r.Kind {
	case trace.ProbeExecuted:
		return string(r.Probe) + " " + string(r.Result)
	case trace.ImagePullEnded:
		return "image pull " + string(r.Result)
	case trace.HookEnded:
		return r.Reason + " " + string(r.Result)
	}
	return r.Reason
}
