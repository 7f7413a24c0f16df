package reconstruct

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// script is what the program of a container does in a run, instance by instance: how long each lives, and what each run of a probe gets.
// Its times count from the start of the instance, so a change of one instance leaves the others as they are.
type script struct {
	c      *v1.Container
	lives  []lived
	series map[trace.Probe][]asked
	// definitions has the named answers of each probe.
	definitions map[trace.Probe][]string
}

// lived is an instance of a container. It exits by itself, or was stopped, or still runs.
type lived struct {
	number int
	start  time.Duration
	took   time.Duration // until it exited, or the run ended
	exits  bool          // by itself
	code   int
	says   string
	signal time.Duration // from the start to the stop signal; 0: none
}

// asked is a run of a probe, and the answer of the program. An empty answer is an immediate ok.
type asked struct {
	number int           // of the instance
	at     time.Duration // of the request
	word   string
	says   string
	failed bool // in a way that the recording does not have
}

// script returns what a container does in the best run so far.
func (s *search) script(c *v1.Container) *script {
	t := &script{c: c, series: map[trace.Probe][]asked{}, definitions: map[trace.Probe][]string{}}
	records := s.best.run.Records
	kinds := map[trace.Probe][]outage{}
	for _, probe := range probesOf(c) {
		kinds[probe] = s.outages(c, probe)
		t.definitions[probe] = definitionsOf(kinds[probe])
		if incident.ProbeOf(c, probe).Exec != nil {
			_, definition := lasting(probe)
			t.definitions[probe] = append(t.definitions[probe], definition)
			for i := range kinds[probe] {
				_, definition := overrun(probe, &kinds[probe][i])
				t.definitions[probe] = append(t.definitions[probe], definition)
			}
		}
	}
	for i := range records {
		r := &records[i]
		if r.Container != c.Name {
			continue
		}
		switch r.Kind {
		case trace.ContainerStarted:
			t.lives = append(t.lives, lived{number: r.Instance, start: r.T.Offset(), took: s.best.plan.Duration - r.T.Offset()})
		case trace.ContainerStopping:
			if l := t.life(r.Instance); l != nil && l.signal == 0 {
				l.signal = r.T.Offset() - l.start
			}
		case trace.ContainerExited:
			if l := t.life(r.Instance); l != nil {
				l.took, l.code = r.T.Offset()-l.start, int(r.ExitCode)
				l.exits = l.signal == 0 && r.ExitCode != 255
			}
		case trace.ProbeExecuted:
			t.series[r.Probe] = append(t.series[r.Probe], s.asked(c, r, kinds[r.Probe]))
		}
	}
	for _, probe := range probesOf(c) {
		all := t.series[probe]
		for i := range all {
			if l := t.life(all[i].number); all[i].failed && l != nil && all[i].at < l.start+l.took { // nobody answers after that
				all[i].word, all[i].says = "fail", unrecordedFailure
			}
		}
	}
	for _, f := range s.model.pod.Facts { // the exit codes that are recorded
		if f.Container == c.Name && f.Kind == incident.Terminated && f.Last.Known() {
			if l := t.life(s.model.numberOf(f)); l != nil && l.exits {
				l.code, l.says = int(max(min(f.ExitCode, 255), 0)), fmt.Sprintf("%s: instance %d exited with code %d", f.Place, l.number, f.ExitCode)
			}
		}
	}
	return t
}

// clone returns a copy that can change.
func (t *script) clone() *script {
	n := &script{c: t.c, lives: slices.Clone(t.lives), series: map[trace.Probe][]asked{}, definitions: t.definitions}
	for _, probe := range probesOf(t.c) {
		n.series[probe] = slices.Clone(t.series[probe])
	}
	return n
}

func probesOf(c *v1.Container) []trace.Probe {
	return slices.DeleteFunc(slices.Clone(trace.ProbeTypes), func(p trace.Probe) bool { return incident.ProbeOf(c, p) == nil })
}

const unrecordedFailure = "The recording has no such failure. Other facts tell that the probe failed."

// slowAfter is the time after which an answer is slow: the default latencies of the handlers are shorter.
const slowAfter = 100 * time.Millisecond

// asked returns the answer that a run of a probe got.
func (s *search) asked(c *v1.Container, r *trace.Record, kinds []outage) asked {
	x := asked{number: r.Instance, at: r.T.Offset() - r.Took}
	if r.Result == trace.Success {
		if r.Took > slowAfter {
			x.word = "ok in " + value.Format(round(r.Took))
		}
		return x
	}
	p := incident.ProbeOf(c, r.Probe)
	timeout := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	for i, o := range kinds {
		if o.matches(r) {
			x.word, x.says = o.word, o.says
			if p.Exec != nil && r.Took >= timeout && o.word != "hang" && !s.diedAt(c, r.T.Offset()) {
				name, _ := overrun(r.Probe, &kinds[i])
				x.word = name + " in " + value.Format(round(r.Took))
				return x
			}
			break
		}
	}
	switch {
	case x.word == "":
		x.failed = true
	case x.word == "hang" || x.word == late || p.GRPC != nil && x.word == "down" || r.Took <= slowAfter:
	case s.diedAt(c, r.T.Offset()) && p.Exec != nil:
		x.word, _ = lasting(r.Probe)
	case s.diedAt(c, r.T.Offset()):
		x.word = "hang"
	case r.Took < timeout:
		x.word += " in " + value.Format(round(r.Took))
	}
	return x
}

// matches reports whether a run of a probe failed in this way.
func (o *outage) matches(r *trace.Record) bool {
	return o.pattern == patternOf(incident.Unhealthy{Probe: r.Probe, Result: r.Result, Output: r.Message})
}

// patternOf returns what failures have in common that count as the same.
func patternOf(u incident.Unhealthy) string {
	if u.Result != trace.Failure {
		return string(u.Result)
	}
	if kind := kindOf(u.Output); kind != "" {
		return kind
	}
	return strings.TrimSpace(beginning(u.Output))
}

// life returns an instance, or nil.
func (t *script) life(number int) *lived {
	for i := range t.lives {
		if t.lives[i].number == number {
			return &t.lives[i]
		}
	}
	return nil
}

// exits returns the rules for the instances that exit by themselves.
func (t *script) exits() []rule {
	var rules []rule
	for _, l := range t.lives {
		if l.exits {
			says := l.says
			if says == "" {
				says = "The recording does not tell when this instance exited, nor its exit code: the times of the other facts do."
			}
			rules = append(rules, rule{fmt.Sprintf("instance: %d, after: %s, exit: %d", l.number, value.Format(max(round(l.took), time.Millisecond)), l.code), says})
		}
	}
	return rules
}

// answers returns the rules for the runs of a probe: one for each row of equal answers in an instance.
func (t *script) answers(probe trace.Probe) []rule {
	var rules []rule
	tick := period(incident.ProbeOf(t.c, probe))
	all := t.series[probe]
	for i := 0; i < len(all); i++ {
		if all[i].word == "" {
			continue
		}
		j := i
		for j+1 < len(all) && all[j+1].word == all[i].word && all[j+1].number == all[i].number {
			j++
		}
		if l := t.life(all[i].number); l != nil {
			rules = append(rules, rowRule(l, all, i, j, probe, tick))
		}
		i = j
	}
	return rules
}

// rowRule returns the rule for equal answers to the runs from i to j of an instance: it began after the run before, and ended before the
// next.
func rowRule(l *lived, all []asked, i, j int, probe trace.Probe, tick time.Duration) rule {
	first, last := all[i].at-l.start, all[j].at-l.start
	from, to := max(first-tick, 0), last+tick
	if i > 0 && all[i-1].number == l.number {
		from = max(from, all[i-1].at-l.start+time.Millisecond)
	}
	if j+1 < len(all) && all[j+1].number == l.number {
		to = min(to, all[j+1].at-l.start-time.Millisecond)
	}
	from, to = min(from, max(first, 0)), max(to, last+time.Millisecond)
	middle := (from + first) / 2
	begin := fmt.Sprintf("after: %s, ", between(from, first))
	if i == 0 || all[i-1].number != l.number { // from the start on
		begin, middle = "", 0
	}
	return rule{fmt.Sprintf("instance: %d, %sfor: %s, %s: %s", l.number, begin, between(last-middle+time.Millisecond, to-middle), probe, all[i].word), all[i].says}
}

// take gives the model the behavior of a script: its exits and the answers to its probes. What follows a stop signal stays as it is.
func (m *model) take(t *script) {
	if p := m.part(t.c.Name, "exits"); p != nil {
		p.rules = t.exits()
	}
	if p := m.part(t.c.Name, allProbes); p != nil {
		p.rules, p.answers = nil, nil
	}
	for _, probe := range probesOf(t.c) {
		if p := m.part(t.c.Name, string(probe)); p != nil {
			stop := slices.DeleteFunc(slices.Clone(p.rules), func(r rule) bool { return !strings.Contains(r.text, "afterSigterm: ") })
			p.rules = append(t.answers(probe), stop...)
			p.answers = t.definitions[probe]
		}
	}
}
