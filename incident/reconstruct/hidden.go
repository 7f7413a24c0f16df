package reconstruct

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// hidden is the part with what happened from outside without a fact of its own: only the times of other facts tell it.
const hidden = "hidden"

// tryHidden removes what happened without a fact of its own. Repairs add it.
func tryHidden(*search, *part) []choice { return []choice{{name: "none"}} }

// maxHidden is the maximum number of steps without a fact of their own.
const maxHidden = 4

// editsOfSteps returns edits that move steps, change how long their effects last, or remove them, and edits that add a step which leaves no
// fact of its own.
func (s *search) editsOfSteps(gaps []gap, scripts map[string]*script) []edit {
	var list []edit
	shifts := shiftsOf(gaps)
	for _, p := range s.model.parts {
		for i, step := range p.steps {
			change := func(to ...string) {
				list = append(list, func(m *model) {
					if p := m.part(p.container, p.what); i < len(p.steps) && p.steps[i] == step {
						p.steps = append(append(slices.Clone(p.steps[:i]), to...), p.steps[i+1:]...)
					}
				})
			}
			for _, by := range shifts {
				for _, to := range movedSteps(step, by) {
					change(to)
				}
			}
			for _, to := range fittedSteps(step, gaps) {
				change(to)
			}
			if p.what != "gates" {
				change()
			}
		}
	}
	if !s.model.deleted.IsZero() {
		for _, by := range shifts {
			list = append(list, func(m *model) { m.deleted = m.deleted.Add(by) })
		}
	}
	return append(list, s.editsOfHidden(gaps, scripts)...)
}

// shiftsOf returns by how much later something can be because of gaps, and some common differences.
func shiftsOf(gaps []gap) []time.Duration {
	var shifts []time.Duration
	add := func(by time.Duration) {
		if by = round(by); by != 0 && !slices.Contains(shifts, by) {
			shifts = append(shifts, by)
		}
	}
	for _, g := range gaps {
		for _, by := range g.shifts() {
			if len(shifts) < 16 {
				add(by)
			}
		}
	}
	for _, by := range []time.Duration{300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second} {
		add(by)
		add(-by)
	}
	return shifts
}

var (
	stepTime   = regexp.MustCompile(`^at: ([^,]+), `)
	stepLength = regexp.MustCompile(`\{(for|downtime): ([^,}]+)`)
)

// movedSteps returns a step that is later, and if its effect lasts for some time, the step with an effect that ends later, and the step
// that is later with an effect that ends when it did.
func movedSteps(step string, by time.Duration) []string {
	when, length := stepTime.FindStringSubmatchIndex(step), stepLength.FindStringSubmatchIndex(step)
	if when == nil {
		return nil
	}
	at, err := value.ParseDuration(step[when[2]:when[3]])
	if err != nil {
		return nil
	}
	var list []string
	later := ""
	if at+by > 0 {
		later = "at: " + value.Format(round(at+by)) + ", "
		list = append(list, later+step[when[1]:])
	}
	if length == nil {
		return list
	}
	lasts, err := value.ParseDuration(step[length[4]:length[5]])
	if err != nil {
		return list
	}
	lasting := func(d time.Duration) string {
		return step[when[1]:length[4]] + value.Format(round(d)) + step[length[5]:]
	}
	if lasts+by > 0 {
		list = append(list, step[:when[1]]+lasting(lasts+by))
	}
	if lasts-by > 0 && later != "" {
		list = append(list, later+lasting(lasts-by))
	}
	return list
}

// fittedSteps returns a step with an effect that ends shortly before a fact that is later than in the best run so far, or begins shortly
// after the record before that fact, or both.
func fittedSteps(step string, gaps []gap) []string {
	when, length := stepTime.FindStringSubmatch(step), stepLength.FindStringSubmatchIndex(step)
	if when == nil || length == nil {
		return nil
	}
	at, err := value.ParseDuration(when[1])
	if err != nil {
		return nil
	}
	lasts, err := value.ParseDuration(step[length[4]:length[5]])
	if err != nil {
		return nil
	}
	var list []string
	for _, g := range gaps[:min(len(gaps), mostOutages)] {
		late, known := g.late()
		if !known {
			continue
		}
		fact := g.from + (g.to-g.from)/2
		begins, ends := []time.Duration{at}, []time.Duration{at + lasts}
		for _, after := range []time.Duration{hiddenBefore, time.Second} {
			if begin := fact - late + after; begin > at {
				begins = append(begins, begin)
			}
		}
		for _, before := range []time.Duration{hiddenBefore, 500 * time.Millisecond, time.Second, noticed} {
			ends = append(ends, fact-before)
		}
		for i, begin := range begins {
			for k, end := range ends {
				if end > begin && i+k > 0 {
					list = append(list, fmt.Sprintf("at: %s, %s%s%s", value.Format(round(begin)), step[len(when[0]):length[4]], value.Format(round(end-begin)), step[length[5]:]))
				}
			}
		}
	}
	return list
}

// editsOfHidden returns edits that add a step which leaves no fact of its own, at the times of gaps: somebody changed the pod, after which
// the kubelet syncs it and runs the readiness probes of containers that are not ready; or the runtime lost a container.
func (s *search) editsOfHidden(gaps []gap, scripts map[string]*script) []edit {
	if p := s.model.part("", hidden); !s.desperate || len(p.steps) >= maxHidden {
		return nil
	}
	var list []edit
	add := func(at time.Duration, action string) {
		if at = round(at); at <= 0 || at >= s.best.plan.Duration {
			return
		}
		list = append(list, func(m *model) {
			p := m.part("", hidden)
			p.steps = append(slices.Clone(p.steps), fmt.Sprintf("at: %s, %s", value.Format(at), action))
		})
	}
	pod := s.model.pod.Name
	for _, at := range s.momentsOf(gaps) {
		add(at-hiddenBefore, fmt.Sprintf("patch: {pod: %s, metadata: {annotations: {changed: %q}}}", pod, value.Format(round(at))))
	}
	list = append(list, s.editsOfOutages(gaps, scripts)...)
	for _, c := range s.model.containers() {
		alike := s.alikeExits(c)
		for i, l := range scripts[c.Name].lives { // it did not exit by itself, and the others as they did or at the recorded age
			at := round(l.start + l.took)
			if !l.exits || countOf(gaps, c.Name) == 0 {
				continue
			}
			for _, exits := range append([][]rule{nil}, alike...) {
				list = append(list, func(m *model) {
					n := scripts[c.Name].clone()
					n.lives[i].exits = false
					m.take(n)
					if exits != nil {
						m.part(c.Name, "exits").rules = exits
					}
					p := m.part("", hidden)
					p.steps = append(slices.Clone(p.steps), fmt.Sprintf("at: %s, kill: {pod: %s, container: %s, remove: true}", value.Format(at), pod, c.Name))
				})
			}
		}
		for _, probe := range probesOf(c) {
			for _, o := range s.outages(c, probe) { // a request to a container that is gone has no answer
				if countOf(gaps, c.Name) > 0 {
					add(o.first-hiddenBefore, fmt.Sprintf("kill: {pod: %s, container: %s, remove: true}", pod, c.Name))
				}
			}
		}
		for _, g := range gaps {
			if k := g.claim.Fact.Kind; g.about(c.Name) && (k == incident.Restarts || k == incident.Waiting || k == incident.Terminated) {
				for _, before := range []time.Duration{hiddenBefore, time.Second, 2 * time.Second, 5 * time.Second} {
					add(g.from+(g.to-g.from)/2-before, fmt.Sprintf("kill: {pod: %s, container: %s, remove: true}", pod, c.Name))
				}
			}
		}
	}
	return list
}

// alikeExits returns rules with which all instances of a container exit at the recorded age, if there is one.
func (s *search) alikeExits(c *v1.Container) [][]rule {
	var list [][]rule
	age, code, says := s.exitAge(c)
	for _, at := range age.grid(4) {
		list = append(list, []rule{{fmt.Sprintf("after: %s, exit: %d", value.Format(max(round(at), time.Millisecond)), code), says}})
	}
	return list
}

// hiddenBefore is the time from a step to what follows it.
const hiddenBefore = 30 * time.Millisecond

// mostMoments is the maximum number of times at which a repair adds a step.
const mostMoments = 20

// momentsOf returns the times of what is missing, at most a few: of the requests of probes, if these failed later, and of the runs of
// readiness probes before them. A sync of a pod that is not ready runs its readiness probes, which then run a number of periods later again.
func (s *search) momentsOf(gaps []gap) []time.Duration {
	var list []time.Duration
	add := func(at time.Duration) {
		if at = round(at); len(list) < mostMoments && !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	for _, g := range gaps {
		middle := g.from + (g.to-g.from)/2
		add(middle)
		f := g.claim.Fact
		if c, u := s.model.spec(f.Container), incident.ParseUnhealthy(f.Message); c != nil && u.Probe != "" {
			if p := incident.ProbeOf(c, u.Probe); p != nil && waitedFor(p, f) {
				add(middle - fullTimeout(p, u))
			}
		}
	}
	for _, g := range gaps {
		f := g.claim.Fact
		c, u := s.model.spec(f.Container), incident.ParseUnhealthy(f.Message)
		if c == nil || u.Probe != trace.Readiness || incident.ProbeOf(c, u.Probe) == nil {
			continue
		}
		p := incident.ProbeOf(c, u.Probe)
		request := g.from + (g.to-g.from)/2
		if waitedFor(p, f) {
			request -= fullTimeout(p, u)
		}
		for n := range time.Duration(3) {
			add(request - (n+1)*period(p))
		}
	}
	return list
}
