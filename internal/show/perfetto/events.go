package perfetto

import (
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/history"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// maker collects the events of one run.
type maker struct {
	writer *Writer
	run    *report.Run
	prefix string
	zero   virtual.Time // start of the file: t=0, or the first record if that is earlier
	end    virtual.Time

	names  []event
	events []event
	places map[int64]place // places of records, by step
	starts map[int64]bool  // steps that start probing: container starts and successes of startup probes
}

// place is an end of a flow.
type place struct {
	process, thread int
	at              virtual.Time
}

func (m *maker) make() {
	h := history.Read(m.run.Records, m.run.Until)
	m.end = h.End
	m.node(h)
	for _, p := range h.Pods {
		m.pod(p)
	}
	m.objects(h)
	for i := range m.run.Records {
		m.flow(&m.run.Records[i])
	}
}

func (m *maker) node(h *history.History) {
	if len(h.Marks) == 0 && len(h.Kubelet) == 0 {
		return
	}
	process := m.process("node")
	if len(h.Kubelet) > 0 {
		thread := m.thread(process, "kubelet")
		for i, f := range h.Kubelet {
			to, name := m.end, "down"
			if i+1 < len(h.Kubelet) {
				to = h.Kubelet[i+1].At
			}
			if f.On {
				name = "running"
			}
			m.slice(process, thread, "kubelet", name, f.At, to, f.Record)
		}
	}
	m.marks(process, h.Marks, "g")
}

// marks adds actions from outside.
func (m *maker) marks(process int, marks []history.Mark, scope string) {
	if len(marks) == 0 {
		return
	}
	thread := m.thread(process, "steps")
	for _, mark := range marks {
		m.instant(process, thread, "step", mark.What, scope, mark.Record)
	}
}

func (m *maker) pod(p *history.Pod) {
	process := m.process(printable.Text(trace.PodName(p.Name)))
	m.marks(process, p.Marks, "p")
	m.actions(process, "volumes", p.Waits)
	status := m.thread(process, "status")
	m.condition(process, status, "Ready", p.Ready)
	for _, c := range p.Containers {
		m.container(process, status, p, c)
	}
	if len(p.Events) > 0 {
		thread := m.thread(process, "events")
		for _, r := range p.Events {
			m.instant(process, thread, "event", printable.Text(r.Reason), "t", r)
		}
	}
}

func (m *maker) container(process, status int, p *history.Pod, c *history.Container) {
	name := printable.Text(c.Name)
	if len(c.Probes[trace.Startup]) > 0 {
		m.condition(process, status, name+" Started", c.Started)
	}
	if len(p.Containers) > 1 && len(c.Probes[trace.Readiness]) > 0 {
		m.condition(process, status, name+" Ready", c.Ready)
	}
	thread := m.thread(process, name)
	for _, s := range c.Life(p, m.end) {
		what := s.State
		if s.Reason != "" {
			what += " " + printable.Text(s.Reason)
		}
		m.slice(process, thread, "container", what, s.From, s.To, s.Record)
	}
	for i := range c.Runs {
		for _, r := range c.Runs[i].Records {
			m.starts[r.Step] = m.starts[r.Step] || r.Kind == trace.ContainerStarted
			title, _ := report.Describe(r)
			m.instant(process, thread, "container", title, "t", r)
		}
	}
	m.actions(process, name+" image pulls", c.Pulls)
	m.actions(process, name+" hooks", c.Hooks)
	for _, probe := range trace.ProbeTypes {
		if shots := c.Probes[probe]; len(shots) > 0 {
			m.probes(process, m.thread(process, name+" "+string(probe)), shots)
		}
	}
}

// actions adds a thread with a slice for each action, if there are any. Two preStop hooks of an
// instance can overlap: the second slice then begins at the end of the first.
func (m *maker) actions(process int, name string, actions []history.Action) {
	if len(actions) == 0 {
		return
	}
	thread, last := m.thread(process, name), m.zero
	for i := range actions {
		a := &actions[i]
		from, to := max(a.From, last), a.Until(m.end)
		what := a.What
		if a.End != nil {
			what += " " + string(a.End.Result)
		}
		m.slice(process, thread, "action", what, from, max(from, to), a.Record())
		last = max(last, to)
	}
}

// probes adds a slice for each probe run.
func (m *maker) probes(process, thread int, shots []*trace.Record) {
	last := m.zero
	for _, r := range shots {
		from := max(r.T.Add(-r.Took), last)
		last = r.T
		m.starts[r.Step] = r.Probe == trace.Startup && r.Result == trace.Success
		m.slice(process, thread, "probe", string(r.Result), from, r.T, r)
	}
}

// condition adds a counter with the values 0 and 1, and an instant for each change, as an end for
// flows.
func (m *maker) condition(process, thread int, name string, flips []history.Flip) {
	for _, f := range flips {
		value, text := 0, name+" is false"
		if f.On {
			value, text = 1, name+" is true"
		}
		m.counter(process, name, f.At, value)
		m.instant(process, thread, "status", text, "t", f.Record)
	}
}

func (m *maker) process(name string) int {
	process := m.writer.number()
	m.name("process", process, 0, m.prefix+name)
	return process
}

func (m *maker) thread(process int, name string) int {
	thread := m.writer.number()
	m.name("thread", process, thread, name)
	return thread
}

// name sets the name and the order of a process or thread.
func (m *maker) name(what string, process, thread int, name string) {
	order := max(process, thread)
	m.names = append(m.names,
		event{Phase: "M", Name: what + "_name", Process: process, Thread: thread, Args: &args{Name: name}},
		event{Phase: "M", Name: what + "_sort_index", Process: process, Thread: thread, Args: &args{SortIndex: &order}})
}

func (m *maker) slice(process, thread int, category, name string, from, to virtual.Time, r *trace.Record) {
	duration := micros(max(to.Sub(from), 0))
	m.events = append(m.events, event{Phase: "X", Name: name, Category: category, Process: process, Thread: thread,
		Time: micros(from.Sub(m.zero)), Duration: &duration, Args: about(r)})
	if r != nil && r.T < to {
		from = max(from, r.T) // the record with the reason of waiting follows the start of waiting
	}
	m.note(process, thread, from, r)
}

func (m *maker) instant(process, thread int, category, name, scope string, r *trace.Record) {
	m.events = append(m.events, event{Phase: "i", Name: name, Category: category, Process: process, Thread: thread,
		Time: micros(r.T.Sub(m.zero)), Scope: scope, Args: about(r)})
	m.note(process, thread, r.T, r)
}

// note stores the first place of a record.
func (m *maker) note(process, thread int, at virtual.Time, r *trace.Record) {
	if r == nil {
		return
	}
	if _, known := m.places[r.Step]; !known {
		m.places[r.Step] = place{process, thread, at}
	}
}

// flow adds a flow from the cause of a record to the record, if both have a place.
func (m *maker) flow(r *trace.Record) {
	from, shown := m.places[r.Cause]
	to, too := m.places[r.Step]
	if !shown || !too || r.Kind == trace.ProbeExecuted && m.starts[r.Cause] {
		return // avoid a flow to each probe run
	}
	m.writer.flows++
	e := event{Phase: "s", Name: "cause", Category: "cause", Process: from.process, Thread: from.thread,
		Time: micros(from.at.Sub(m.zero)), ID: m.writer.flows}
	m.events = append(m.events, e)
	e.Phase, e.Bind, e.Process, e.Thread, e.Time = "f", "e", to.process, to.thread,
		micros(max(from.at, to.at).Sub(m.zero))
	m.events = append(m.events, e)
}

// longestStatus is the maximum length of a status in bytes. A status lists all containers of the
// pod, and each change of one of them has it.
const longestStatus = 1000

func about(r *trace.Record) *args {
	if r == nil {
		return nil
	}
	_, message := report.Describe(r)
	if r.Kind == trace.StatusPatched && len(message) > longestStatus {
		message = strings.ToValidUTF8(message[:longestStatus], "") + "…"
	}
	return &args{Subject: r.Subject(), Message: printable.Text(message), Step: r.Step, Cause: r.Cause}
}
