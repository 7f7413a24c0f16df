package reconstruct

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/trace"
)

// simpleBehaviors returns the simple behaviors of a container that the recorded facts suggest.
func (s *search) simpleBehaviors(c *v1.Container) []behavior {
	var list []behavior
	stops := s.simpleStops(c)
	add := func(b behavior) {
		b.stop = stops[0]
		list = append(list, b)
	}
	for _, f := range s.failings(c) {
		b := behavior{what: f.what, does: fmt.Sprintf("%s: %s", f.what, f.word), says: f.says, answers: f.answers}
		for _, from := range f.began.grid(3) {
			for _, end := range append((interval{f.last + time.Millisecond, f.last + f.tick}).grid(4), s.recovery(f).grid(4)...) {
				b.clock, b.from, b.length, b.step = "at", from, end-from, f.tick/4
				add(b)
			}
		}
		b.length = 0
		age := s.ageOf(c, f)
		for _, from := range age.grid(7) {
			b.clock, b.from, b.step = "after", from, (age.to-age.from)/7
			add(b)
		}
		b.clock, b.from = "", 0
		for _, length := range append(lengths(f.last-f.began.from), 0) {
			b.length, b.step = length, length/4
			add(b)
		}
	}
	if age, code, says := s.exitAge(c); !age.empty() {
		for _, whose := range s.whichExit(c) {
			for _, from := range age.grid(7) {
				list = append(list, behavior{what: "exits", whose: whose, clock: "after", from: from, step: (age.to - age.from) / 7, does: fmt.Sprintf("exit: %d", code), says: says})
			}
		}
	}
	if age, says := s.backOffAge(c); !age.empty() {
		for _, whose := range s.whichExit(c) {
			for _, code := range []int{1, 0} {
				for _, from := range age.grid(3) {
					list = append(list, behavior{what: "exits", whose: whose, clock: "after", from: from, step: (age.to - age.from) / 3, does: fmt.Sprintf("exit: %d", code), says: says})
				}
			}
		}
	}
	return list
}

// whichExit returns which instances of a container can exit by themselves: all, those that have ended, or those that no probe killed.
func (s *search) whichExit(c *v1.Container) []string {
	list := []string{""}
	n, kills := s.model.restarts(c.Name), s.model.kills(c.Name, trace.Liveness)+s.model.kills(c.Name, trace.Startup)
	for _, last := range []int{n - 1, n - kills - 1, n - kills} {
		whose := fmt.Sprintf("instance: ..%d, ", last)
		if (last < n-1 || kills == 0) && last >= 0 && last < n && !slices.Contains(list, whose) {
			list = append(list, whose)
		}
	}
	return list
}

// backOffAge returns the age at which each of the first two instances can have exited, if both are alike: the first back-off follows the
// second exit by up to a second or two.
func (s *search) backOffAge(c *v1.Container) (age interval, says string) {
	starts := s.starts(c.Name)
	for _, f := range s.model.pod.Facts {
		if crashBackOff(f) && f.Container == c.Name && f.When.Known() && !f.AtLeast && len(starts) > 0 {
			both := f.When.Best().Sub(s.best.zero) - starts[0].Offset()
			return interval{max(both-3*time.Second, 0) / 2, both / 2}, fmt.Sprintf("%s: the first back-off follows the second exit.", f.Place)
		}
	}
	return interval{1, 0}, ""
}

// grid returns n times from the beginning to the end of a range, or one if it is less than a millisecond long, or none if it is empty.
func (b interval) grid(n int) []time.Duration {
	switch {
	case b.empty():
		return nil
	case b.to-b.from < time.Millisecond:
		return []time.Duration{b.from}
	}
	var list []time.Duration
	for i := range n {
		list = append(list, b.from+(b.to-b.from)*time.Duration(2*i+1)/time.Duration(2*n))
	}
	return list
}

// failing is one way in which the probes of a container, or one of them, failed.
type failing struct {
	what    string // the part: a probe, or allProbes
	probes  []trace.Probe
	word    string
	answers []string
	began   interval // the time at which the program can have begun to fail all of them
	last    time.Duration
	tick    time.Duration // the shortest period
	says    string
}

// failings returns the ways in which the probes of a container failed: those that several probes share come first.
func (s *search) failings(c *v1.Container) []failing {
	var kinds []string
	shared := map[string]*failing{}
	var single []failing
	for _, probe := range probesOf(c) {
		tick := period(incident.ProbeOf(c, probe))
		seen := map[string]bool{}
		for _, o := range s.outages(c, probe) {
			kind := commonWord(o)
			began := interval{max(o.began.from-tick, 0), max(o.began.to, 0)}
			one := failing{what: string(probe), probes: []trace.Probe{probe}, word: o.word, began: began, last: o.last, tick: tick, says: o.says}
			if o.answer != "" {
				one.answers = []string{o.answer}
			}
			single = append(single, one)
			all := shared[kind]
			switch {
			case all == nil:
				one.what = allProbes
				if o.answer == "" {
					one.word = kind
				}
				shared[kind] = &one
				kinds = append(kinds, kind)
			case !seen[kind]:
				all.probes = append(all.probes, probe)
				all.began.narrow(began.from, began.to)
				all.last, all.tick, all.says = max(all.last, o.last), min(all.tick, tick), all.says+". "+o.says
			}
			seen[kind] = true
		}
	}
	var list []failing
	for _, kind := range kinds {
		if f := shared[kind]; len(f.probes) > 1 {
			list = append(list, *f)
		}
	}
	return append(list, single...)
}

// recovery returns when the program can have recovered: the pod became ready after the last recorded failure, of which later ones can be
// missing. The range is empty if nothing tells.
func (s *search) recovery(f failing) interval {
	for _, o := range s.model.pod.Facts {
		if at := o.When.At.Sub(s.best.zero); o.Kind == incident.Condition && o.Reason == "Ready" && o.Value == "True" && o.When.Known() && at > f.last {
			return interval{max(at-f.tick, f.last), at + o.When.Within}
		}
	}
	return interval{1, 0}
}

// ageOf returns the age at which each instance can begin to fail, if all are alike: the first failures tell it, and the kill of an instance
// whose start is recorded.
func (s *search) ageOf(c *v1.Container, f failing) interval {
	start := f.began.to - s.since(c, f.began.to)
	age := interval{max(f.began.from-start, 0), f.began.to - start}
	for _, probe := range f.probes {
		p := incident.ProbeOf(c, probe)
		if cause, kills := causes[probe]; kills {
			for _, k := range s.model.pod.Facts {
				if k.Kind == incident.Event && k.Reason == "Killing" && k.Container == c.Name && k.Last.Known() && incident.ParseKilling(k.Message) == cause {
					if life, known := s.lifeUntil(c, k.Last); known {
						least := life.from - time.Duration(max(p.FailureThreshold, 1))*period(p) - time.Duration(max(p.TimeoutSeconds, 1))*time.Second
						both := age
						if both.narrow(least, life.to-time.Duration(max(p.FailureThreshold, 1)-1)*period(p)); !both.empty() {
							age = both
						}
					}
				}
			}
		}
	}
	return age
}

// lifeUntil returns how long an instance had run at a recorded moment, if its start is recorded to the second.
func (s *search) lifeUntil(c *v1.Container, at incident.Moment) (interval, bool) {
	var life interval
	known := false
	for _, start := range s.model.recordedStarts(c) {
		if start.at.Within <= time.Second && start.at.At.Before(at.At) {
			life, known = interval{at.At.Sub(start.at.End()), at.End().Sub(start.at.At)}, true
		}
	}
	return life, known
}

// exitAge returns the age at which each instance can have exited, if all are alike, and the exit code.
func (s *search) exitAge(c *v1.Container) (age interval, code int32, says string) {
	age = interval{0, maxDuration}
	for _, f := range s.model.pod.Facts {
		if f.Container != c.Name || f.Kind != incident.Terminated || !f.When.Known() || !f.Last.Known() {
			continue
		}
		age.narrow(f.Last.At.Sub(f.When.End()), f.Last.End().Sub(f.When.At))
		code, says = max(min(f.ExitCode, 255), 0), fmt.Sprintf("%s: instance %d exited with code %d. All instances are assumed to be like it.", f.Place, s.model.numberOf(f), f.ExitCode)
	}
	if says == "" {
		return interval{1, 0}, 0, ""
	}
	return age, code, says
}

// simpleStops returns how the program can react to the stop signal, from what is recorded about its ends.
func (s *search) simpleStops(c *v1.Container) [][]rule {
	stops := tryStop(s, c)
	if len(stops) == 1 { // nothing stopped it
		return [][]rule{nil}
	}
	list := [][]rule{nil, {ignoresSignal}}
	for _, f := range s.model.pod.Facts {
		if f.Container != c.Name || f.Kind != incident.Terminated || !f.Last.Known() {
			continue
		}
		switch f.ExitCode {
		case 137: // SIGKILL
			return list[1:]
		case 143: // SIGTERM
			list = list[:1]
		default:
			list = nil
		}
		for _, stop := range stops {
			if len(stop.rules) > 0 && strings.HasSuffix(stop.rules[0].text, fmt.Sprintf(", exit: %d", f.ExitCode)) && len(list) < 3 {
				list = append(list, stop.rules)
			}
		}
		if len(list) == 0 { // it exited by itself
			list = [][]rule{nil}
		}
		return list
	}
	return list
}
