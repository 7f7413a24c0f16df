package diff

import (
	"bytes"
	"time"

	"probesim.dev/trace"
)

// strand is what happens one after the other whatever happens elsewhere.
type strand struct {
	pod, container string
	probe          trace.Probe
	kind           trace.Kind
}

// strandOf returns the strand of a record: the runs of a probe, the life of a container, the statuses of a pod, the events
// of a reason, or what becomes of a pod or the node.
func strandOf(r *trace.Record) strand {
	s := strand{pod: r.Pod, container: r.Container, probe: r.Probe}
	switch r.Kind {
	case trace.StatusPatched:
		s.kind = r.Kind
	case trace.Event:
		s.kind = r.Kind + trace.Kind(r.Reason)
	}
	return s
}

// otherwise returns when something happens first in one of two runs that does not happen in the other, as the next thing of
// its strand.
func otherwise(x, y []item) (first time.Duration, found bool) {
	a, b := strands(x), strands(y)
	look := func(s strand, own, other []*trace.Record) {
		for i, r := range own {
			if i < len(other) && bytes.Equal(timeless(*r), timeless(*other[i])) {
				continue
			}
			if !found || r.T < first {
				first, found = r.T, true
			}
			return
		}
	}
	for _, s := range a.order {
		look(s, a.records[s], b.records[s])
	}
	for _, s := range b.order {
		look(s, b.records[s], a.records[s])
	}
	return first, found
}

// sorted are records by their strands.
type sorted struct {
	order   []strand
	records map[strand][]*trace.Record
}

func strands(items []item) sorted {
	s := sorted{records: map[strand][]*trace.Record{}}
	for _, i := range items {
		key := strandOf(i.record)
		if s.records[key] == nil {
			s.order = append(s.order, key)
		}
		s.records[key] = append(s.records[key], i.record)
	}
	return s
}
