package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/report"
	"probesim.dev/report/history"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// burst is the number of events of one type about an object that the recorder of a kubelet sends before its spam filter drops some
// (defaultSpamBurst and getSpamKey in tools/record/events_cache.go of client-go).
const burst = 25

// RunOf returns what the recording tells about some of its pods, and about the node, in the form of a run, for reports. Its t=0 is
// Zero. The history says what the recording does not tell.
func (r *Recording) RunOf(pods []*Pod) *report.Run {
	d := &drawn{rec: r, zero: r.Zero(), names: map[*Pod]string{}}
	d.end = d.at(r.End).Add(max(time.Second, r.End.Sub(r.Start)/50)) // the last facts are visible, and what follows is hatched
	h := &history.History{End: d.end}
	for _, p := range pods {
		if len(p.Facts) > 0 {
			h.Pods = append(h.Pods, d.pod(p))
		}
	}
	slices.SortStableFunc(h.Pods, func(a, b *history.Pod) int { return cmp.Compare(a.Added, b.Added) })
	for _, f := range r.Facts {
		if f.Pod == nil && f.Kind == Event && f.When.Known() {
			h.Marks = append(h.Marks, history.Mark{At: d.at(f.When.Best()), What: f.Reason, Record: d.record(f, trace.Step)})
		}
	}
	slices.Sort(d.changes)
	h.Changes = d.changes
	slices.SortStableFunc(d.records, func(a, b *trace.Record) int { return cmp.Compare(a.T, b.T) })
	run := &report.Run{Scenario: "recording", Until: h.End, History: h, EventList: d.events}
	for i, rec := range d.records {
		rec.Step = int64(i + 1)
		run.Records = append(run.Records, *rec)
	}
	slices.SortStableFunc(run.EventList, func(a, b *report.EventSeries) int { return cmp.Compare(a.Latest.T, b.Latest.T) })
	if run.EventList == nil {
		run.EventList = []*report.EventSeries{}
	}
	run.Steps = len(run.Records)
	return run
}

// Zero returns the time that is t=0 of a recording: the second of its first fact.
func (r *Recording) Zero() time.Time { return r.Start.Truncate(time.Second) }

// drawn collects the history of a recording.
type drawn struct {
	rec     *Recording
	zero    time.Time
	names   map[*Pod]string
	end     virtual.Time
	records []*trace.Record
	events  []*report.EventSeries
	changes []virtual.Time
}

func (d *drawn) at(t time.Time) virtual.Time { return virtual.At(max(t.Sub(d.zero), 0)) }

// record returns a record of a fact, at its first time.
func (d *drawn) record(f *Fact, kind trace.Kind) *trace.Record {
	r := &trace.Record{T: d.at(f.When.Best()), Kind: kind, Container: f.Container, Type: f.Type, Reason: f.Reason, Message: f.Message}
	if f.Pod != nil {
		r.Pod = d.name(f.Pod)
	}
	d.records = append(d.records, r)
	return r
}

// name returns the name of a pod for display: pods of one name differ in the beginning of their UIDs. Reports leave out the
// namespace default, which stands here for the only namespace of the recording.
func (d *drawn) name(p *Pod) string {
	if d.names[p] == "" {
		d.names[p] = d.newName(p)
	}
	return d.names[p]
}

func (d *drawn) newName(p *Pod) string {
	key := p.Key()
	if !slices.ContainsFunc(d.rec.Pods, func(o *Pod) bool { return o.Namespace != p.Namespace && o.Namespace != "" && len(o.Facts) > 0 }) {
		key = "default/" + p.Name
	}
	return key + d.rec.twin(p)
}

// twin returns the beginning of the UID of a pod in parentheses if another pod has its name, and nothing otherwise.
func (r *Recording) twin(p *Pod) string {
	for _, o := range r.Pods {
		if o != p && o.Key() == p.Key() && p.UID != "" {
			return " (" + p.UID[:min(8, len(p.UID))] + ")"
		}
	}
	return ""
}

// Label returns the namespace and the name of a pod, and the beginning of its UID if another pod has the same.
func (r *Recording) Label(p *Pod) string { return strings.TrimPrefix(p.Key(), "/") + r.twin(p) }

func (d *drawn) pod(p *Pod) *history.Pod {
	h := &history.Pod{Name: d.name(p), Added: virtual.Max, Removed: history.Forever}
	for _, f := range p.Facts {
		if !f.When.Known() {
			continue
		}
		h.Added = min(h.Added, d.at(f.When.Best()))
		switch {
		case f.Kind == Created:
			d.mark(h, f, "created")
		case f.Kind == Deleted:
			d.mark(h, f, "deleted")
		case f.Kind == Log && (f.Reason == "ADD" || f.Reason == "DELETE" || f.Reason == "REMOVE"):
			d.mark(h, f, strings.ToLower(f.Reason))
		case f.Kind == Event:
			d.event(h, f)
			if f.Container == "" && marked[f.Reason] {
				d.mark(h, f, f.Reason)
			}
		}
	}
	if h.Added == virtual.Max {
		h.Added = 0
	}
	d.ready(h, p)
	for _, name := range p.Containers() {
		h.Containers = append(h.Containers, d.container(h, p, name))
	}
	h.Containers = append(h.Containers, d.pleg(h, p)...)
	return h
}

// marked has the reasons of events about pods that are actions from outside.
var marked = map[string]bool{"Scheduled": true, "Evicted": true, "Preempted": true, "NodeNotReady": true, "TaintManagerEviction": true, "SandboxChanged": true,
	"NodeControllerEviction": true, "FailedScheduling": true, "ExceededGracePeriod": true, "DeadlineExceeded": true}

func (d *drawn) mark(h *history.Pod, f *Fact, what string) {
	m := history.Mark{At: d.at(f.When.Best()), What: what, Record: d.record(f, trace.Step)}
	m.Record.Reason = what
	h.Marks = append(h.Marks, m)
	d.changes = append(d.changes, m.At)
}

func (d *drawn) event(h *history.Pod, f *Fact) {
	first := d.record(f, trace.Event)
	last := first
	if f.Last.Known() && f.Count > 1 {
		last = d.record(f, trace.Event)
		last.T = d.at(f.Last.Best())
	}
	h.Events = append(h.Events, first)
	e := report.NewEventSeries(first, last, f.Count, d.end)
	e.Says = d.times(f)
	d.events = append(d.events, e)
	d.changes = append(d.changes, first.T)
}

// times formats the times of an event as exactly as they are known.
func (d *drawn) times(f *Fact) string {
	last := f.Last
	if !last.Known() {
		last = f.When
	}
	text := d.since(last)
	switch {
	case f.Count > 1:
		text += fmt.Sprintf(" (x%d since %s)", f.Count, d.since(f.When))
	case f.AtLeast:
		text += " (the last)"
	}
	return text
}

// since formats a moment as the time since t=0.
func (d *drawn) since(m Moment) string {
	if !m.Known() {
		return "?"
	}
	t := m.At.Sub(d.zero)
	switch {
	case m.Within > time.Second:
		return t.Round(time.Second).String() + " to " + (t + m.Within).Round(time.Second).String()
	case m.Within >= 10*time.Millisecond:
		return t.Truncate(time.Second).String()
	}
	return trace.FormatTimeOf(d.end, d.at(m.Best()))
}

// known is a value that holds from a time until at least another.
type known struct {
	from, to virtual.Time
	on       bool
	fact     *Fact
}

// ready draws the Ready condition.
func (d *drawn) ready(h *history.Pod, p *Pod) {
	var list []known
	one := len(p.Containers()) <= 1
	for _, f := range p.Facts {
		switch {
		case f.Kind == Condition && f.Reason == "Ready" && f.When.Known():
			to := d.at(f.When.End())
			if f.Last.Known() {
				to = max(to, d.at(f.Last.End()))
			}
			list = append(list, known{d.at(f.When.Best()), to, f.Value == "True", f})
		case f.Kind == Row && f.When.Known():
			ready, all, _ := strings.Cut(f.Value, "/")
			list = append(list, known{d.at(f.When.Best()), d.at(f.When.End()), ready == all && all != "0", f})
		case f.Kind == ProbeSync && f.Probe == trace.Readiness && one:
			list = append(list, known{d.at(f.When.Best()), d.at(f.When.Best()), f.Value == "ready", f})
		}
	}
	h.Ready, h.Unknown = d.flips(list, h.Added)
}

// flips turns known values into changes, and the time between them that is not known: before the first value, where a value
// differs from the next one, and after the last one. Rows of a watch and lines of a log tell every change.
func (d *drawn) flips(list []known, from virtual.Time) ([]history.Flip, []history.Span) {
	slices.SortStableFunc(list, func(a, b known) int { return cmp.Compare(a.from, b.from) })
	var flips []history.Flip
	var unknown []history.Span
	gap := func(from, to virtual.Time) {
		if to > from {
			unknown = append(unknown, history.Span{From: from, To: to})
		}
	}
	to := from
	for _, k := range list {
		told := len(flips) > 0 && k.fact.Kind != Condition
		if n := len(flips); !told && (n == 0 || flips[n-1].On != k.on || k.from > to) {
			gap(to, k.from)
		}
		if n := len(flips); n == 0 || flips[n-1].On != k.on {
			flip := history.Flip{At: k.from, On: k.on}
			flips = append(flips, flip)
			d.changes = append(d.changes, k.from)
		}
		to = max(to, k.to)
	}
	gap(to, d.end)
	return flips, unknown
}

// start is a start of a container that the facts tell.
type start struct {
	when   Moment
	number int // -1: unknown
	exit   *Fact
	fact   *Fact
}

func (d *drawn) container(h *history.Pod, p *Pod, name string) *history.Container {
	c := &history.Container{Name: name, Probes: map[trace.Probe][]*trace.Record{}, Unknown: map[string][]history.Span{}}
	d.probes(c, p)
	d.life(h, c, p)
	var started, ready []known
	for _, f := range p.Facts {
		if f.Container != name || !f.When.Known() {
			continue
		}
		k := known{d.at(f.When.Best()), d.at(f.When.End()), f.Value == "true", f}
		switch f.Kind {
		case Started:
			started = append(started, k)
		case Ready:
			ready = append(ready, k)
		}
	}
	c.Started, c.Unknown[history.LaneStarted] = d.flips(started, h.Added)
	c.Ready, c.Unknown[history.LaneReady] = d.flips(ready, h.Added)
	return c
}

// starts returns the starts of a container that the recording tells, in order, each with its number: the restartCount that it has, or
// -1.
func (p *Pod) starts(name string) []start {
	var list []start
	restarts, counted := -1, 0
	for _, f := range p.Facts {
		if f.Container != name {
			continue
		}
		switch {
		case f.Kind == Restarts:
			restarts = max(restarts, f.Count)
		case f.Kind == Event && f.Reason == "Started":
			counted += f.Count
			for _, pt := range f.Points {
				list = append(list, start{when: pt.At, number: -pt.Count - 1, fact: f}) // the ordinal within the event
			}
		case f.Kind == Running:
			list = append(list, start{when: f.When, number: f.Count, fact: f})
		case f.Kind == Terminated:
			number := f.Count
			if f.Previous {
				number--
			}
			list = append(list, start{when: f.When, number: number, exit: f, fact: f})
		}
	}
	list = slices.DeleteFunc(list, func(s start) bool { return !s.when.Known() })
	slices.SortStableFunc(list, func(a, b start) int { return a.when.At.Compare(b.when.At) })
	var merged []start
	for _, s := range list {
		if n := len(merged); n > 0 && merged[n-1].when.overlaps(s.when, 0) {
			merged[n-1].join(s)
			continue
		}
		merged = append(merged, s)
	}
	number(merged, restarts, counted)
	return merged
}

// join adds another fact about the same start, and keeps the more exact time.
func (s *start) join(o start) {
	if o.when.Within < s.when.Within {
		s.when = o.when
	}
	if s.number < 0 && o.number >= 0 {
		s.number = o.number
	}
	if s.exit == nil || o.exit != nil && !o.exit.Previous {
		s.exit = cmp.Or(o.exit, s.exit)
	}
}

// number gives each start the number of its instance. An event counts its starts from the first that it has seen: if the
// restartCount is higher than its count tells, the event is younger than the pod.
func number(list []start, restarts, counted int) {
	earlier := 0
	if counted > 0 {
		earlier = max(restarts+1-counted, 0)
	}
	next := 0
	for i := range list {
		s := &list[i]
		switch {
		case s.number < -1:
			s.number = -s.number - 2 + earlier
		case s.number == -1:
			s.number = next
		}
		s.number = max(s.number, next)
		next = s.number + 1
	}
}

// life draws the instances of a container.
func (d *drawn) life(h *history.Pod, c *history.Container, p *Pod) {
	hatch := func(from, to virtual.Time) {
		if to > from {
			c.Unknown[history.LaneLife] = append(c.Unknown[history.LaneLife], history.Span{From: from, To: to})
		}
	}
	starts := p.starts(c.Name)
	kills := d.kills(p, c.Name)
	var lastSeen virtual.Time // the last fact of the pod
	for _, f := range p.Facts {
		for _, m := range []Moment{f.When, f.Last} {
			if m.Known() {
				lastSeen = max(lastSeen, d.at(m.Best()))
			}
		}
		if f.Kind == Waiting && f.Container == c.Name {
			c.States = append(c.States, history.State{At: d.at(f.When.Best()), Name: "waiting", Reason: f.Reason})
		}
	}
	waiting := len(c.States) > 0
	if len(starts) == 0 {
		if !waiting {
			hatch(h.Added, d.end)
		} else {
			c.States[0].At = h.Added
		}
		return
	}
	for i, s := range starts {
		at := d.at(s.when.Best())
		d.changes = append(d.changes, at)
		until, last := d.end, true
		if i+1 < len(starts) {
			until, last = d.at(starts[i+1].when.Best()), false
		}
		run := history.Instance{Number: max(s.number, 0), Started: at, Killing: history.Forever, Stopping: history.Forever, Exited: history.Forever}
		rec := d.record(&Fact{Kind: s.fact.Kind, Pod: p, Container: c.Name, When: s.when}, trace.ContainerStarted)
		rec.Reason, rec.Type, rec.Message, rec.Instance = "", "", "", run.Number
		run.Records = append(run.Records, rec)
		evidence := at // the container is known to run until here
		for _, probe := range trace.ProbeTypes {
			list := c.Probes[probe]
			if n, _ := slices.BinarySearchFunc(list, until, func(r *trace.Record, t virtual.Time) int { return cmp.Compare(r.T, t) }); n > 0 {
				evidence = max(evidence, list[n-1].T)
			}
		}
		for _, k := range kills {
			if k >= at && k < until && run.Stopping == history.Forever {
				run.Stopping, evidence = k, max(evidence, k)
			}
		}
		switch {
		case s.exit != nil && s.exit.Last.Known():
			run.Exited, run.Code = max(d.at(s.exit.Last.Best()), at), s.exit.ExitCode
			x := d.record(&Fact{Pod: p, Container: c.Name, When: Moment{At: d.zero.Add(run.Exited.Offset())}}, trace.ContainerExited)
			x.ExitCode, x.Instance = run.Code, run.Number
			run.Records = append(run.Records, x)
			if !last && starts[i+1].number > s.number+1 {
				hatch(run.Exited, until)
			} else if !last && !waiting {
				c.States = append(c.States, history.State{At: run.Exited, Name: "waiting"})
			}
		case !last:
			run.Exited, run.Vague = until, true
			if starts[i+1].number > s.number+1 {
				run.Exited = evidence
				hatch(evidence, until)
			} else if evidence > at || run.Stopping == history.Forever {
				hatch(evidence, until)
			}
		default:
			if waiting { // it has exited, at a time that is not recorded
				run.Exited, run.Vague = evidence, true
				hatch(evidence, d.end)
			} else {
				hatch(max(evidence, lastSeen), d.end)
			}
		}
		c.Runs = append(c.Runs, run)
	}
	if starts[0].number > 0 {
		hatch(h.Added, c.Runs[0].Started)
	} else if len(c.States) == 0 || c.States[0].At > c.Runs[0].Started {
		c.States = append([]history.State{{At: h.Added, Name: "waiting"}}, c.States...)
	}
	if n := len(c.States); waiting && c.Runs[len(c.Runs)-1].Exited != history.Forever {
		c.States[n-1].At = max(c.States[n-1].At, c.Runs[len(c.Runs)-1].Exited)
	}
}

// kills returns the known times at which the kubelet announced that it stops a container.
func (d *drawn) kills(p *Pod, name string) []virtual.Time {
	var list []virtual.Time
	for _, f := range p.Facts {
		if f.Kind == Event && f.Reason == "Killing" && f.Container == name {
			for _, pt := range f.Points {
				if pt.At.Known() {
					list = append(list, d.at(pt.At.Best()))
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// probes draws the failures of the probes. Between two known counts of an event the failures are unknown, unless each run of the
// probe in between must have failed.
func (d *drawn) probes(c *history.Container, p *Pod) {
	spec := p.container(c.Name)
	sent := 0
	var quiet virtual.Time // the last event
	for _, f := range p.Facts {
		if f.Kind == Event && f.Type == "Warning" {
			sent += f.Count
		}
		if f.Container != c.Name {
			continue
		}
		u := ParseUnhealthy(f.Message)
		switch {
		case f.Kind == ProbeRun:
			d.probeRun(c, f, f.Probe, f.Result, f.Message, f.When)
		case f.Kind == Event && u.Probe != "" && f.When.Known():
			for i, pt := range f.Points {
				if i > 0 {
					d.between(c, f, u, f.Points[i-1], pt, periodOf(spec, u.Probe))
				}
				if pt.At.Known() {
					d.probeRun(c, f, u.Probe, u.Result, u.Output, pt.At)
					quiet = max(quiet, d.at(pt.At.Best()))
				}
			}
		}
	}
	for _, probe := range trace.ProbeTypes {
		list := c.Probes[probe]
		slices.SortStableFunc(list, func(a, b *trace.Record) int { return cmp.Compare(a.T, b.T) })
		if sent >= burst && d.end > quiet && len(list) > 0 { // the spam filter may have dropped events
			c.Unknown[string(probe)] = append(c.Unknown[string(probe)], history.Span{From: quiet, To: d.end})
		}
	}
}

func (d *drawn) probeRun(c *history.Container, f *Fact, probe trace.Probe, result trace.Result, message string, at Moment) {
	r := d.record(&Fact{Pod: f.Pod, Container: c.Name, When: at, Message: message}, trace.ProbeExecuted)
	r.Probe, r.Result = probe, result
	c.Probes[probe] = append(c.Probes[probe], r)
	d.changes = append(d.changes, r.T)
}

// maxUnrolled limits the failures of one event that are drawn.
const maxUnrolled = 20_000

// between draws the failures between two known ones: all of them if there were as many as runs of the probe.
func (d *drawn) between(c *history.Container, f *Fact, u Unhealthy, a, b Point, period time.Duration) {
	missing := b.Count - a.Count - 1
	if missing <= 0 || !a.At.Known() || !b.At.Known() {
		return
	}
	over := b.At.At.Sub(a.At.At)
	least := time.Duration(missing+1)*period - b.At.Within - a.At.Within // the times are truncated
	if period > 0 && missing <= maxUnrolled && over >= least-100*time.Millisecond && over <= time.Duration(missing+1)*period+a.At.Within+100*time.Millisecond {
		for i := 1; i <= missing; i++ {
			r := d.record(&Fact{Pod: f.Pod, Container: c.Name, When: Moment{At: a.At.At.Add(time.Duration(i) * period)}, Message: u.Output}, trace.ProbeExecuted)
			r.Probe, r.Result = u.Probe, u.Result
			c.Probes[u.Probe] = append(c.Probes[u.Probe], r)
		}
		return
	}
	c.Unknown[string(u.Probe)] = append(c.Unknown[string(u.Probe)], history.Span{From: d.at(a.At.Best()) + 1, To: d.at(b.At.Best())})
}

// container returns the spec of a container, or nil.
func (p *Pod) container(name string) *v1.Container {
	if p.Object == nil {
		return nil
	}
	for _, list := range [][]v1.Container{p.Object.Spec.InitContainers, p.Object.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// periodOf returns the period of a probe, or 0 if it is unknown.
func periodOf(c *v1.Container, probe trace.Probe) time.Duration {
	if c == nil {
		return 0
	}
	p := ProbeOf(c, probe)
	switch {
	case p == nil:
		return 0
	case p.PeriodSeconds == 0:
		return 10 * time.Second
	}
	return time.Duration(p.PeriodSeconds) * time.Second
}
