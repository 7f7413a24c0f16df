package why

import (
	"fmt"
	"slices"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Lease is a lock that a program wants, as in leader election.
type Lease struct {
	Name string
	Free time.Duration // how long it stays taken after the end of its holder
}

// leased is the state of a lease at a moment.
type leased struct {
	Lease
	holder *trace.Record   // the start of the instance; nil: none
	since  virtual.Time    // it holds the lease
	exit   *trace.Record   // of the holder before
	queue  []*trace.Record // the starts of those who wait, the longest wait first
}

// leaseOf returns the state of the lease that a container wants, or nil if it wants none.
func (r *Run) leaseOf(container subject, t virtual.Time) *leased {
	if r.Lease == nil {
		return nil
	}
	l := &leased{Lease: r.Lease(container.pod, container.container)}
	if l.Name == "" {
		return nil
	}
	for _, rec := range r.records {
		if rec.T > t {
			break
		}
		start := rec.Kind == trace.ContainerStarted
		if !start && rec.Kind != trace.ContainerExited || r.Lease(rec.Pod, rec.Container).Name != l.Name {
			continue
		}
		own := func(o *trace.Record) bool {
			return containerOf(o) == containerOf(rec) && o.Instance == rec.Instance
		}
		switch l.take(rec.T); {
		case start:
			l.queue = append(l.queue, rec)
		case l.holder != nil && own(l.holder):
			l.holder, l.exit = nil, rec
			l.Free = r.Lease(rec.Pod, rec.Container).Free
		default:
			l.queue = slices.DeleteFunc(l.queue, own)
		}
	}
	l.take(t)
	return l
}

// free returns when the lease is free.
func (l *leased) free() virtual.Time {
	if l.exit == nil {
		return 0
	}
	return l.exit.T.Add(l.Free)
}

// take gives a lease that is free at a time to the one who has waited longest.
func (l *leased) take(t virtual.Time) {
	if l.holder == nil && len(l.queue) > 0 && l.free() <= t {
		l.holder, l.queue = l.queue[0], l.queue[1:]
		l.since = max(l.free(), l.holder.T)
	}
}

// words says since when the instance has held the lease, or what it waits for.
func (l *leased) words(r *Run, start *trace.Record) string {
	name := "the lease " + printable.Text(l.Name)
	title := func(of *trace.Record) string { return nameOf(of.Pod) + "/" + printable.Text(of.Container) }
	after := ""
	if l.exit != nil {
		after = fmt.Sprintf(", %s after the exit of %s", r.span(l.Free), title(l.exit))
	}
	switch {
	case l.holder == start:
		return fmt.Sprintf("has held %s since %s", name, r.at(l.since)) + after
	case l.holder == nil:
		return fmt.Sprintf("waits for %s, which is free at %s", name, r.at(l.free())) + after
	}
	return fmt.Sprintf("waits for %s, which %s has held since %s", name, title(l.holder), r.at(l.since))
}
