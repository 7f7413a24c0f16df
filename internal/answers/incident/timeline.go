package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/show/history"
	"probesim.dev/internal/show/report"
	"probesim.dev/prober"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// burst is the number of events of one type about an object that the recorder of a kubelet sends
// before its spam filter drops some (defaultSpamBurst and getSpamKey in
// tools/record/events_cache.go of client-go).
const burst = 25

// RunOf returns what the recording tells about some of its pods, and about the node, in the form of
// a run, for reports. Its t=0 is Zero. The history says what the recording does not tell.
func (r *Recording) RunOf(pods []*Pod) *report.Run {
	d := &drawn{zero: r.Zero(), names: map[*Pod]string{}, events: []*report.EventSeries{}}
	// the last facts are visible, and what follows is hatched
	d.End = d.at(r.End).Add(max(time.Second, r.End.Sub(r.Start)/50))
	namespaces := map[string]bool{"": true}
	for _, p := range r.Pods {
		namespaces[p.Namespace] = true
	}
	for _, p := range pods {
		if len(p.Facts) > 0 {
			if d.names[p] = "default/" + p.Name + r.twin(p); len(namespaces) > 2 { // reports leave out this namespace
				d.names[p] = p.Key() + r.twin(p)
			}
			d.Pods = append(d.Pods, d.pod(p))
		}
	}
	for _, f := range r.Facts {
		if f.Pod == nil && f.Kind == Event && f.When.Known() {
			d.Marks = append(d.Marks, d.mark(f, f.Reason))
		}
	}
	slices.SortStableFunc(d.Pods, func(a, b *history.Pod) int { return cmp.Compare(a.Added, b.Added) })
	slices.Sort(d.Changes)
	slices.SortStableFunc(d.records, func(a, b *trace.Record) int { return cmp.Compare(a.T, b.T) })
	slices.SortStableFunc(d.events, func(a, b *report.EventSeries) int { return cmp.Compare(a.Latest.T, b.Latest.T) })
	run := &report.Run{Scenario: "recording", Until: d.End, History: &d.History, EventList: d.events,
		Steps: len(d.records)}
	for i, rec := range d.records {
		rec.Step = int64(i + 1)
		run.Records = append(run.Records, *rec)
	}
	return run
}

// Zero returns the time that is t=0 of a recording: the second of its first fact.
func (r *Recording) Zero() time.Time { return r.Start.Truncate(time.Second) }

// drawn is the history of a recording, with its records and events.
type drawn struct {
	history.History
	zero    time.Time
	names   map[*Pod]string
	records []*trace.Record
	events  []*report.EventSeries
}

func (d *drawn) at(t time.Time) virtual.Time { return virtual.At(max(t.Sub(d.zero), 0)) }

// record returns a record of a fact, at its first time.
func (d *drawn) record(f *Fact, kind trace.Kind) *trace.Record {
	r := &trace.Record{T: d.at(f.When.Best()), Kind: kind, Pod: d.names[f.Pod], Container: f.Container, Type: f.Type,
		Reason: f.Reason, Message: f.Message}
	d.records = append(d.records, r)
	return r
}

// changed appends a record, and its time as one of a change.
func (d *drawn) changed(f *Fact, kind trace.Kind) *trace.Record {
	r := d.record(f, kind)
	d.Changes = append(d.Changes, r.T)
	return r
}

// twin returns the beginning of the UID of a pod in parentheses if another pod has its name, and
// nothing otherwise.
func (r *Recording) twin(p *Pod) string {
	for _, o := range r.Pods {
		if o != p && o.Name == p.Name && o.Namespace == p.Namespace && p.UID != "" {
			return " (" + p.UID[:min(8, len(p.UID))] + ")"
		}
	}
	return ""
}

// Label returns the namespace and the name of a pod, and the beginning of its UID if another pod
// has the same.
func (r *Recording) Label(p *Pod) string { return strings.TrimPrefix(p.Key(), "/") + r.twin(p) }

// marked has the reasons of events about pods that are actions from outside, and of lines of a log.
var marked = listed("marked")

func (d *drawn) pod(p *Pod) *history.Pod {
	h := &history.Pod{Name: d.names[p], Added: d.End, Removed: history.Forever}
	for _, f := range p.Facts {
		if !f.When.Known() {
			continue
		}
		h.Added = min(h.Added, d.at(f.When.Best()))
		if f.Kind == Event {
			h.Events = append(h.Events, d.event(f))
		}
		switch {
		case f.Kind == Created || f.Kind == Deleted:
			h.Marks = append(h.Marks, d.mark(f, strings.ToLower(string(f.Kind))))
		case f.Kind == Log && marked[f.Reason]:
			h.Marks = append(h.Marks, d.mark(f, strings.ToLower(f.Reason)))
		case f.Kind == Event && f.Container == "" && marked[f.Reason]:
			h.Marks = append(h.Marks, d.mark(f, f.Reason))
		}
	}
	names := p.Containers()
	h.Ready, h.Unknown = d.lane(p.Facts, h.Added, func(f *Fact) (is, on bool) {
		switch {
		case f.Kind == Condition && f.Reason == "Ready":
			return true, f.Value == "True"
		case f.Kind == Row:
			ready, all, _ := strings.Cut(f.Value, "/")
			return true, ready == all && all != "0"
		}
		return f.Kind == ProbeSync && f.Probe == trace.Readiness && len(names) <= 1, f.Value == "ready"
	})
	if len(names) == 0 && slices.ContainsFunc(p.Facts, ofOne) {
		names = []string{""}
	}
	for _, name := range names {
		h.Containers = append(h.Containers, d.container(h, p, name))
	}
	return h
}

// ofOne reports whether a fact is a row of a pod with one container.
func ofOne(f *Fact) bool { return f.Kind == Row && strings.HasSuffix(f.Value, "/1") && f.Count >= 0 }

func (d *drawn) mark(f *Fact, what string) history.Mark {
	r := d.changed(f, trace.Step)
	r.Reason = what
	return history.Mark{At: r.T, What: what, Record: r}
}

// event adds an event to the list, and returns the record of its first occurrence.
func (d *drawn) event(f *Fact) *trace.Record {
	first := d.changed(f, trace.Event)
	last, since := first, cmp.Or(f.Last, f.When)
	if f.Last.Known() && f.Count > 1 {
		last = d.record(f, trace.Event)
		last.T = d.at(f.Last.Best())
	}
	e := report.NewEventSeries(first, last, f.Count, d.End)
	switch e.Says = d.since(since); {
	case f.Count > 1:
		e.Says += fmt.Sprintf(" (x%d since %s)", f.Count, d.since(f.When))
	case f.AtLeast:
		e.Says += " (the last)"
	}
	d.events = append(d.events, e)
	return first
}

// since formats a moment as the time since t=0, as exactly as it is known.
func (d *drawn) since(m Moment) string {
	switch t := m.At.Sub(d.zero); {
	case m.Within > time.Second:
		return t.Round(time.Second).String() + " to " + (t + m.Within).Round(time.Second).String()
	case m.Within >= 10*time.Millisecond:
		return t.Truncate(time.Second).String()
	}
	return trace.FormatTimeOf(d.End, d.at(m.At))
}

// lane draws a condition: value says whether a fact tells it. It is unknown before the first fact,
// before a change of a condition, and after the last fact. Rows of a watch and lines of a log tell
// every change.
func (d *drawn) lane(facts []*Fact, from virtual.Time, value func(*Fact) (is, on bool)) (flips []history.Flip,
	unknown []history.Span) {
	to := from
	for _, f := range facts {
		is, on := value(f)
		if !is || !f.When.Known() {
			continue
		}
		at, n := d.at(f.When.Best()), len(flips)
		if n == 0 || f.Kind == Condition {
			unknown = hatch(unknown, to, at)
		}
		if n == 0 || flips[n-1].On != on {
			flips = append(flips, history.Flip{At: at, On: on})
			d.Changes = append(d.Changes, at)
		}
		to = max(to, d.at(f.When.End()), d.at(f.Last.End()))
	}
	return flips, hatch(unknown, to, d.End)
}

// hatch adds a time about which nothing is known.
func hatch(unknown []history.Span, from, to virtual.Time) []history.Span {
	if to > from {
		unknown = append(unknown, history.Span{From: from, To: to})
	}
	return unknown
}

func (d *drawn) container(h *history.Pod, p *Pod, name string) *history.Container {
	c := &history.Container{Name: cmp.Or(name, "container"),
		Probes: map[trace.Probe][]*trace.Record{}, Unknown: map[string][]history.Span{}}
	alive, kills := d.probes(c, p, name)
	d.life(h, c, p, name, alive, kills)
	value := func(kind Kind) func(*Fact) (is, on bool) {
		return func(f *Fact) (is, on bool) { return f.Kind == kind && f.Container == name, f.Value == "true" }
	}
	c.Started, c.Unknown[history.LaneStarted] = d.lane(p.Facts, h.Added, value(Started))
	c.Ready, c.Unknown[history.LaneReady] = d.lane(p.Facts, h.Added, value(Ready))
	return c
}

// start is a start of a container that the facts tell.
type start struct {
	when   Moment
	number int    // of the instance, or -1
	exit   *Fact  // of this instance
	id     string // of the container, in a log
}

// uncounted returns how many starts of a container its Started event, which may be younger than the
// pod, does not count.
func (p *Pod) uncounted(name string) int {
	restarts, counted := -1, 0
	for _, f := range p.Facts {
		switch {
		case f.Kind == Restarts && f.Container == name, len(p.containers) < 2 && ofOne(f):
			restarts = max(restarts, f.Count)
		case f.Kind == Event && f.Reason == "Started" && f.Container == name:
			counted += f.Count
		}
	}
	return max(restarts+1-counted, 0)
}

// starts returns what the facts tell about the starts of a container, in the order of time.
func (p *Pod) starts(name string) (list []start) {
	add := func(when Moment, number int, exit *Fact, id string) {
		if when.Known() {
			list = append(list, start{when, number, exit, id})
		}
	}
	before, shown := p.uncounted(name), -1
	for _, f := range p.Facts {
		switch {
		case len(p.containers) < 2 && ofOne(f):
			if f.Reason == "Running" && f.Count > shown && shown >= 0 {
				add(f.When, f.Count, nil, "")
			}
			shown = max(shown, f.Count)
		case f.Container != name:
		case f.Kind == Event && f.Reason == "Started":
			for _, pt := range f.Points {
				add(pt.At, pt.Count-1+before, nil, "")
			}
		case f.Kind == Running:
			add(f.When, f.Count, nil, "")
		case f.Kind == Terminated:
			add(f.When, f.Instance, f, "")
		case f.Kind == Lifecycle && f.Reason == "ContainerStarted":
			add(f.When, -1, nil, f.Message)
		case f.Kind == Lifecycle && f.Reason == "ContainerDied" && len(list) > 0 && list[len(list)-1].id == f.Message:
			list[len(list)-1].exit = f
		}
	}
	slices.SortStableFunc(list, func(a, b start) int { return a.when.At.Compare(b.when.At) })
	return list
}

// instances makes one start of those that can be the same, with its most exact time, and numbers
// them. first says that nothing ran before them.
func instances(list []start) (starts []start, first bool) {
	for _, s := range list {
		n := len(starts)
		if n == 0 || !starts[n-1].when.overlaps(s.when) {
			starts = append(starts, s)
			continue
		}
		last := &starts[n-1]
		if s.when.Within < last.when.Within {
			last.when = s.when
		}
		last.number, last.exit = max(last.number, s.number), cmp.Or(last.exit, s.exit)
	}
	first = len(starts) > 0 && starts[0].number == 0
	for i, next := 0, 0; i < len(starts); i++ {
		starts[i].number = max(starts[i].number, next)
		next = starts[i].number + 1
	}
	return starts, first
}

// life draws the instances of a container, with the times at which probes and kills show that it
// runs, and those of the kills. What is known of no instance is hatched.
func (d *drawn) life(h *history.Pod, c *history.Container, p *Pod, name string, alive, kills []virtual.Time) {
	waiting, seen := d.waits(c, p, name)
	c.States = append(c.States, history.State{At: h.Added, Name: "waiting"})
	starts, first := instances(p.starts(name))
	var unknown []history.Span
	switch {
	case len(starts) == 0 && !waiting:
		unknown = hatch(unknown, h.Added, d.End)
	case len(starts) > 0 && (!first || len(alive) > 0 && alive[0] < d.at(starts[0].when.Best())):
		unknown = hatch(unknown, h.Added, d.at(starts[0].when.Best()))
	}
	for i, s := range starts {
		until, last := d.End, i == len(starts)-1
		if !last {
			until = d.at(starts[i+1].when.Best())
		}
		run := d.instance(p, name, s)
		if n, _ := slices.BinarySearch(kills, run.Started); n < len(kills) && kills[n] < until {
			run.Stopping = kills[n]
		}
		known := run.Started
		if n, _ := slices.BinarySearch(alive, until); n > 0 {
			known = max(known, alive[n-1])
		}
		switch {
		case run.Exited != history.Forever:
			if known = run.Exited; last || starts[i+1].number == s.number+1 {
				known = until
			}
			if !last || waiting {
				c.States = append(c.States, history.State{At: run.Exited, Name: "waiting"})
			}
		case last && !waiting:
			known = max(known, seen)
		default:
			run.Exited, run.Vague = until, true
		}
		unknown = hatch(unknown, known, until)
		c.Runs = append(c.Runs, run)
	}
	c.Unknown[history.LaneLife] = unknown
	slices.SortStableFunc(c.States, func(a, b history.State) int { return cmp.Compare(a.At, b.At) })
}

// waits draws the waits of a container. It returns whether there are any, and the time of the last
// fact of the pod.
func (d *drawn) waits(c *history.Container, p *Pod, name string) (any bool, seen virtual.Time) {
	for _, f := range p.Facts {
		seen = max(seen, d.at(f.When.Best()), d.at(f.Last.Best()))
		if f.Kind == Waiting && f.Container == name {
			c.States = append(c.States, history.State{At: d.at(f.When.Best()), Name: "waiting", Reason: f.Reason})
		}
	}
	return len(c.States) > 0, seen
}

// instance returns an instance with its start, and its exit if that is known.
func (d *drawn) instance(p *Pod, name string, s start) history.Instance {
	run := history.Instance{Number: s.number,
		Killing: history.Forever, Stopping: history.Forever, Exited: history.Forever}
	record := func(at Moment, kind trace.Kind) virtual.Time {
		r := d.record(&Fact{Pod: p, Container: name, When: at}, kind)
		r.Instance, r.ExitCode = run.Number, run.Code
		run.Records = append(run.Records, r)
		return r.T
	}
	run.Started = record(s.when, trace.ContainerStarted)
	d.Changes = append(d.Changes, run.Started)
	if s.exit != nil && s.exit.Last.Known() {
		run.Exited, run.Code, run.Vague = max(d.at(s.exit.Last.Best()), run.Started), s.exit.ExitCode, !s.exit.ExitKnown
		if s.exit.ExitKnown {
			record(s.exit.Last, trace.ContainerExited)
		}
	}
	return run
}

// probes draws the failures of the probes, and returns the times at which probes and kills show
// that the container runs. Between two known counts of an event the failures are unknown, unless
// each run of the probe in between must have failed.
func (d *drawn) probes(c *history.Container, p *Pod, name string) (alive, kills []virtual.Time) {
	sent := 0
	for _, f := range p.Facts {
		if f.Kind == Event && f.Type == "Warning" {
			sent += f.Count
		}
		switch {
		case f.Container != name || !f.When.Known():
		case f.Kind == Event && f.Reason == "Killing":
			for _, pt := range f.Points {
				kills = append(kills, d.at(pt.At.Best()))
			}
		default:
			alive = append(alive, d.failures(c, p, name, f)...)
		}
	}
	for probe, list := range c.Probes {
		slices.SortStableFunc(list, func(a, b *trace.Record) int { return cmp.Compare(a.T, b.T) })
		if sent >= burst { // the spam filter may have dropped events
			c.Unknown[string(probe)] = hatch(c.Unknown[string(probe)], list[len(list)-1].T, d.End)
		}
	}
	alive = append(alive, kills...)
	slices.Sort(kills)
	slices.Sort(alive)
	return alive, kills
}

// failures draws the runs of a probe in a fact, and returns their times.
func (d *drawn) failures(c *history.Container, p *Pod, name string, f *Fact) (alive []virtual.Time) {
	u, points := f.Unhealthy(), f.Points
	if f.Kind == ProbeRun {
		points = []Point{{1, f.When}}
	}
	ran := func(at Moment) {
		r := d.changed(&Fact{Pod: p, Container: c.Name, When: at, Message: u.Output}, trace.ProbeExecuted)
		r.Probe, r.Result = u.Probe, u.Result
		c.Probes[u.Probe] = append(c.Probes[u.Probe], r)
		alive = append(alive, r.T)
	}
	for i, b := range points {
		a, period := points[max(i-1, 0)], periodOf(p, name, u.Probe)
		runs := b.Count - a.Count
		off := b.At.At.Sub(a.At.At) - time.Duration(runs)*period
		switch {
		case u.Probe == "" || !b.At.Known():
			continue
		case runs < 2 || !a.At.Known():
		case period > 0 && runs < maxPoints && off.Abs() <= a.At.Within+b.At.Within+100*time.Millisecond:
			for n := 1; n < runs; n++ {
				ran(Moment{At: a.At.At.Add(time.Duration(n) * period)})
			}
		default:
			c.Unknown[string(u.Probe)] = hatch(c.Unknown[string(u.Probe)], d.at(a.At.Best())+1, d.at(b.At.Best()))
		}
		ran(b.At)
	}
	return alive
}

// periodOf returns the period of a probe, or 0 if it is unknown.
func periodOf(p *Pod, name string, which trace.Probe) time.Duration {
	if p.Object != nil {
		if c := podutil.Find(p.Object, name); c != nil && prober.ProbeOf(c, which) != nil {
			return time.Duration(cmp.Or(prober.ProbeOf(c, which).PeriodSeconds, 10)) * time.Second
		}
	}
	return 0
}
