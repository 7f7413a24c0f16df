package bounds

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// UntilReadyOnYoungKubelet is UntilReady for a kubelet that is younger than the periods of the startup and the readiness probe when the pod begins. The
// worker of each probe then sleeps for a random part of its period before its first run (run in pkg/kubelet/prober/worker.go at v1.37.0).
func (s *Subject) UntilReadyOnYoungKubelet(n Nodes, atOnce bool) (Bound, error) {
	if !s.SleepsWhenYoung() {
		return Bound{}, fmt.Errorf("the probes of container %s do not depend on the age of the kubelet", s.Container)
	}
	if !atOnce && s.neverLaterWhenYoung(n) {
		return s.UntilReadyOnYoungKubelet(n, true)
	}
	c, f := s.asksUntilReady(n, atOnce)
	c.Uptime = young
	first, err := f(c)
	if err != nil || first.bound.Least == Never && !first.bound.isNone() {
		return first.bound, err
	}
	b := first.bound
	b.Mean = 0 // that of an old kubelet is the mean of the row
	for _, latest := range []bool{false, true} {
		if s.derivesReadyWhenYoung() {
			least, greatest := s.readyLimitsWhenYoung(n, atOnce)
			within := timeTolerance
			if latest {
				within = max(within, greatest/20)
			}
			b = b.toward(s.derived(least, greatest, within))
		}
		if b.found(latest) {
			continue
		}
		if b, err = s.overSleeps(n, c, latest, atOnce, f, b); err != nil {
			return b, err
		}
	}
	if !b.isNone() {
		return b.atGoal(), nil
	}
	atOnceToo, err := s.UntilReadyOnYoungKubelet(n, true)
	if b.goal != nil && atOnceToo.Greatest != Never {
		atOnceToo = atOnceToo.derive(b.goal.least, b.goal.greatest)
	}
	return atOnceToo, err
}

// SleepsWhenYoung reports whether the workers of the probes that decide when the container becomes ready sleep on a young kubelet. With
// ContainerScopedProbes, only those of containers that ran before the kubelet do.
func (s *Subject) SleepsWhenYoung() bool {
	return len(s.waiting()) > 0 && !s.Profile.ContainerScopedProbes
}

// young is the age of a kubelet that has just started.
const young = time.Millisecond

// overSleeps extends a bound of the time until ready by a search for its least or its greatest value over the sleeps of the workers. It begins with the
// cases that come close for most containers.
func (s *Subject) overSleeps(n Nodes, c Case, latest, atOnce bool, f measure, b Bound) (Bound, error) {
	c = c.corner(latest, n.dims(s.readyDelays()...))
	early := append(append([]delay{runPodSandbox, imageStatus}, s.starts()...), s.ahead()...) // the sleeps count from before the start
	soon := c.corner(false, n.dims(early...))
	c = soon.corner(latest, n.dims(s.alongside()...))
	if s.init() != "" {
		c.InitRuns, soon.InitRuns = young, young
	}
	last := s.sleeps(c.question.probes[len(c.question.probes)-1])
	longest, ages := soon.in(last, last.to), s.youngAges(&c)
	meets := f
	if s.Probe(trace.Startup) != nil {
		one := f
		if !atOnce {
			one = remember(s.upAfterOneFailure)
		}
		meets = func(c Case) (sample, error) {
			c, err := s.sleepsToSuccess(c, latest, atOnce)
			if err != nil {
				return sample{}, err
			}
			return one(c)
		}
	}
	if latest {
		for _, one := range []struct {
			f measure
			c Case
		}{{f, longest}, {meets, c}} {
			own, err := one.f(one.c)
			if err != nil {
				return b, err
			}
			if b = b.Or(own.bound); b.found(latest) {
				return b, nil
			}
		}
	}
	lag, err := s.overStartRelists(c, ages, s.lag)
	if err != nil {
		return b, err
	}
	c = lag.end(latest)
	own, err := meets(c)
	if b = b.Or(own.bound); err != nil || b.found(latest) {
		return b, err
	}
	if s.Probe(trace.Startup) != nil {
		for _, c := range n.relistsAt(c, s.period(trace.Startup)-time.Second) {
			if b, err = parts(c, ages, ages.evenly(agesTried), meets, b, timeTolerance); err != nil || b.found(latest) {
				return b, err
			}
		}
	}
	for _, c := range []Case{c, c.in(last, last.to)} {
		if err := s.atSecond(&c, latest); err != nil {
			return b, err
		}
		if b, err = s.onwardOverSleeps(c, latest, f, b); err != nil || b.found(latest) {
			return b, err
		}
	}
	if b, err = s.overAlongside(n, f, b); err != nil || b.found(latest) {
		return b, err
	}
	if atOnce && s.Probe(trace.Startup) == nil {
		awake := c.in(last, 0)
		b, err = s.overReadyOrders(n, awake, n.dims(s.readyDelays()...), f, b)
	}
	return b, err
}

// relistsAt returns the case, one with the shortest lists, and one with lists of a length for which relists begin some time after each other.
func (n Nodes) relistsAt(c Case, after time.Duration) []Case {
	list := []Case{c}
	for _, d := range n.dims(listContainers) {
		list = append(list, c.in(d, d.from))
		if own := after/(after/c.relistPeriod()+1) - time.Second - c.value(listPodSandbox); own > d.from {
			list = append(list, c.in(d, own))
		}
	}
	return list
}

// agesTried is the number of ages of a young kubelet at which overSleeps begins.
const agesTried = 16

// evenly returns some points of the dimension.
func (d dim) evenly(n time.Duration) []time.Duration {
	var points []time.Duration
	for i := range n + 1 {
		points = append(points, d.from+(d.to-d.from)*i/n)
	}
	return slices.Compact(points)
}

// youngAges returns the dimension of the age of a young kubelet.
func (s *Subject) youngAges(c *Case) dim {
	d := uptimes(c)
	for _, p := range c.question.probes {
		d.to = max(min(d.to, s.period(p)-1), d.from)
	}
	return d
}

// onwardOverSleeps extends a bound by the cases that differ from one in one sleep after the other, as long as a round finds a better one.
func (s *Subject) onwardOverSleeps(c Case, latest bool, f measure, b Bound) (Bound, error) {
	first, err := f(c)
	if err != nil {
		return b, err
	}
	own := first.bound.toward(b.goal)
	for range maxRounds {
		if own.found(latest) || own.isNone() {
			break
		}
		before := own
		for _, p := range c.question.probes {
			end, d := own.end(latest), s.sleeps(p)
			end.Event, end.Rules = 0, nil
			points, err := s.wakings(end, d)
			if err != nil {
				return b, err
			}
			if own, err = parts(end, d, points, f, own, timeTolerance); err != nil {
				return b, err
			}
		}
		if own.Greatest-before.Greatest < timeTolerance && before.Least-own.Least < timeTolerance {
			break
		}
	}
	return b.Or(own), nil
}

// sleepsToSuccess returns the case with a run of the startup probe just before the sync that shows the start, and the first look of the readiness probe
// just before the success of the startup probe, so that its sync comes before that of the success. For the least time, both come just after. If the
// program comes up after the first run of the startup probe, that run comes just after the sync, and the first look before the next run.
func (s *Subject) sleepsToSuccess(c Case, latest, atOnce bool) (Case, error) {
	aside := justBefore
	if latest {
		aside = -justBefore
	}
	toward := func(p trace.Probe, tick, moment virtual.Time, aside time.Duration) {
		d := s.sleeps(p)
		c = c.in(d, modulo(d.get(&c)+moment.Add(aside).Sub(tick), s.period(p)))
	}
	if err := s.atSecond(&c, latest); err != nil {
		return c, err
	}
	l, err := s.landmarks(c)
	if err != nil {
		return c, err
	}
	shown := l.syncs[len(l.syncs)-1]
	counts := shown
	if s.delay(trace.Startup) > 0 {
		counts = max(counts, l.delays[0])
	}
	tick, ticks := l.ticks[trace.Readiness]
	if !atOnce && latest {
		toward(trace.Startup, l.ticks[trace.Startup], counts, justBefore)
		if ticks {
			toward(trace.Readiness, tick, shown, -justBefore)
		}
		return c, nil
	}
	toward(trace.Startup, l.ticks[trace.Startup], counts, aside)
	if !ticks {
		return c, nil
	}
	one, err := s.upAt(c, c.Event)
	if err == nil && one.started > 0 {
		toward(trace.Readiness, tick, virtual.At(one.started), aside)
	}
	return c, err
}

// sleeps returns the dimension of the sleep of the worker of a probe.
func (s *Subject) sleeps(p trace.Probe) dim {
	d := startJitters(s.period(p))
	d.probe = p
	d.get = func(c *Case) time.Duration {
		jitter, ok := c.sleeps[p]
		if !ok {
			jitter = c.StartJitter
		}
		return time.Duration(jitter * float64(s.period(p)))
	}
	d.set = func(c *Case, x time.Duration) {
		c.sleeps = maps.Clone(c.sleeps)
		if c.sleeps == nil {
			c.sleeps = map[trace.Probe]float64{}
		}
		c.sleeps[p] = float64(x) / float64(s.period(p))
	}
	return d
}

// wakings returns the points of a dimension next to which what the probes see meets their ticks.
func (s *Subject) wakings(c Case, d dim) ([]time.Duration, error) {
	l, err := s.landmarks(c)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(s.meetings(c, l, d), func(m meeting) bool { return m.probe != d.probe })
	points := append(d.around(list), d.evenly(pieces)...)
	slices.Sort(points)
	return slices.Compact(points), nil
}

// neverLaterWhenYoung is neverLater on a young kubelet, on which the two probes can have any phase against each other.
func (s *Subject) neverLaterWhenYoung(n Nodes) bool {
	p := trace.Liveness
	if s.Probe(p) == nil || s.Probe(trace.Startup) != nil || !s.derivesReadyWhenYoung() || !s.startsAlone() {
		return false
	}
	r := s.newReadying(n, false)
	stops := max(0, s.delays(p).Max-r.shown.Min) + s.failures(p)*s.step(n, p) + s.lastConnection(n, p).Max
	return stops <= r.seconds.Min-r.shown.Max
}

// derivesReadyWhenYoung reports whether the rules of readyLimitsWhenYoung hold for the container.
func (s *Subject) derivesReadyWhenYoung() bool {
	return s.Probe(trace.Readiness) != nil && s.derivesReady() && s.SleepsWhenYoung() && !s.Profile.MutableContainerProbes
}

// readyLimitsWhenYoung is readyLimits on a young kubelet. The workers of the two probes sleep for random times, so their ticks have any phase against the
// start and against each other. A sync that comes while the worker of the readiness probe sleeps leads to a run just after its first one.
func (s *Subject) readyLimitsWhenYoung(n Nodes, atOnce bool) (least, greatest time.Duration) {
	r := s.newReadying(n, atOnce)
	wakes := r.period - s.begins(n, trace.Readiness).Min // the longest time from the start until the first run of the readiness probe
	r.sleep, r.resyncs = true, r.resyncs || wakes+r.successes*r.step >= resync
	switch {
	case r.startup != nil:
		least, greatest = s.afterSleeps(n, &r, wakes, atOnce)
	case atOnce:
		least, greatest = r.atOnceWhenYoung(wakes)
	default:
		least, greatest = r.triggered(r.syncsWhenYoung(r.seconds.Min, r.resetsWhenYoung(wakes)), 0), r.successes*r.step
		if r.successes > 1 {
			least = max(0, least-s.lastConnection(n, trace.Readiness).Max)
		}
	}
	least, greatest = s.withOtherSyncs(n, &r, atOnce, least, greatest)
	return least + r.took.Min + r.write.Min, greatest + r.took.Max + r.writesAtMost()
}

// syncsWhenYoung is the greatest number of runs that can follow the first one because of syncs: the one for which a trigger waits when the worker
// wakes up, those for its initial result and for an event of a relist, and one without an event. If the first run comes after the syncs that begin the
// period, only the last one is left.
func (r *readying) syncsWhenYoung(first time.Duration, resets fakeruntime.Draw) time.Duration {
	if first > max(resets.Max, r.shown.Max+r.period+r.wait) { // with the first look a period after a wasted trigger
		return r.resync()
	}
	return 3 + r.resync()
}

// resetsWhenYoung returns the times from the start until a sync begins the period of the readiness probe. Long after the start, a sync comes at once.
func (r *readying) resetsWhenYoung(wakes time.Duration) fakeruntime.Draw {
	return fakeruntime.Draw{Min: r.shown.Min, Max: max(r.settled+r.wait, wakes+r.lists.Max)}
}

// atOnceWhenYoung is atOnce on a young kubelet.
func (r *readying) atOnceWhenYoung(wakes time.Duration) (least, greatest time.Duration) {
	resets := r.resyncing(r.resetsWhenYoung(wakes))
	first := firstFrom(r.seconds.Min, r.period, resets)
	if r.resyncs {
		first = max(r.seconds.Min, r.shown.Min)
	}
	least = first + r.triggered(r.syncsWhenYoung(first, resets), 0)
	switch greatest = (r.successes - 1) * r.step; {
	case r.seconds.Max <= min(r.shown.Max, r.next):
		greatest = r.atOnceAtMost()
	case r.seconds.Max <= r.shown.Max:
		greatest += r.shown.Max + r.period
	default:
		greatest += lastFrom(r.seconds.Max, r.period, resets)
	}
	if later := r.successes - 1; later > 0 { // the second run follows the first one at once
		wakes += r.took.Max + (later-1)*r.step
	}
	return least, max(greatest, wakes)
}

// afterSleeps is afterStartup on a young kubelet.
func (s *Subject) afterSleeps(n Nodes, r *readying, wakes time.Duration, atOnce bool) (least, greatest time.Duration) {
	p := trace.Startup
	took, seconds, step := r.startup.took, s.delays(p), s.step(n, p)
	if s.delay(trace.Readiness) <= s.delay(p) { // both count from the same second
		r.seconds = fakeruntime.Draw{}
	}
	// The first run of the startup probe, and the last one that can succeed, from the start.
	first := fakeruntime.Draw{Min: max(r.shown.Min, seconds.Min), Max: max(r.shown.Max, seconds.Max) + s.period(p)}
	last := first.Max
	if !atOnce {
		last += (s.failures(p) - 1) * step
	}
	done := fakeruntime.Draw{Min: first.Min + took.Min, Max: first.Max + took.Max} // from the start, or from the moment at which the program comes up
	delay, earliest := r.seconds, max(first.Min+took.Min, r.seconds.Min)
	if !atOnce {
		if s.failures(p) == 1 { // the program comes up when the only run begins
			step = 0
		}
		if s.lastConnection(n, p).Max > 0 {
			step = s.step(n, p)
		}
		done = fakeruntime.Draw{Min: took.Min, Max: step + took.Max}
		earliest = max(took.Min, r.seconds.Min-last)
		wakes -= first.Min
		delay.Min, delay.Max = max(0, delay.Min-last), max(0, delay.Max-first.Min)
	}
	looks := r.shown.Max + r.period // the first look of the readiness probe, whose worker wakes up just before the sync that shows the start
	if !atOnce {
		looks -= first.Min
	}
	resets := fakeruntime.Draw{Min: done.Min, Max: max(done.Max+3*r.wait, looks+r.wait)}
	r.resyncs = max(last+took.Max+3*r.wait, r.period+2*r.wait, r.seconds.Max)+r.successes*r.step >= resync
	if !atOnce || r.resyncs {
		least = earliest
	} else {
		least = firstFrom(delay.Min, r.period, resets)
	}
	syncs := r.syncsWhenYoung(least, resets)
	if done.Min > looks+r.wait { // no sync is left but that for the success
		syncs = min(syncs, 1+r.resync())
	}
	least += r.triggered(syncs, 0)

	behind := max(r.behind(), r.get) // the status manager is still at work
	greatest = done.Max + behind
	waits := r.relist() + r.lists.Max // the sync for the success comes just after another one
	if waits < r.write.Max+r.get {
		waits += r.get
	}
	looked := looks + max(0, s.period(p)-r.period) // the last event before the success
	if r.shown.Min+resync <= last+took.Max {
		looked = done.Max
	}
	waited := min(done.Max, looked+r.wait) + min(waits, r.lists.Max+r.period+behind)
	if atOnce && seconds.Max == 0 {
		waited = min(waited, r.shown.Max+r.waitsAfterTick(s.period(p)+took.Max)+r.get)
	}
	greatest = max(greatest, waited)
	if delay.Max > 0 {
		if r.resyncs {
			resets.Max = max(resets.Max, delay.Max)
		}
		greatest = max(greatest, lastFrom(delay.Max, r.period, resets))
	}
	greatest += (r.successes - 1) * r.step
	if wakes += behind; r.successes > 1 { // the sync after the success leads to the second run
		wakes += min(r.step, max(r.took.Max, r.wait)) + (r.successes-2)*r.step
	}
	return least, max(greatest, wakes)
}

// waitsAfterTick returns the longest time from the sync that shows the start until a sync that waits for a relist, for an event up to some time after the
// former.
func (r *readying) waitsAfterTick(event time.Duration) time.Duration {
	u := *r
	u.startup = &startupRun{}
	return max(u.relisted(event, 0).moment, u.relisted(event, 1).moment, u.relisted(event, 2).moment-r.lists.Max)
}
