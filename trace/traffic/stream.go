package traffic

import (
	"maps"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// stream is an entry and what is known of it.
type stream struct {
	Entry
	began   bool
	since   virtual.Time
	waits   *loss // since the creation of the Service: what is lost if the requests never begin
	step    int64 // of the last RoutesChanged, or of the change with which they begin
	targets map[string]*target
	dropped map[string]*target // targets before, whose programs may still have requests
	none    *loss              // while there is no target
	kept    *kept              // nil: each request opens a connection of its own
}

// target is a pod that gets a part of the requests.
type target struct {
	pod   string
	since int64 // step of the record that made it a target
	loss  *loss // while it does not accept them
	// served are the times in which it accepted requests, and how many a second.
	served []interval
}

type interval struct {
	from, to virtual.Time // to is virtual.Max while it goes on
	rate     float64
}

// loss is a loss in progress.
type loss struct {
	reason  string
	from    virtual.Time
	one, of int
	cause   int64
	lost    float64 // over connections that are kept
}

// route takes over the targets of a record.
func (s *stream) route(f *Fold, r *trace.Record) []trace.Record {
	if !s.began && len(r.Object.Endpoints) == 0 {
		return nil
	}
	first := !s.began
	if first {
		s.began, s.since = true, r.T
	}
	s.step = r.Step
	list := s.stop(r.T, r.Step)
	targets := map[string]*target{}
	for _, e := range r.Object.Endpoints {
		targets[e.Pod] = s.targets[e.Pod]
		if targets[e.Pod] == nil {
			targets[e.Pod] = &target{pod: e.Pod, since: r.Step}
			if was := s.dropped[e.Pod]; was != nil {
				targets[e.Pod].served = was.served
				delete(s.dropped, e.Pod)
			}
		}
	}
	for _, t := range s.sorted() {
		if t.pause(r.T); targets[t.pod] == nil {
			s.dropped[t.pod] = t
		}
	}
	s.targets = targets
	if first {
		s.connect(f, r.T)
	}
	return append(list, s.start(f, r.T)...)
}

// update begins and ends losses because the pod of a record has changed.
func (s *stream) update(f *Fold, r *trace.Record) []trace.Record {
	if s.kept != nil {
		return s.reconnect(f, r)
	}
	t := s.targets[r.Pod]
	if t == nil {
		return nil
	}
	if reason := f.pods[t.pod].refusal(s.Container); t.loss != nil && t.loss.reason == reason {
		return nil
	}
	list := s.end(t, r.T, r.Step)
	t.pause(r.T)
	return append(list, s.begin(f, t, r.T)...)
}

// exited returns the loss of the requests that a program has when it ends.
func (s *stream) exited(f *Fold, r *trace.Record) []trace.Record {
	t := s.targets[r.Pod]
	if t == nil {
		t = s.dropped[r.Pod]
	}
	if t == nil && s.kept == nil || s.Container != "" && s.Container != r.Container {
		return nil
	}
	delete(s.dropped, r.Pod)
	var served []interval
	if s.kept != nil {
		s.advance(r.T)
		served = s.kept.served[r.Pod]
		delete(s.kept.served, r.Pod)
	} else {
		served, t.served = t.served, nil
	}
	lost := 0.0
	for _, i := range served {
		lost += i.rate * (s.unfinished(r.T.Sub(i.from)) - s.unfinished(r.T.Sub(min(i.to, r.T))))
	}
	if lost <= 0 {
		return nil
	}
	return []trace.Record{s.record(trace.LossEnded, r.T, r.Pod, InFlight, r.Step,
		&trace.Loss{Router: s.Router, Rate: s.Rate, One: 1, Of: max(1, len(s.targets)), Lost: lost})}
}

// unfinished returns the integral of the part of requests that take longer than a duration, from 0
// to an age, in seconds: so many of the requests of the time before are in flight, if one a second
// is sent.
func (s *stream) unfinished(age time.Duration) float64 {
	least, most := s.Least.Seconds(), s.Most.Seconds()
	u := min(age.Seconds(), most)
	if u <= least {
		return u
	}
	return u - (u-least)*(u-least)/(2*(most-least))
}

// start begins the losses and services of all targets.
func (s *stream) start(f *Fold, now virtual.Time) []trace.Record {
	if s.kept != nil && s.kept.waiting == 0 {
		return nil
	}
	if len(s.targets) == 0 {
		s.none = noTarget(now, s.step)
		return []trace.Record{s.lossRecord(trace.LossStarted, now, "", s.none, s.step)}
	}
	var list []trace.Record
	for _, t := range s.sorted() {
		list = append(list, s.begin(f, t, now)...)
	}
	return list
}

func noTarget(since virtual.Time, cause int64) *loss {
	return &loss{reason: NoEndpoints, from: since, one: 1, of: 1, cause: cause}
}

// begin begins a loss if a target does not accept requests, and notes that it serves them
// otherwise.
func (s *stream) begin(f *Fold, t *target, now virtual.Time) []trace.Record {
	p := f.pods[t.pod]
	reason := p.refusal(s.Container)
	switch {
	case reason == "" && s.kept != nil:
		return nil
	case reason == "":
		t.served = append(recent(t.served, now.Add(-s.Most)),
			interval{now, virtual.Max, s.Rate / float64(len(s.targets))})
		return nil
	}
	t.loss = &loss{reason: reason, from: now, one: 1, of: len(s.targets), cause: t.since}
	if p != nil {
		t.loss.cause = max(t.since, p.step)
	}
	return []trace.Record{s.lossRecord(trace.LossStarted, now, t.pod, t.loss, t.loss.cause)}
}

// recent returns the times of service that reach beyond a time.
func recent(served []interval, since virtual.Time) []interval {
	return slices.DeleteFunc(served, func(i interval) bool { return i.to < since })
}

// pause ends the service of a target.
func (t *target) pause(now virtual.Time) {
	if n := len(t.served); n > 0 && t.served[n-1].to == virtual.Max {
		t.served[n-1].to = now
	}
}

// stop ends all losses in progress.
func (s *stream) stop(now virtual.Time, cause int64) []trace.Record {
	var list []trace.Record
	if s.kept != nil {
		s.advance(now)
	}
	if s.none != nil {
		list = append(list, s.finish("", s.none, now, cause))
		s.none = nil
	}
	for _, t := range s.sorted() {
		list = append(list, s.end(t, now, cause)...)
	}
	return list
}

// end ends the loss of a target, if there is one.
func (s *stream) end(t *target, now virtual.Time, cause int64) []trace.Record {
	if t.loss == nil {
		return nil
	}
	r := s.finish(t.pod, t.loss, now, cause)
	t.loss = nil
	return []trace.Record{r}
}

// finish returns the record of the end of a loss.
func (s *stream) finish(pod string, l *loss, now virtual.Time, cause int64) trace.Record {
	r := s.lossRecord(trace.LossEnded, now, pod, l, cause)
	r.Took = now.Sub(l.from)
	if r.Object.Loss.Lost = s.Rate * float64(l.one) / float64(l.of) * r.Took.Seconds(); s.kept != nil {
		r.Object.Loss.Lost = l.lost
	}
	return r
}

// begins begins the requests with a change of a Deployment, if there has been no target before.
func (s *stream) begins(f *Fold, r *trace.Record) []trace.Record {
	if s.began || s.waits == nil {
		return nil
	}
	s.began, s.since, s.step = true, r.T, r.Step
	s.connect(f, r.T)
	return s.start(f, r.T)
}

// unserved returns the loss of all requests if there has been no target.
func (s *stream) unserved(now virtual.Time) []trace.Record {
	if s.began || s.waits == nil {
		return nil
	}
	return []trace.Record{s.finish("", s.waits, now, s.waits.cause)}
}

func (s *stream) lossRecord(kind trace.Kind, now virtual.Time, pod string, l *loss, cause int64) trace.Record {
	return s.record(kind, now, pod, l.reason, cause, &trace.Loss{Router: s.Router, Rate: s.Rate, One: l.one, Of: l.of})
}

func (s *stream) record(kind trace.Kind, now virtual.Time, pod, reason string, cause int64,
	l *trace.Loss) trace.Record {
	return trace.Record{
		T: now, Kind: kind, Cause: cause, Pod: pod, Reason: reason,
		Object: &trace.Object{Name: "Service " + s.Service, Loss: l},
	}
}

// sorted returns the targets by pod.
func (s *stream) sorted() []*target {
	list := make([]*target, 0, len(s.targets))
	for _, pod := range slices.Sorted(maps.Keys(s.targets)) {
		list = append(list, s.targets[pod])
	}
	return list
}
