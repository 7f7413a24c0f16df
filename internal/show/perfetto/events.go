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
	run    *report.Run
	prefix string
	zero   virtual.Time // start of the file: t=0, or the first record if that is earlier
	end    virtual.Time

	last, flows int // numbers of a process or thread, and of a flow

	process   int    // of the lane
	container string // of the lane
	router    string // of the lane

	names  []event
	events []event
	places map[int64]place // places of records, by step
}

// place is an end of a flow.
type place struct {
	process, thread int
	at              virtual.Time
}

func (m *maker) make() {
	h := history.Read(m.run.Records, m.run.Until)
	m.end = h.End
	for _, l := range report.Lanes(h) {
		m.lane(l)
	}
	for i, p := range h.Pods {
		for _, l := range report.PodLanes(p, i, h.End) {
			m.lane(l)
		}
		if len(p.Events) > 0 {
			thread := m.thread("events")
			for _, r := range p.Events {
				m.instant(thread, "event", printable.Text(r.Reason), "t", r)
			}
		}
	}
	for i := range m.run.Records {
		m.flow(&m.run.Records[i])
	}
}

// lane adds a lane of a timeline. The node, each pod, each Deployment and each Service is a
// process; numbers are counters, and other lanes are threads.
func (m *maker) lane(l *report.Lane) {
	name := l.Label
	switch {
	case l.Depth == 0 && (l.Kind != "kubelet" || m.process == 0):
		m.process = m.number()
		m.name("process", m.process, 0, m.prefix+l.Of)
	case l.Kind == "life":
		m.container = l.Label
	case l.Depth == 2:
		name = m.container + " " + l.Label
	}
	switch l.Kind {
	case "object":
	case "set":
		m.counters(name+" Ready", l.Bars)
	case "wanted":
		m.counters("Ready", l.Bars)
		for _, v := range l.Wanted {
			m.counter("desired", v.At, v.Value)
		}
	case "level":
		m.router = name
		m.counters(name, l.Bars)
	case "lost":
		m.counters(m.router+" lost a second", l.Bars)
	case "node", "pod":
		m.marks(l)
	case "kubelet":
		m.bars("kubelet", name, l.Bars, func(b report.Bar) string {
			return map[string]string{"yes": "running", "no": "down"}[b.State]
		})
	case "life":
		m.life(l)
	case "probe":
		m.probes(m.thread(name), l.Records)
	default:
		if l.Actions != nil {
			m.bars("action", name, l.Bars, func(b report.Bar) string {
				return strings.TrimSpace(b.Text + " " + string(b.Record.Result))
			})
		} else {
			m.condition(name, l)
		}
	}
}

// counters adds a counter with the values of bars. Between two bars it is 0.
func (m *maker) counters(name string, bars []report.Bar) {
	for i, b := range bars {
		m.counter(name, b.From, b.Value)
		if i+1 == len(bars) && b.To < m.end || i+1 < len(bars) && b.To < bars[i+1].From {
			m.counter(name, b.To, 0)
		}
	}
}

// marks adds actions from outside.
func (m *maker) marks(l *report.Lane) {
	if len(l.Marks) == 0 {
		return
	}
	thread, scope := m.thread("steps"), map[string]string{"node": "g", "pod": "p"}[l.Kind]
	for _, mark := range l.Marks {
		m.instant(thread, "step", mark.What, scope, mark.Record)
	}
}

func (m *maker) life(l *report.Lane) {
	thread := m.bars("container", l.Label, l.Bars, func(b report.Bar) string {
		if b.State == history.Running {
			return b.State
		}
		return strings.TrimSpace(b.State + " " + b.Text)
	})
	for _, r := range l.Records {
		title, _ := report.Describe(r)
		m.instant(thread, "container", title, "t", r)
	}
}

// bars adds a thread with a slice for each bar, and returns the thread. Two preStop hooks of an
// instance can overlap: the second slice then begins at the end of the first.
func (m *maker) bars(category, name string, bars []report.Bar, what func(report.Bar) string) int {
	thread, last := m.thread(name), m.zero
	for _, b := range bars {
		from := max(b.From, last)
		m.slice(thread, category, what(b), from, max(from, b.To), b.Record)
		last = max(last, b.To)
	}
	return thread
}

// probes adds a slice for each probe run.
func (m *maker) probes(thread int, shots []*trace.Record) {
	last := m.zero
	for _, r := range shots {
		from := max(r.T.Add(-r.Took), last)
		last = r.T
		m.slice(thread, "probe", string(r.Result), from, r.T, r)
	}
}

// condition adds a counter with the values 0 and 1, and an instant for each change, as an end for
// flows.
func (m *maker) condition(name string, l *report.Lane) {
	thread := m.thread(name)
	for _, b := range l.Bars {
		value, text := 0, name+" is false"
		if b.State == "yes" {
			value, text = 1, name+" is true"
		}
		m.counter(name, b.From, value)
		m.instant(thread, "status", text, "t", b.Record)
	}
}

func (m *maker) counter(name string, at virtual.Time, value int) {
	m.events = append(m.events, event{Phase: "C", Name: name, Process: m.process, Time: micros(at.Sub(m.zero)),
		Args: &args{Value: &value}})
}

func (m *maker) number() int {
	m.last++
	return m.last
}

func (m *maker) thread(name string) int {
	thread := m.number()
	m.name("thread", m.process, thread, name)
	return thread
}

// name sets the name and the order of a process or thread.
func (m *maker) name(what string, process, thread int, name string) {
	order := max(process, thread)
	m.names = append(m.names,
		event{Phase: "M", Name: what + "_name", Process: process, Thread: thread, Args: &args{Name: name}},
		event{Phase: "M", Name: what + "_sort_index", Process: process, Thread: thread, Args: &args{SortIndex: &order}})
}

func (m *maker) slice(thread int, category, name string, from, to virtual.Time, r *trace.Record) {
	duration := micros(max(to.Sub(from), 0))
	m.events = append(m.events, event{Phase: "X", Name: name, Category: category, Process: m.process, Thread: thread,
		Time: micros(from.Sub(m.zero)), Duration: &duration, Args: about(r)})
	if r != nil && r.T < to {
		from = max(from, r.T) // the record with the reason of waiting follows the start of waiting
	}
	m.note(thread, from, r)
}

func (m *maker) instant(thread int, category, name, scope string, r *trace.Record) {
	m.events = append(m.events, event{Phase: "i", Name: name, Category: category, Process: m.process, Thread: thread,
		Time: micros(r.T.Sub(m.zero)), Scope: scope, Args: about(r)})
	m.note(thread, r.T, r)
}

// note stores the first place of a record.
func (m *maker) note(thread int, at virtual.Time, r *trace.Record) {
	if r == nil {
		return
	}
	if _, known := m.places[r.Step]; !known {
		m.places[r.Step] = place{m.process, thread, at}
	}
}

// flow adds a flow from the cause of a record to the record, if both have a place. What starts
// probing, a container or the success of its startup probe, has no flow to each probe run.
func (m *maker) flow(r *trace.Record) {
	from, shown := m.places[r.Cause]
	to, too := m.places[r.Step]
	if !shown || !too {
		return
	}
	if cause := trace.ByStep(m.run.Records, r.Cause); r.Kind == trace.ProbeExecuted && cause != nil &&
		(cause.Kind == trace.ContainerStarted || cause.Probe == trace.Startup && cause.Result == trace.Success) {
		return
	}
	m.flows++
	e := event{Phase: "s", Name: "cause", Category: "cause", Process: from.process, Thread: from.thread,
		Time: micros(from.at.Sub(m.zero)), ID: m.flows}
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
