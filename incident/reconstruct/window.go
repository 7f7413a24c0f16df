package reconstruct

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// Window says when a program can have begun to fail a probe as a recorded event tells, and when it can have stopped. It follows from the
// facts and from the settings of the probe alone: the program changed between two runs of the probe, or with a start of its container.
type Window struct {
	Fact      *incident.Fact
	Container string
	Probe     trace.Probe
	// Began and Stopped are the earliest and the latest times. A zero time means that nothing in the recording bounds it. The latest time
	// of Stopped is zero, too, if the container ended before the next run of the probe.
	Began, Stopped [2]time.Time
	Open           string // why Stopped has no latest time
}

// Windows returns a window for each recorded event about failures of a probe that runs, in the order of the containers and probes.
func (r *Result) Windows() []Window { return r.model.windows() }

func (m *model) windows() []Window {
	var list []Window
	for _, containers := range [][]v1.Container{m.object.Spec.InitContainers, m.object.Spec.Containers} {
		for i := range containers {
			for _, probe := range trace.ProbeTypes {
				list = append(list, m.windowsOf(&containers[i], probe)...)
			}
		}
	}
	return list
}

// windowsOf returns the windows of a probe.
func (m *model) windowsOf(c *v1.Container, probe trace.Probe) []Window {
	var list []Window
	if incident.ProbeOf(c, probe) == nil {
		return nil
	}
	for _, f := range m.failures(c.Name, probe) {
		if !runtimeGone(f.Message) && !containerGone(f.Message) { // the program does not matter
			list = append(list, m.window(c, probe, f))
		}
	}
	return list
}

// String describes a window. Its times count from zero.
func (w Window) String(zero time.Time) string {
	at := func(t time.Time) string {
		if d := round(t.Sub(zero)); d >= 0 {
			return value.Format(d)
		}
		return value.Format(round(zero.Sub(t))) + " before t=0"
	}
	ranges := func(b [2]time.Time) string {
		switch {
		case b[0].IsZero() && b[1].IsZero():
			return "at an unknown time"
		case b[0].IsZero():
			return "at " + at(b[1]) + " or earlier"
		case b[1].IsZero():
			return "at " + at(b[0]) + " or later"
		}
		return "between " + at(b[0]) + " and " + at(b[1])
	}
	text := fmt.Sprintf("the program began to fail %s, and stopped %s", ranges(w.Began), ranges(w.Stopped))
	if w.Open != "" {
		text += " (" + w.Open + ")"
	}
	return text
}

// hangs reports whether a failure with this output took the whole timeout of the probe.
func hangs(p *v1.Probe, u incident.Unhealthy) bool {
	word, _ := answer(p, u, "")
	return word == "hang" || word == late || stalledBody(p, u) || p.GRPC != nil && word == "down"
}

// answersDeadline reports whether failures are too close to each other for a program that does not answer until the timeout: it answers with
// the code DEADLINE_EXCEEDED, for which the prober has the same words (Probe in pkg/probe/grpc/grpc.go at v1.37.0).
func answersDeadline(p *v1.Probe, u incident.Unhealthy, first, last incident.Moment, count int) bool {
	return p.GRPC != nil && rpcTimeout.MatchString(u.Output) && last.Known() && last.End().Sub(first.At) < time.Duration(count-1)*fullTimeout(p, u)
}

// waitedFor reports whether the failures of an event came at the timeout.
func waitedFor(p *v1.Probe, f *incident.Fact) bool {
	u := incident.ParseUnhealthy(f.Message)
	return hangs(p, u) && !answersDeadline(p, u, f.When, f.Last, f.Count)
}

// fullTimeout returns the time of a failure that takes the whole timeout: that of the probe, or of a TLS handshake
// (tlsHandshakeTimeout of http.DefaultTransport, which pkg/probe/http/http.go does not change).
func fullTimeout(p *v1.Probe, u incident.Unhealthy) time.Duration {
	timeout := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	if strings.Contains(u.Output, "TLS handshake timeout") {
		return min(timeout, 10*time.Second)
	}
	if stalledBody(p, u) { // an error, after which the kubelet tries again at once (maxProbeRetries of pkg/kubelet/prober/prober.go)
		return 3 * timeout
	}
	return timeout
}

// detection is the time after which the kubelet knows the state of a container: until the next relist, with some time for the runtime.
const detection = 2 * time.Second

func (m *model) window(c *v1.Container, probe trace.Probe, f *incident.Fact) Window {
	p := incident.ProbeOf(c, probe)
	u := incident.ParseUnhealthy(f.Message)
	timeout, tick := time.Duration(max(p.TimeoutSeconds, 1))*time.Second, period(p)
	longest, shortest := timeout, time.Duration(0) // the time that a failed run took
	if u.Result == trace.Error {
		longest *= 3 // the kubelet tries again at once (maxProbeRetries)
	} else if waitedFor(p, f) {
		shortest = fullTimeout(p, u)
	}
	w := Window{Fact: f, Container: c.Name, Probe: probe}
	gap := max(tick, longest) // between the beginnings of two runs

	// The program began to fail before the first failed run, and after the run before it.
	from, to := f.When.At.Add(-longest), f.When.End().Add(-shortest)
	w.Began[1] = to
	life := m.lifeOf(c, from, to)
	before := from.Add(-gap)
	died := p.Exec != nil && shortest == 0 && m.diedWith(c, probe, f)
	since, runs := m.runsSince(c, probe, life, f.When)
	switch {
	case f.AtLeast || m.lossyUntil(f.When.At): // earlier failures are not recorded
		w.Began[0] = life.began
	case died: // a runtime that ignores the timeout ends a command with its container
		w.Began[0] = life.began
	case life.known && runs && !before.Before(since):
		w.Began[0] = before
	case life.known:
		w.Began[0] = life.began
	case !m.gated(c, probe) && len(m.object.Spec.Containers) == 1 && (c.Lifecycle == nil || c.Lifecycle.PostStart == nil):
		w.Began[0] = later(life.began, before.Add(-time.Duration(p.InitialDelaySeconds)*time.Second-detection))
	default:
		w.Began[0] = life.began
	}
	if w.Began[0].After(w.Began[1]) {
		w.Began[0] = w.Began[1]
	}

	// It stopped after the last failed run, and before the run after it.
	w.Stopped[0] = later(f.Last.At.Add(-longest), w.Began[0])
	if died {
		w.Stopped[0] = w.Began[0]
	}
	next := f.Last.End().Add(max(tick-shortest, 0))
	if w.Open = m.openAfter(c, f, f.Last.At.Add(-longest), next.Add(longest)); w.Open == "" {
		w.Stopped[1] = next
	} else if by := m.endsBy(c, probe, f, gap, longest); !by.IsZero() {
		w.Stopped[1], w.Open = by, ""
	}
	return w
}

// endsBy returns a time until which a probe cannot have failed in all its runs since its last recorded failure, because of what did not
// happen, or of other facts. It is zero if nothing tells one.
func (m *model) endsBy(c *v1.Container, probe trace.Probe, f *incident.Fact, gap, longest time.Duration) time.Time {
	var by time.Time
	add := func(at time.Time) {
		if by.IsZero() || at.Before(by) {
			by = at
		}
	}
	after := func(at incident.Moment) bool { return at.Known() && at.At.After(f.Last.End()) }
	for _, o := range m.pod.Facts {
		switch {
		case !after(o.When):
		case o.Kind == incident.Condition && o.Value == "True" && probe != trace.Liveness && (o.Reason == "Ready" || o.Reason == "ContainersReady"):
			add(o.When.End())
		case o.Kind == incident.Event && o.Container == c.Name && probe == trace.Startup && m.gated(c, incident.ParseUnhealthy(o.Message).Probe) && incident.ParseUnhealthy(o.Message).Probe != "":
			add(o.When.End())
		}
	}
	if probe == trace.Readiness || incident.ParseUnhealthy(f.Message).Result != trace.Failure || m.noisy("Normal") {
		return by
	}
	// A probe that goes on failing has its container killed.
	until := f.Last.End().Add(time.Duration(max(incident.ProbeOf(c, probe).FailureThreshold, 1))*gap + longest)
	for _, o := range m.pod.Facts {
		if o.Kind != incident.Event || o.Reason != "Killing" || o.Container != c.Name {
			continue
		}
		if len(o.Points) == 0 && o.Count > 2 && !o.When.At.After(until) && after(o.Last) {
			return by // perhaps in between
		}
		moments := []incident.Moment{o.When, o.Last}
		for _, p := range o.Points {
			moments = append(moments, p.At)
		}
		for _, at := range moments {
			if !at.End().Before(f.Last.At) && !at.At.After(until) {
				return by
			}
		}
	}
	if !m.rec.End.Before(until) {
		add(until)
	}
	return by
}

// lifeOf returns the instance in which a request was sent between two times. It is not known if an instance started in between.
func (m *model) lifeOf(c *v1.Container, from, to time.Time) lifetime {
	first, last := m.lifeAt(c, incident.Moment{At: from}), m.lifeAt(c, incident.Moment{At: to})
	if !first.marked {
		return last
	}
	first.known = first.known && first.number == last.number
	return first
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// lifetime is an instance of a container in a recording.
type lifetime struct {
	number int
	began  time.Time // the earliest time; zero if nothing tells it
	marked bool      // a fact tells it
	within time.Duration
	known  bool      // no other instance can have started until then
	next   time.Time // the earliest start of the next instance; zero if there is none
}

// lifeAt returns the instance of a container that ran at a time, as far as the recording tells.
func (m *model) lifeAt(c *v1.Container, at incident.Moment) lifetime {
	var l lifetime
	total := m.restarts(c.Name)
	marks := m.recordedStarts(c)
	for i, mark := range marks {
		if mark.at.At.After(at.End()) {
			continue
		}
		l = lifetime{number: mark.number, began: mark.at.At, marked: true, within: mark.at.Within}
		switch {
		case i+1 < len(marks):
			l.next = marks[i+1].at.At
			l.known = marks[i+1].number == mark.number+1
		default:
			l.known = mark.number == total && !m.lossy()
		}
	}
	if l.began.IsZero() {
		for _, f := range m.pod.Facts {
			if f.Kind == incident.Created && f.When.Known() {
				l.began = f.When.At
			}
		}
	}
	return l
}

// gated reports whether a probe runs only after the startup probe of its container has succeeded.
func (m *model) gated(c *v1.Container, probe trace.Probe) bool {
	return probe != trace.Startup && c.StartupProbe != nil
}

// diedWith reports whether a container ended, or was stopped for another reason than this probe, just before a failure.
func (m *model) diedWith(c *v1.Container, probe trace.Probe, f *incident.Fact) bool {
	just := func(at incident.Moment) bool {
		return at.Known() && at.At.Before(f.When.End()) && f.When.At.Sub(at.End()) < time.Second
	}
	died := false
	for _, o := range m.pod.Facts {
		switch {
		case o.Kind == incident.Event && o.Reason == "Evicted":
			died = died || just(o.When)
		case o.Container != c.Name:
		case o.Kind == incident.Event && o.Reason == "Killing":
			if incident.ParseKilling(o.Message) == causes[probe] && o.When.At.Sub(f.When.At).Abs() < time.Second {
				return false
			}
			died = died || just(o.When) || just(o.Last)
		case o.Kind == incident.Terminated:
			died = died || just(o.Last)
		}
	}
	return died
}

// runsSince returns the time from which on a probe certainly ran in each of its periods in an instance, and whether there is one until a
// failure. The kubelet learns that a container runs when it has started the containers after it, and their hooks have ended.
func (m *model) runsSince(c *v1.Container, probe trace.Probe, l lifetime, failed incident.Moment) (time.Time, bool) {
	started := l.began.Add(l.within)
	for i := range m.object.Spec.Containers {
		o := &m.object.Spec.Containers[i]
		marks := m.recordedStarts(o)
		if len(marks) == 0 || marks[0].at.At.After(failed.At) || o.Lifecycle != nil && o.Lifecycle.PostStart != nil {
			return time.Time{}, false
		}
		for _, mark := range marks {
			if mark.at.At.Before(failed.At) {
				started = later(started, mark.at.End())
			}
		}
	}
	since := started.Add(time.Duration(incident.ProbeOf(c, probe).InitialDelaySeconds)*time.Second + detection)
	if !m.gated(c, probe) {
		return since, true
	}
	s := c.StartupProbe
	done := started.Add(time.Duration(s.InitialDelaySeconds) * time.Second)
	for _, f := range m.failures(c.Name, trace.Startup) {
		if !f.When.At.Before(l.began) && (l.next.IsZero() || f.When.At.Before(l.next)) || f.Last.End().After(done) && (l.next.IsZero() || f.Last.At.Before(l.next)) {
			done = later(done, f.Last.End())
		}
	}
	done = done.Add(period(s) + time.Duration(max(s.TimeoutSeconds, 1))*time.Second + detection)
	return later(since, done), true
}

// lossy reports whether events may be missing or have other times: the kubelet dropped or combined some, or has forgotten its old ones.
func (m *model) lossy() bool { return m.lossyUntil(time.Time{}) }

// lossyUntil is lossy for the events until a time; the zero time stands for all of them.
func (m *model) lossyUntil(until time.Time) bool {
	n := 0
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || !until.IsZero() && !f.When.At.Before(until) {
			continue
		}
		if f.AtLeast || strings.HasPrefix(f.Message, "(combined from similar events)") {
			return true
		}
		if f.Type != "Normal" {
			n += f.Count
		}
	}
	after, _ := m.forgotten()
	restarted := !after.IsZero() && (until.IsZero() || after.Before(until))
	return n >= burst || restarted || m.rebootedUntil(until)
}

// rebootedUntil reports whether a container ended because its node went down, until a time; the zero time stands for all of them.
func (m *model) rebootedUntil(until time.Time) bool {
	return slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool {
		return f.Kind == incident.Terminated && f.ExitCode == 255 && (until.IsZero() || !f.Last.Known() || f.Last.At.Before(until))
	})
}

// Reasons why nothing tells that a program stopped to fail a probe while its container ran on.
const (
	recordingEnds   = "the recording ends"
	failuresMissing = "later failures may be missing"
)

// openAfter returns why nothing tells that a probe ran again after its last recorded failure, whose run began at a time, until another
// time by which it would have.
func (m *model) openAfter(c *v1.Container, f *incident.Fact, from, until time.Time) string {
	last := m.lifeAt(c, incident.Moment{At: from})
	if m.rec.End.Before(until) {
		return recordingEnds
	}
	if m.lossyUntil(until) {
		return failuresMissing
	}
	inside := func(at incident.Moment) bool {
		return at.Known() && !at.End().Before(f.Last.At) && !at.At.After(until)
	}
	running := m.pod.Object == nil
	for _, o := range m.pod.Facts {
		switch {
		case o.Kind == incident.Deleted, o.Kind == incident.Event && (o.Reason == "Evicted" || o.Reason == "DeadlineExceeded"):
			if o.When.Known() && !o.When.At.After(until) {
				return "the pod was stopped"
			}
		case o.Container != c.Name:
		case o.Kind == incident.Event && o.Reason == "Killing":
			moments := []incident.Moment{o.When, o.Last}
			for _, p := range o.Points {
				moments = append(moments, p.At)
			}
			for _, at := range moments {
				if inside(at) {
					return "the container was stopped"
				}
			}
			running = running || o.When.At.After(until)
		case o.Kind == incident.Terminated && inside(o.Last):
			return "the container ended"
		case o.Kind == incident.Running, o.Kind == incident.Terminated:
			running = true
		}
	}
	switch {
	case !last.next.IsZero() && !last.next.After(until):
		return "the container restarted"
	case !last.known, m.pod.Object == nil && last.next.IsZero() && !m.stoppedAfter(c, until):
		return "the container may have ended before"
	case !running:
		return "the container may have ended before"
	case isInit(m.object, c) && !podutil.IsRestartableInitContainer(c):
		return "the container may have ended before"
	}
	return ""
}

// stoppedAfter reports whether the kubelet stopped a container after a time: it ran until then.
func (m *model) stoppedAfter(c *v1.Container, at time.Time) bool {
	for _, f := range m.pod.Facts {
		if f.Container == c.Name && f.Kind == incident.Event && f.Reason == "Killing" && f.When.At.After(at) {
			return true
		}
	}
	return false
}
