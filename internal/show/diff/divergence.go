package diff

import (
	"bytes"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// sequence names records whose order does not depend on other records.
type sequence struct {
	pod, container string
	probe          trace.Probe
	kind           trace.Kind
}

// sequenceOf returns the sequence of a record: the runs of a probe, the lifecycle of a container,
// the status patches of a pod, the events with one reason, or the lifecycle of a pod or the node.
func sequenceOf(r *trace.Record) sequence {
	s := sequence{pod: r.Pod, container: r.Container, probe: r.Probe}
	switch r.Kind {
	case trace.StatusPatched:
		s.kind = r.Kind
	case trace.Event:
		s.kind = r.Kind + trace.Kind(r.Reason)
	}
	return s
}

// divergence returns the first time at which one run has a record that the other run does not have,
// at any time, at the same place of its sequence, or nil. The ends of the runs are endX and endY.
func divergence(x, y []item, endX, endY virtual.Time) (first *virtual.Time) {
	a, b := sequencesOf(x), sequencesOf(y)
	compare := func(own, other []*trace.Record, otherEnd virtual.Time) {
		for i, r := range own {
			if i < len(other) && bytes.Equal(untimedKey(*r), untimedKey(*other[i])) ||
				isAfter(own, other, i, otherEnd) {
				continue
			}
			if first == nil || r.T < *first {
				first = &r.T
			}
			return
		}
	}
	for _, s := range a.order {
		compare(a.records[s], b.records[s], endY)
	}
	for _, s := range b.order {
		compare(b.records[s], a.records[s], endX)
	}
	return first
}

// isAfter reports whether the other run ends before it can have the i-th record: its sequence is
// later than the own one, by as much as its last record.
func isAfter(own, other []*trace.Record, i int, otherEnd virtual.Time) bool {
	last := len(other) - 1
	return i > last && last >= 0 && own[i].T.Add(other[last].T.Sub(own[last].T)) > otherEnd
}

// sequences groups the records of a run, in the order in which the sequences begin.
type sequences struct {
	order   []sequence
	records map[sequence][]*trace.Record
}

func sequencesOf(items []item) sequences {
	s := sequences{records: map[sequence][]*trace.Record{}}
	for _, i := range items {
		key := sequenceOf(i.record)
		if s.records[key] == nil {
			s.order = append(s.order, key)
		}
		s.records[key] = append(s.records[key], i.record)
	}
	return s
}
