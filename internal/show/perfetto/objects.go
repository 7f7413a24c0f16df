package perfetto

import (
	"math"
	"slices"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/history"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// objects adds a process with counters for each Deployment and each Service.
func (m *maker) objects(h *history.History) {
	for _, w := range h.Workloads {
		process := m.process("Deployment " + printable.Text(trace.PodName(w.Name)))
		m.levels(process, "Ready", w.Ready)
		m.levels(process, "desired", w.Desired)
		for _, s := range w.ReplicaSets {
			m.levels(process, printable.Text(trace.PodName(s.Name))+" Ready", s.Ready)
		}
	}
	for _, s := range h.Services {
		process := m.process("Service " + printable.Text(trace.PodName(s.Name)))
		m.levels(process, "endpoints", s.Endpoints)
		for _, r := range s.Routers {
			m.levels(process, printable.Text(r.Name)+" targets", r.Targets)
			m.lost(process, printable.Text(r.Name)+" lost a second", r.Losses)
		}
	}
}

func (m *maker) levels(process int, name string, levels []history.Level) {
	for _, l := range levels {
		m.counter(process, name, l.At, l.Value)
	}
}

// lost adds a counter of the requests that are lost a second. Those that are lost at one instant
// are a step in no time.
func (m *maker) lost(process int, name string, losses []history.Loss) {
	var times []virtual.Time
	for _, l := range losses {
		times = append(times, l.From, l.To)
	}
	slices.Sort(times)
	for _, t := range slices.Compact(times) {
		rate := 0.0
		for _, l := range losses {
			if l.From <= t && (t < l.To || l.From == l.To && t == l.To) {
				rate += l.Rate
			}
		}
		m.counter(process, name, t, int(math.Round(rate)))
	}
}

func (m *maker) counter(process int, name string, at virtual.Time, value int) {
	m.events = append(m.events, event{Phase: "C", Name: name, Process: process, Time: micros(at.Sub(m.zero)),
		Args: &args{Value: &value}})
}
