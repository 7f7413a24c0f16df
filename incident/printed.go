package incident

import (
	"cmp"
	"slices"
	"time"
)

// printed is when a text with ages was printed, truncated to the second: from from to to. It is zero if nothing tells.
//
// Events and statuses have times that are truncated to the second. So an age that is exact to the second tells the second of an event
// if the second is known in which the text was printed, whatever the fractions of both.
type printed struct{ from, to time.Time }

func (p printed) known() bool { return !p.to.IsZero() }

// before returns the second before an instant as the one of printing.
func before(t time.Time) printed { return printed{t.Add(-time.Second), t.Add(-time.Second)} }

// ago returns the time of something that had an age when the text was printed.
func (p printed) ago(a age) Moment {
	if !a.known {
		return Moment{}
	}
	return Moment{At: p.from.Add(time.Second - a.at - a.unit), Within: p.to.Sub(p.from) + a.unit}
}

// scheduledBefore is how long before the start of a pod on its node the scheduler binds it, at most.
const scheduledBefore = time.Second

// whenPrinted finds when a text was printed from the facts whose time something else tells. It begins with the most exact of them, and
// leaves out those that contradict it.
func (r *reader) whenPrinted(s *section) printed {
	var all []printed
	tell := func(at Moment, a age) {
		if at.Known() && a.known && a.unit < time.Hour {
			from := at.At.Truncate(time.Second).Add(a.at)
			all = append(all, printed{from, from.Add(max(at.Within, time.Second) + a.unit - 2*time.Second)})
		}
	}
	for i, f := range s.facts {
		first, last := s.ages[i][0], s.ages[i][1]
		if f.Pod != nil && f.Pod.Object != nil {
			status := &f.Pod.Object.Status
			if at := f.Pod.StartTime(); f.Reason == "Scheduled" && at.Known() {
				tell(Moment{at.At.Add(-scheduledBefore), at.Within + scheduledBefore}, first)
			}
			for _, c := range status.ContainerStatuses {
				if c.State.Running != nil && c.Name == f.startedContainer() {
					tell(second(c.State.Running.StartedAt), last)
				}
			}
		}
		if other := r.exact[eventKey{f.Pod, f.Reason, f.Message, f.Count}]; other != nil {
			tell(other.Last, last)
		}
	}
	slices.SortStableFunc(all, func(a, b printed) int { return cmp.Compare(a.to.Sub(a.from), b.to.Sub(b.from)) })
	var best printed
	for _, p := range all {
		if !best.known() {
			best = p
		}
		from, to := best.from, best.to
		if p.from.After(from) {
			from = p.from
		}
		if p.to.Before(to) {
			to = p.to
		}
		if !from.After(to) {
			best = printed{from, to}
		}
	}
	return best
}

// startedContainer returns the container that an event Started is about, or nothing if the event is another one or does not tell.
func (f *Fact) startedContainer() string {
	switch {
	case f.Reason != "Started":
		return ""
	case f.Container == "" && len(f.Pod.containers) == 1:
		return f.Pod.containers[0]
	}
	return f.Container
}
