package bounds

import (
	"cmp"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// foundByProbe extends a bound by the limits of the starts after an exit that a probe finds, and not a relist.
func (s *Subject) foundByProbe(c Case, m startMoves, latest bool, f measure, b Bound) (Bound, error) {
	if s.Probe(s.quickest(&c)).FailureThreshold > 1 {
		return b, nil
	}
	c, err := s.exitAtProbe(c, m, latest, f)
	if err != nil {
		return b, err
	}
	starts := m.phase(&c)
	m.ticks, m.phase, m.exits, m.killed = func(bool) dim { return starts }, uptimes, false, true
	return s.toEnd(c, m, latest, f, b)
}

// exitAtProbe returns the case with the least or the greatest limit among those whose exit is just before or during a run of the probe with the least
// threshold, at each of its ticks until those of all probes are in the same phase again.
func (s *Subject) exitAtProbe(c Case, m startMoves, latest bool, f measure) (Case, error) {
	usual := c.order
	if latest { // the sooner the start, the later the ticks after it
		c = c.corner(false, m.starts)
		c.order = livenessLast
	}
	d, b, period := m.ticks(latest), none(c), s.period(s.quickest(&c))
	for _, after := range []time.Duration{-time.Millisecond, fine} {
		next := c
		if err := s.exitAt(&next, d, after); err != nil {
			return c, err
		}
		for x := d.from + modulo(d.get(&next)-d.from, period); x <= d.to; x += period {
			one, err := f(next.in(d, x))
			if err != nil {
				return c, err
			}
			b = b.Or(one.bound)
		}
	}
	c = b.end(latest)
	c.order = usual
	return c, nil
}

// exitAt moves the exit to a time after a tick of the probe with the least threshold.
func (s *Subject) exitAt(c *Case, d dim, after time.Duration) error {
	l, err := s.landmarks(*c)
	if err != nil {
		return err
	}
	p := s.quickest(c)
	by := modulo(l.exit.Sub(l.ticks[p])-after, s.period(p))
	*c = c.in(d, max(d.get(c)-by, d.from))
	return nil
}

// afterBackOff extends a bound by the least limits of the starts after several crashes. The kubelet waits for the back-off before such a start, so
// the number of crashes decides in which phase of the ticks the start comes. As many probes as possible fail before: the last exit is just after a
// tick. Such runs last for minutes, so a case within a second of the derived end is close enough.
func (s *Subject) afterBackOff(c Case, n Nodes, m startMoves, f measure, b Bound) (Bound, error) {
	rough := b.goal.sharing(goal{least: b.goal.least, within: max(b.goal.within, time.Second)}) // any greatest end will do
	if b.toward(rough).found(false) || s.ticksRepeat(&c) > longestRepeat {
		return b, nil
	}
	c = c.corner(true, n.dims(answerDelay(s.Probe(s.quickest(&c))))).corner(false, m.delays)
	p := startPhases{
		begins: n.total(s.ticksRepeat(&c), s.starts()...), relists: uptimes(&c), seconds: s.delayed(&c), repeat: s.ticksRepeat(&c),
	}
	atTick := func(c Case) (sample, error) {
		if err := s.exitAt(&c, leads(c.Instance-1, c.Rules[0].From, horizon), time.Millisecond); err != nil {
			return sample{}, err
		}
		return f(c)
	}
	own := none(c).toward(rough)
	for crashes := 2; crashes <= mostCrashes; crashes++ {
		var err error
		if own, err = p.evenly(s.crashing(c, crashes), 6, atTick, own); err != nil {
			return b, err
		}
	}
	own, err := p.onward(false, 5*tolerance, atTick, own)
	return b.Or(own), err
}

// longestRepeat is the longest time until the ticks of the probes repeat for which a search tries starts after several crashes or kills. With a longer
// one, the runs would last for hours of virtual time.
const longestRepeat = 2 * time.Minute

// mostCrashes is the number of crashes after which afterBackOff has tried most phases of the ticks.
const mostCrashes = 5

// crashing returns the case of a start after a crash with a number of crashes. The last one can be earlier by as long as the ticks need to repeat.
func (s *Subject) crashing(c Case, crashes int) Case {
	c = s.repeated(c, crashes)
	c.Rules[crashes-1].From += s.ticksRepeat(&c)
	return c
}

// repeated returns the case with a number of instances before that of the question, all with the rules of the first one.
func (s *Subject) repeated(c Case, instances int) Case {
	asked := *c.question
	asked.expect = s.stopping(instances)
	last := len(c.Rules) - 1
	first, down := c.Rules[:last], c.Rules[last]
	c.Rules = nil
	for i := range instances {
		for _, r := range first {
			r.Instance = i
			c.Rules = append(c.Rules, r)
		}
	}
	c.Instance, c.question, down.Instance = instances, &asked, instances
	c.Rules = append(c.Rules, down)
	return c
}

// afterBackOffOfKills extends a bound by the limits of the starts after several liveness kills. If the last instance before has lived for
// less than the back-off, the sync that stops it does not start the next one. A later sync does, and the kubelet carries over nothing. Such syncs are
// whole seconds apart, so the delays of the start and the age of the kubelet also decide when between two ticks the start comes. The runs last for
// minutes, so a case within 0.1 s of the derived end is close enough.
func (s *Subject) afterBackOffOfKills(c Case, n Nodes, m startMoves, f measure, b Bound) (Bound, error) {
	shutdown, rough := m.ticks(false), *b.goal
	rough.within = max(rough.within, 100*time.Millisecond)
	if b := b.toward(&rough); b.found(false) && b.found(true) || s.ticksRepeat(&c) > longestRepeat {
		return b, nil
	}
	waiting, err := s.waitsAfterKills(c.in(shutdown, shutdown.from), f)
	if waiting == nil || err != nil {
		return b, err
	}
	m.carries = false
	least, greatest := s.freshStart(n, AfterLivenessKill)
	p := startPhases{begins: n.total(s.ticksRepeat(&c), s.starts()...), relists: uptimes(&c), seconds: s.delayed(&c), repeat: s.ticksRepeat(&c)}
	for _, latest := range []bool{false, true} {
		if b.toward(&rough).found(latest) || latest && greatest <= b.Greatest || !latest && least >= b.Least { // such starts are not beyond
			continue
		}
		own, err := s.toEnd(*waiting, m, latest, f, none(c).toward(&rough))
		for x := shutdown.from; x <= shutdown.to && err == nil && !own.found(latest); x += time.Second {
			var one sample
			one, err = f(waiting.corner(latest, m.delays).in(shutdown, x))
			own = own.Or(one.bound)
		}
		if err != nil {
			return b, err
		}
		if own, err = p.onward(latest, 5*tolerance, f, own); err != nil {
			return b, err
		}
		b = b.Or(own)
	}
	return b, nil
}

// waitsAfterKills returns the case after the least number of liveness kills whose start waits for the back-off, or nil if there is none. The sooner
// a program hangs, the shorter an instance lives, but the startup probe must see that it is up.
func (s *Subject) waitsAfterKills(c Case, f measure) (*Case, error) {
	_, longest := s.periods()
	for _, sooner := range []time.Duration{longest, 0} {
		for kills := 2; kills <= mostKills; kills++ {
			c := s.repeated(c, kills)
			for i := range c.Rules { // a later instance is up a period later if the kubelet carries over that the container has started
				if r := &c.Rules[i]; r.Misfortune == Hang && r.Instance > 0 {
					r.From += s.period(trace.Startup) - sooner
				}
			}
			l, err := s.landmarks(c)
			if err != nil {
				return nil, err
			}
			if len(l.syncs) == 1 { // only the one that shows the start
				continue
			}
			if one, err := f(c); err != nil || !one.bound.isNone() {
				return &c, err
			}
		}
	}
	return nil, nil
}

// mostKills is the number of kills after which a start has waited for the greatest back-off.
const mostKills = 9

// quickest returns the probe with the least threshold among those that decide.
func (s *Subject) quickest(c *Case) trace.Probe {
	return slices.MinFunc(s.deciding(c), func(a, b trace.Probe) int {
		return cmp.Compare(s.Probe(a).FailureThreshold, s.Probe(b).FailureThreshold)
	})
}

// pair is a case with two meetings: the exit, or the begin of a probe run that the exit breaks off, meets a tick of a probe, and the time from
// which the probe counts meets another one.
type pair struct {
	c      Case
	probe  trace.Probe
	counts mark
	took   time.Duration // from the begin of the probe run to the exit
}

// pairs returns the pairs close to a case, at other ages of the kubelet.
func (s *Subject) pairs(c Case, d dim) ([]pair, error) {
	l, err := s.landmarks(c)
	if err != nil {
		return nil, err
	}
	var list []pair
	relists := c.relistPeriod()
	for _, p := range s.deciding(&c) {
		period := s.period(p)
		add := func(counts mark, took time.Duration) {
			// An older kubelet finds the exit earlier.
			for by := modulo(counts(l).Sub(l.exit)+took, period) - period; by < relists; by += period {
				if by <= -relists {
					continue
				}
				next := c
				next.Uptime = s.old() + modulo(c.Uptime+by-s.old(), relists)
				shift := modulo(l.ticks[p].Sub(counts(l))+by, period)
				next = next.in(d.aligned(next.Uptime), d.from+modulo(d.get(&c)+shift-d.from, period))
				list = append(list, pair{next, p, counts, took})
			}
		}
		for _, counts := range l.counting() {
			add(counts, 0)
			if took := l.took[p]; took > 0 {
				add(counts, took)
			}
		}
	}
	return list, nil
}

// overPairs extends a bound by the limits of the pairs close to a case, on both sides of their ticks.
func (s *Subject) overPairs(c Case, d dim, f measure, b Bound) (Bound, error) {
	list, err := s.pairs(c, d)
	for _, p := range list {
		for _, side := range []time.Duration{-fine, fine} {
			if err != nil {
				return b, err
			}
			var met Case
			if met, err = s.meetBoth(p, d, p.took+side); err != nil {
				return b, err
			}
			var one sample
			one, err = f(met)
			b = b.Or(one.bound)
		}
	}
	return b, err
}

// counting returns the marks of the times from which a probe can count: the end of initialDelaySeconds, and the sync that shows the start.
func (l landmarks) counting() []mark {
	list := []mark{func(l landmarks) virtual.Time { return l.syncs[len(l.syncs)-1] }}
	for i := range l.delays {
		list = append(list, func(l landmarks) virtual.Time { return l.delays[i] })
	}
	return list
}

// meetBoth returns a case close to a pair in which the exit is a time after a tick, and the probe counts from just before another one. A relist
// leads from the exit to the start, so the kubelet's age moves the start and the dimension does not.
func (s *Subject) meetBoth(p pair, d dim, after time.Duration) (Case, error) {
	c, period := p.c, s.period(p.probe)
	near := func(off time.Duration) time.Duration { return modulo(off+period/2, period) - period/2 }
	for range 3 {
		l, err := s.landmarks(c)
		if err != nil {
			return c, err
		}
		second := c.wall(l.start) + 1
		exit, count := near(l.exit.Sub(l.ticks[p.probe])-after), near(p.counts(l).Sub(l.ticks[p.probe])+fine)
		if s.delayed(&c) && second != time.Second {
			c.Wall = modulo(c.Wall-second, time.Second)
			continue
		}
		if exit == 0 && count == 0 {
			break
		}
		c = c.in(d, min(max(d.get(&c)-exit, d.from), d.to))
		c.Uptime = max(c.Uptime+count, s.old())
	}
	return c, nil
}

// endsBefore reports whether the previous instance of a run has ended as the case says: by itself, or by a liveness kill.
func (c *Case) endsBefore(h history) bool {
	stop := h.first(func(r *trace.Record) bool { return r.Kind == trace.ContainerStopping && r.Instance == c.Instance-1 })
	switch {
	case c.Instance > 0 && c.Rules[0].crashes():
		return stop == nil
	case c.Instance > 1:
		verdict, err := h.verdictOf(stop)
		return err == nil && verdict.Probe == trace.Liveness
	}
	return true
}
