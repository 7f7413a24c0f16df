package reconstruct

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// addParts adds the dimensions of a container: its exits, and each of its probes. The first ones explain what they can, so the probes come
// first if they killed as many instances as ended.
func (m *model) addParts(c *v1.Container) {
	first := []*part{
		{container: c.Name, what: "exits", try: func(s *search, p *part) []choice { return tryExits(s, c) }},
		{container: c.Name, what: "stop", try: func(s *search, p *part) []choice { return tryStop(s, c) }}}
	var then []*part
	if len(probesOf(c)) > 1 {
		then = append(then, &part{container: c.Name, what: allProbes, try: func(s *search, p *part) []choice { return tryTogether(s, c) }})
	}
	for _, probe := range probesOf(c) {
		then = append(then, &part{container: c.Name, what: string(probe), try: func(s *search, p *part) []choice { return tryProbe(s, p, c, probe) }})
	}
	if m.killed(c) {
		first, then = then, first
	}
	m.parts = append(append(m.parts, first...), then...)
}

// killed reports whether probes killed as many instances of a container as ended. The kubelet may have dropped the events about some.
func (m *model) killed(c *v1.Container) bool {
	kills, restarts := m.kills(c.Name, trace.Liveness)+m.kills(c.Name, trace.Startup), m.restarts(c.Name)
	if m.noisy("Normal") {
		restarts = -1
		for _, f := range m.pod.Facts {
			if f.Kind == incident.Event && f.Reason == "Started" && f.Container == c.Name {
				restarts += f.Count
			}
		}
	}
	return kills > 0 && kills >= restarts
}

func period(p *v1.Probe) time.Duration {
	if p.PeriodSeconds == 0 {
		return 10 * time.Second
	}
	return time.Duration(p.PeriodSeconds) * time.Second
}

// between returns a draw: the recording tells only that a moment is in this range. Without a seed a run takes the middle.
func between(from, to time.Duration) string {
	from, to = max(round(from), 0), max(round(to), 0)
	if from >= to {
		return value.Format(to)
	}
	return value.Format(from) + ".." + value.Format(to)
}

// tryProbe returns behaviors that fail a probe as recorded.
func tryProbe(s *search, part *part, c *v1.Container, probe trace.Probe) []choice {
	p := incident.ProbeOf(c, probe)
	tick := period(p)
	outages := s.outages(c, probe)
	if len(outages) == 0 {
		return s.unrecorded(c, probe)
	}
	answers := definitionsOf(outages)
	list := []choice{{name: "none"}}
	rare := false
	add := func(name string, rules []rule) {
		list = append(list, choice{name: name, rules: rules, answers: answers, rare: rare})
	}
	add("windows", absolute(outages, probe, tick))
	if ok := s.otherwiseOK(c, probe); ok != nil {
		add("only windows", append(ok, absolute(outages, probe, tick)...))
	}
	if rules := s.betweenRuns(c, outages, probe, tick); rules != nil {
		add("windows between runs", rules)
	}
	if late := s.failsLater(c, probe); late != nil {
		add("windows and later", append(absolute(outages, probe, tick), *late))
	}
	if killed := s.failsBeforeKills(c, probe); killed != nil {
		add("windows and kills", append(killed, absolute(outages, probe, tick)...))
	}
	if killed := s.failsAtAge(c, probe); killed != nil {
		add("windows and age", append(absolute(outages, probe, tick), *killed))
		add("slow start and age", append(slowStart(s, c, outages, probe, tick), *killed))
	}
	add("each life to the end", eachLife(s, c, outages, probe, tick, true))
	add("each life", eachLife(s, c, outages, probe, tick, false))
	add("slow start", slowStart(s, c, outages, probe, tick))
	add("for ever", []rule{{text: fmt.Sprintf("%s: %s", probe, outages[0].word), comment: outages[0].says}})
	for _, name := range []string{"counted", "counted at the end", "counted in the middle", "one by one"} {
		if rules := s.counted(c, outages, probe, tick, name); rules != nil {
			add(name, rules)
		}
	}
	add("every", recurrent(outages, probe, tick))
	for _, rules := range byCount(outages, probe, tick) {
		add("by count", rules)
	}
	if slow := s.slowAnswer(probe, tick); slow != nil {
		for _, base := range slices.Clone(list[1:min(len(list), 6)]) {
			list = append(list, choice{name: "slow and " + base.name, rules: append([]rule{*slow}, base.rules...), answers: base.answers})
		}
	}
	rare = true
	if probe == trace.Startup {
		for _, slow := range s.slowStartups(c) {
			for _, base := range slices.Clone(list[1:min(len(list), 6)]) {
				list = append(list, choice{name: "slow startup and " + base.name, rare: true, rules: append(slices.Clone(slow.rules), base.rules...), answers: base.answers})
			}
		}
	}
	if s.model.restarts(c.Name) > 0 {
		after := max(s.since(c, outages[0].first), 0)
		for _, begin := range []string{fmt.Sprintf("after: %s, ", between(after-tick, after)), ""} {
			for _, length := range lengths(outages[0].last - outages[0].first) {
				var rules []rule
				for _, o := range outages {
					rules = append(rules, rule{fmt.Sprintf("%sfor: %s, %s: %s", begin, value.Format(length), probe, o.word), o.says})
				}
				if len(rules) == 1 {
					add("each life for", rules)
				}
			}
		}
	}
	fits := s.fits(c, probe, outages)
	for _, rules := range s.inTurn(c, outages, probe, tick) {
		add("in turn", rules)
		for _, stop := range tryStop(s, c) {
			if len(stop.rules) > 0 && s.model.kills(c.Name, probe) > 0 {
				add("in turn and stop", append(slices.Clone(rules), stop.rules...))
			}
		}
	}
	if s.desperate {
		list = append(list, overruns(p, outages, probe)...)
	}
	if slow := s.slowFailures(c, probe, outages); slow != nil {
		answers = definitionsOf(slow)
		add("slow windows", absolute(slow, probe, tick))
		for _, stop := range tryStop(s, c) {
			if len(stop.rules) > 0 && s.model.failsWhileStopped(c, probe) {
				add("slow windows and stop", append(absolute(slow, probe, tick), stop.rules...))
			}
		}
		fits = append(fits, s.fits(c, probe, slow)...)
	}
	if (probe == trace.Readiness || s.model.kills(c.Name, probe) == 0) && !s.model.failsWhileStopped(c, probe) {
		return append(list, fits...)
	}
	// The time that the container needs to stop decides when the probe runs again: try both together.
	for _, stop := range tryStop(s, c) {
		for _, base := range slices.Clone(list[:min(len(list), 6)]) {
			if len(stop.rules) > 0 && len(base.rules) > 0 {
				list = append(list, choice{name: base.name + " and " + stop.name, rules: append(slices.Clone(base.rules), stop.rules...), answers: base.answers})
			}
		}
	}
	return append(list, fits...)
}

// absolute fails the probe from before the first failure until after the last one. The shorter windows come last, and win.
func absolute(outages []outage, probe trace.Probe, tick time.Duration) []rule {
	var rules []rule
	sorted := slices.Clone(outages)
	slices.SortStableFunc(sorted, func(a, b outage) int { return cmp.Compare(b.last-b.first, a.last-a.first) })
	for _, o := range sorted {
		rules = append(rules, window(o.first, o.last, probe, o.word, tick, o.says))
	}
	return rules
}

// betweenRuns is absolute for probes whose runs in the best run so far are closer to each other than their period, such as those that the
// kubelet adds when a container has started: each window begins after the run before the first failure. It returns nil if absolute does.
func (s *search) betweenRuns(c *v1.Container, outages []outage, probe trace.Probe, tick time.Duration) []rule {
	closer := false
	var rules []rule
	for _, o := range outages {
		from, to := max(o.first-tick, 0), o.last+tick
		for _, r := range s.probeRuns(c.Name, probe) {
			at := r.T.Offset() - r.Took
			if before := o.first - near; at < before && at >= from {
				from, closer = at+time.Millisecond, closer || before-at < tick*8/10
			}
			if after := o.last + o.doubt + near; at > after && at < to {
				to, closer = at-time.Millisecond, closer || at-after < tick*8/10
			}
		}
		middle := (from + o.first) / 2
		rules = append(rules, rule{fmt.Sprintf("at: %s, for: %s, %s: %s", between(from, o.first), between(max(o.last-middle, 0)+time.Millisecond, to-middle), probe, o.word), o.says})
	}
	if !closer {
		return nil
	}
	return rules
}

// window returns a rule for failures from first to last. The program changed between two runs of the probe.
func window(first, last time.Duration, probe trace.Probe, word string, tick time.Duration, says string) rule {
	from := max(first-tick, 0)
	length := last - (from+first)/2
	return rule{fmt.Sprintf("at: %s, for: %s, %s: %s", between(from, first), between(length+time.Millisecond, length+tick-time.Millisecond), probe, word), says}
}

// since returns the time from the start of the instance in which a moment is.
func (s *search) since(c *v1.Container, at time.Duration) time.Duration {
	var last time.Duration
	for _, t := range s.starts(c.Name) {
		if t.Offset() <= at+time.Second {
			last = t.Offset()
		}
	}
	return at - last
}

// eachLife fails the probe in each instance from some time after its start on, until the last recorded failure or for ever.
func eachLife(s *search, c *v1.Container, outages []outage, probe trace.Probe, tick time.Duration, forever bool) []rule {
	var rules []rule
	last := time.Duration(0)
	for _, o := range outages {
		after := s.since(c, o.first)
		rules = append(rules, rule{fmt.Sprintf("after: %s, %s: %s", between(after-tick, after), probe, o.word), o.says})
		last = max(last, o.last)
	}
	if !forever {
		rules = append(rules, rule{fmt.Sprintf("at: %s, %s: ok", between(last+time.Millisecond, last+tick), probe), "No failure is recorded after this."})
	}
	return rules
}

// slowStart fails the probe for some time after each start.
func slowStart(s *search, c *v1.Container, outages []outage, probe trace.Probe, tick time.Duration) []rule {
	sorted := slices.Clone(outages)
	slices.SortStableFunc(sorted, func(a, b outage) int { return int(s.since(c, b.last) - s.since(c, a.last)) })
	var rules []rule
	for _, o := range sorted { // the shorter ones win
		length := max(s.since(c, o.last), 0)
		rules = append(rules, rule{fmt.Sprintf("for: %s, %s: %s", between(length+time.Millisecond, length+tick), probe, o.word), o.says})
	}
	return rules
}

// counted fails as many runs of the probe as are recorded, of those that the best run so far has.
func (s *search) counted(c *v1.Container, outages []outage, probe trace.Probe, tick time.Duration, how string) []rule {
	var rules []rule
	for _, o := range outages {
		var ticks []time.Duration
		for _, r := range s.probeRuns(c.Name, probe) {
			if at := r.T.Offset() - r.Took; at >= o.first-tick/2 && at <= o.last+o.doubt+tick/4 {
				ticks = append(ticks, at)
			}
		}
		if o.count > len(ticks) || len(ticks) == 0 {
			return nil
		}
		n := len(ticks)
		fails := make([]bool, n)
		switch how {
		case "counted":
			for i := range o.count - 1 {
				fails[i] = true
			}
			fails[n-1] = true
		case "counted at the end":
			fails[0] = true
			for i := range o.count - 1 {
				fails[n-1-i] = true
			}
		case "counted in the middle":
			for i := range o.count {
				fails[i*(n-1)/max(o.count-1, 1)] = true
			}
		case "one by one":
			for i := 0; i < n && i < 2*o.count; i += 2 {
				fails[i] = true
			}
			fails[n-1] = true
		}
		for i := 0; i < n; i++ {
			if !fails[i] {
				continue
			}
			j := i
			for j+1 < n && fails[j+1] {
				j++
			}
			rules = append(rules, window(ticks[i], ticks[j], probe, o.word, min(tick, 2*time.Second), o.says))
			i = j
		}
		if len(rules) > 200 {
			return nil
		}
	}
	return rules
}

// inTurn fails the probe in each instance in all ways, one after the other: each as often as the numbers of failures and instances tell.
func (s *search) inTurn(c *v1.Container, outages []outage, probe trace.Probe, tick time.Duration) [][]rule {
	kills := s.model.kills(c.Name, probe)
	if len(outages) < 2 || kills == 0 {
		return nil
	}
	sorted := slices.Clone(outages)
	slices.SortStableFunc(sorted, func(a, b outage) int { return cmp.Compare(a.first, b.first) })
	var list [][]rule
	after := max(s.since(c, sorted[0].first), 0)
	for _, lives := range []int{kills, kills + 1} {
		words, says := "", ""
		for i, o := range sorted {
			words += o.word
			if i+1 < len(sorted) {
				words += fmt.Sprintf(" x%d, ", max((o.count+lives/2)/lives, 1))
			}
			says += o.says + ". "
		}
		for _, clock := range []string{"", fmt.Sprintf("after: %s, ", between(after-tick, after))} {
			list = append(list, []rule{{fmt.Sprintf("%s%s: [%s]", clock, probe, words), says + "All instances are assumed to be alike."}})
		}
	}
	return list
}

// recurrent fails one run of the probe at a time, at equal distances between the first and the last failure.
func recurrent(outages []outage, probe trace.Probe, tick time.Duration) []rule {
	var rules []rule
	for _, o := range outages {
		if o.count < 3 {
			rules = append(rules, window(o.first, o.last, probe, o.word, tick, o.says))
			continue
		}
		every := (o.last - o.first) / time.Duration(o.count-1)
		rules = append(rules, rule{fmt.Sprintf("at: %s, every: %s, for: %s, %s: %s", between(o.first-tick, o.first), value.Format(max(round(every), time.Millisecond)),
			between(min(tick, every)/2, min(tick, every)), probe, o.word), o.says})
	}
	return rules
}

// byCount fails a number of runs in a row in each instance.
func byCount(outages []outage, probe trace.Probe, tick time.Duration) [][]rule {
	var list [][]rule
	o := outages[0]
	for _, n := range []int{o.count, max(o.count/2, 1), max(o.count/3, 1), max(o.count/4, 1)} {
		if len(outages) > 1 || n > 100_000 {
			break
		}
		text := fmt.Sprintf("at: %s, %s: [%s x%d, ok]", between(o.first-tick, o.first), probe, o.word, n)
		each := fmt.Sprintf("%s: [%s x%d, ok]", probe, o.word, n)
		list = append(list, []rule{{text, o.says}}, []rule{{each, o.says}})
	}
	return list
}

func isInit(pod *v1.Pod, c *v1.Container) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(i v1.Container) bool { return i.Name == c.Name })
}

func ptr[T any](v T) *T { return &v }
