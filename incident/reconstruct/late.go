package reconstruct

import (
	"fmt"
	"slices"
	"time"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// delaying are the actions from outside that delay what follows: the kubelet does not sync pods while its runtime is away or not ready, nor
// while it is down itself, and it cannot store a status while the API server is away. None of them leaves a fact of its own if no command of a
// probe runs meanwhile.
var delaying = []string{"runtimeDown: {for: %s}", "runtimeDown: {for: %s, condition: RuntimeReady}", "apiDown: {for: %s}", "restartKubelet: {downtime: %s}"}

// mostOutages is the number of gaps for which editsOfOutages adds steps.
const mostOutages = 4

// noticed is the time in which the kubelet notices that its runtime is not ready: it looks every 5 s.
const noticed = 5200 * time.Millisecond

// late returns by how much later the last record before the window of a gap should be, if there is one.
func (g *gap) late() (by time.Duration, known bool) {
	for _, t := range g.times {
		if t < g.from {
			by, known = g.from+(g.to-g.from)/2-t, true
		}
	}
	return by, known
}

// editsOfOutages returns edits that add an outage, after which a late fact is as late as recorded: one that is later than in the best run
// so far, or one that follows an end that was earlier. If the runtime goes away while it stops a container, the kubelet stops the container
// again later, with the same event (killContainer in pkg/kubelet/kuberuntime/kuberuntime_container.go, v1.37.0). The edits also restart the
// kubelet before an event that is missing: it tells again about a pod that has ended.
func (s *search) editsOfOutages(gaps []gap, scripts map[string]*script) []edit {
	var list []edit
	add := func(at, length time.Duration, change func(m *model)) {
		if at = max(round(at), time.Millisecond); length < 500*time.Millisecond || at >= s.best.plan.Duration {
			return
		}
		for _, action := range delaying {
			step := fmt.Sprintf("at: %s, "+action, value.Format(at), value.Format(round(length)))
			list = append(list, func(m *model) {
				if change != nil {
					change(m)
				}
				p := m.part("", hidden)
				p.steps = append(slices.Clone(p.steps), step)
			})
		}
	}
	if slices.ContainsFunc(gaps, func(g gap) bool { return ofStatus[g.claim.Fact.Kind] }) {
		list = append(list, s.editsOfStale()...)
	}
	for _, g := range gaps[:min(len(gaps), mostOutages)] {
		middle := g.from + (g.to-g.from)/2
		by, known := g.shift()
		late, before := g.late()
		if before && late > time.Second {
			for _, sooner := range []time.Duration{hiddenBefore, noticed} {
				for _, less := range []time.Duration{0, time.Second, late / 4} {
					add(middle-late-sooner, sooner+late-less, nil)
				}
			}
		}
		if f := g.claim.Fact; before && late > time.Second && f.Reason == "Killing" {
			add(middle-late+hiddenBefore, late-hiddenBefore, func(m *model) { // the stop did not take so long by itself
				if p := m.part(f.Container, "stop"); p != nil {
					p.rules = nil
				}
			})
		}
		switch {
		case known && by < -time.Second && g.claim.Fact.Kind == incident.Terminated:
			t := scripts[g.claim.Fact.Container]
			if t == nil {
				continue
			}
			for i, l := range t.lives {
				if took := middle - l.start; l.exits && (l.start+l.took-middle+by).Abs() < time.Second && took > 0 {
					add(middle-hiddenBefore, -by-500*time.Millisecond, func(m *model) {
						n := t.clone()
						n.lives[i].took = took
						m.take(n)
					})
				}
			}
		case len(g.times) == 0 && g.claim.Fact.Kind == incident.Event:
			for _, before := range []time.Duration{3500 * time.Millisecond, 10 * time.Second, 30 * time.Second} {
				if at := round(middle - before); at > 0 {
					list = append(list, func(m *model) {
						p := m.part("", hidden)
						p.steps = append(slices.Clone(p.steps), fmt.Sprintf("at: %s, restartKubelet: {}", value.Format(at)))
					})
				}
			}
		}
	}
	return list
}

// ofStatus are the kinds of facts that tell the status of a pod at the end of the recording.
var ofStatus = map[incident.Kind]bool{incident.Condition: true, incident.Running: true, incident.Waiting: true, incident.Restarts: true, incident.Ready: true, incident.Started: true}

// mostStale is the number of statuses, the last ones of a run, that editsOfStale tries not to store.
const mostStale = 8

// editsOfStale returns edits after which the API server is away from some status of the pod on: the status that is recorded is then older than
// the other facts.
func (s *search) editsOfStale() []edit {
	var list []edit
	for i := range slices.Backward(s.best.run.Records) {
		r := &s.best.run.Records[i]
		at := round(r.T.Offset() - hiddenBefore)
		if r.Kind != trace.StatusPatched || at <= 0 {
			continue
		}
		list = append(list, func(m *model) {
			p := m.part("", hidden)
			p.steps = append(slices.Clone(p.steps), fmt.Sprintf("at: %s, apiDown: {}", value.Format(at)))
		})
		if len(list) == mostStale {
			break
		}
	}
	return list
}
