package traffic

import (
	"cmp"
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
	records []trace.Record     // of the losses that the last record begins and ends
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
func (s *stream) route(f *Fold, r *trace.Record) {
	if !s.began && len(r.Object.Endpoints) == 0 {
		return
	}
	first := !s.began
	if first {
		s.began, s.since = true, r.T
	}
	s.step = r.Step
	s.stop(r.T, r.Step)
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
	s.start(f, r.T)
}

// update begins and ends losses because the pod of a record has changed.
func (s *stream) update(f *Fold, r *trace.Record) {
	t := s.targets[r.Pod]
	if s.kept != nil {
		s.reconnect(f, r)
		return
	}
	if t == nil || t.loss != nil && t.loss.reason == f.pods[t.pod].refusal(s.Container) {
		return
	}
	s.end(t, r.T, r.Step)
	t.pause(r.T)
	s.begin(f, t, r.T)
}

// exited adds the loss of the requests that a program has when it ends.
func (s *stream) exited(r *trace.Record) {
	t := cmp.Or(s.targets[r.Pod], s.dropped[r.Pod])
	if t == nil && s.kept == nil || s.Container != "" && s.Container != r.Container {
		return
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
	if lost > 0 {
		s.record(trace.LossEnded, r.T, r.Pod, &loss{reason: InFlight, one: 1, of: max(1, len(s.targets))}, r.Step).
			Object.Loss.Lost = lost
	}
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
func (s *stream) start(f *Fold, now virtual.Time) {
	if s.kept != nil && s.kept.waiting == 0 {
		return
	}
	if len(s.targets) == 0 {
		s.none = noTarget(now, s.step)
		s.record(trace.LossStarted, now, "", s.none, s.step)
	}
	for _, t := range s.sorted() {
		s.begin(f, t, now)
	}
}

func noTarget(since virtual.Time, cause int64) *loss {
	return &loss{reason: NoEndpoints, from: since, one: 1, of: 1, cause: cause}
}

// begin begins a loss if a target does not accept requests, and notes that it serves them
// otherwise.
func (s *stream) begin(f *Fold, t *target, now virtual.Time) {
	p := f.pods[t.pod]
	reason := p.refusal(s.Container)
	if reason == "" {
		if s.kept == nil {
			t.served = append(recent(t.served, now.Add(-s.Most)),
				interval{now, virtual.Max, s.Rate / float64(len(s.targets))})
		}
		return
	}
	t.loss = &loss{reason: reason, from: now, one: 1, of: len(s.targets), cause: t.since}
	if p != nil {
		t.loss.cause = max(t.since, p.step)
	}
	s.record(trace.LossStarted, now, t.pod, t.loss, t.loss.cause)
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
func (s *stream) stop(now virtual.Time, cause int64) {
	if s.kept != nil {
		s.advance(now)
	}
	if s.none != nil {
		s.finish("", s.none, now, cause)
		s.none = nil
	}
	for _, t := range s.sorted() {
		s.end(t, now, cause)
	}
}

// end ends the loss of a target, if there is one.
func (s *stream) end(t *target, now virtual.Time, cause int64) {
	if t.loss != nil {
		s.finish(t.pod, t.loss, now, cause)
		t.loss = nil
	}
}

// finish adds the record of the end of a loss.
func (s *stream) finish(pod string, l *loss, now virtual.Time, cause int64) {
	r := s.record(trace.LossEnded, now, pod, l, cause)
	r.Took = now.Sub(l.from)
	if r.Object.Loss.Lost = s.Rate * float64(l.one) / float64(l.of) * r.Took.Seconds(); s.kept != nil {
		r.Object.Loss.Lost = l.lost
	}
}

// begins begins the requests with a change of a Deployment, if there has been no target before.
func (s *stream) begins(f *Fold, r *trace.Record) {
	if !s.began && s.waits != nil {
		s.began, s.since, s.step = true, r.T, r.Step
		s.connect(f, r.T)
		s.start(f, r.T)
	}
}

// unserved adds the loss of all requests if there has been no target.
func (s *stream) unserved(now virtual.Time) {
	if !s.began && s.waits != nil {
		s.finish("", s.waits, now, s.waits.cause)
	}
}

// record adds a record of a loss, and returns it.
func (s *stream) record(kind trace.Kind, now virtual.Time, pod string, l *loss, cause int64) *trace.Record {
	of := &trace.Object{Name: "Service " + s.Service,
		Loss: &trace.Loss{Router: s.Router, Rate: s.Rate, One: l.one, Of: l.of}}
	s.records = append(s.records,
		trace.Record{T: now, Kind: kind, Cause: cause, Pod: pod, Reason: l.reason, Object: of})
	return &s.records[len(s.records)-1]
}

// sorted returns the targets by pod.
func (s *stream) sorted() []*target {
	list := make([]*target, 0, len(s.targets))
	for _, pod := range slices.Sorted(maps.Keys(s.targets)) {
		list = append(list, s.targets[pod])
	}
	return list
}
