package reconstruct

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/incident"
	"probesim.dev/trace"
)

// addStart adds the dimensions of the first start of a container.
func (m *model) addStart(c *v1.Container) {
	m.parts = append(m.parts,
		&part{container: c.Name, what: "delay", try: func(s *search, p *part) []choice { return tryDelay(s, p, c) }},
		&part{container: c.Name, what: "hook", try: func(s *search, p *part) []choice { return tryHook(s, c) }})
}

// tryDelay lets the first start of a container take as long as recorded: as the times between its events tell, or else because of its
// image.
func tryDelay(s *search, p *part, c *v1.Container) []choice {
	if s.model.startMissing(c.Name) {
		return nil
	}
	if create, start, known := s.latencies(p, c.Name); known {
		return []choice{{name: "measured", create: create, startup: start}}
	}
	if f := s.model.firstEvent(c.Name); f != nil && f.Reason != "Started" {
		return s.pending(c)
	}
	starts := s.starts(c.Name)
	for _, f := range s.model.pod.Facts {
		first := f.Kind == incident.Event && f.Reason == "Started" && !f.AtLeast || (f.Kind == incident.Running || f.Kind == incident.Terminated) && !f.Previous && f.Count == 0
		if f.Container != c.Name || !first || !f.When.Known() || len(starts) == 0 || c.Name == s.model.starter {
			continue
		}
		late := f.When.At.Add(f.When.Within/2).Sub(s.best.zero) - starts[0].Offset()
		if p.create == 0 {
			late += 31 * time.Millisecond // the default
		}
		if create := round(p.create + late); create > 0 && create < time.Hour && late.Abs() > 5*time.Millisecond {
			return []choice{{name: "delay", create: create}}
		}
	}
	return nil
}

// waitForSandbox lets the sandbox take as long as the first container waited for it after the start time of the pod. The kubelet sets that
// time when it first stores a status of the pod (updateStatusInternal in pkg/kubelet/status/status_manager.go, v1.37.0), and a runtime that is
// away creates no sandbox.
func (s *search) waitForSandbox() {
	m := s.model
	start := m.pod.StartTime()
	if m.anchor != "" || !start.Known() || m.doubt > 0 || m.starter != m.containers()[0].Name || m.startMissing(m.starter) {
		return
	}
	if late := s.best.zero.Sub(start.End()); late > 0 && late < longestSandbox {
		m.sandbox += late + start.Within/2
	}
}

// longestSandbox is the longest time that a pod waits for its sandbox. After more, the first start is that of a later instance.
const longestSandbox = 10 * time.Minute

// startMissing reports whether the recording lacks the first start of a container: a probe failed or killed it before the first start that
// it has.
func (m *model) startMissing(container string) bool {
	var started, probed time.Time
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.Container != container || !f.When.Known() || f.AtLeast {
			continue
		}
		switch {
		case f.Reason == "Started" && (started.IsZero() || f.When.At.Before(started)):
			started = f.When.At
		case (f.Reason == "Killing" || incident.ParseUnhealthy(f.Message).Probe != "") && (probed.IsZero() || f.When.At.Before(probed)):
			probed = f.When.At
		}
	}
	return !started.IsZero() && !probed.IsZero() && probed.Before(started)
}

// pending lets the first start of a container take longer than the recording, if that has no later event about it.
func (s *search) pending(c *v1.Container) []choice {
	seen := map[string]bool{}
	for _, f := range s.model.pod.Facts {
		if f.Container == c.Name {
			seen[f.Reason] = seen[f.Reason] || f.Kind == incident.Event
			seen["started"] = seen["started"] || f.Kind == incident.Running || f.Kind == incident.Terminated
		}
	}
	long := s.model.duration(s.best.zero) + time.Minute
	switch {
	case seen["Started"] || seen["started"]:
		return nil
	case seen["Created"]:
		return []choice{{name: "none"}, {name: "pending", startup: long}}
	case seen["Pulled"]:
		return []choice{{name: "none"}, {name: "pending", create: long}}
	}
	return nil
}

// latencies returns how long the runtime needs to create and to start a container, if the times of its first events tell it.
func (s *search) latencies(p *part, container string) (create, start time.Duration, known bool) {
	if s.model.startMissing(container) {
		return 0, 0, false
	}
	var recorded [3]time.Duration
	reasons := []string{"Pulled", "Created", "Started"}
	for i, reason := range reasons {
		for _, f := range s.model.pod.Facts {
			exact := f.Kind == incident.Event && f.Container == container && f.Reason == reason && f.When.Known() && f.When.Within <= time.Millisecond && !f.AtLeast
			if at := f.When.At.Sub(s.best.zero); exact && (recorded[i] == 0 || at < recorded[i]) {
				recorded[i] = at
			}
		}
	}
	var run [3]time.Duration
	for i := range s.best.run.Records {
		if r := &s.best.run.Records[i]; r.Kind == trace.Event && r.Container == container {
			if k := slices.Index(reasons, r.Reason); k >= 0 && run[k] == 0 {
				run[k] = r.T.Offset()
			}
		}
	}
	if slices.Contains(recorded[:], 0) || slices.Contains(run[:], 0) || !slices.IsSorted(recorded[:]) {
		return 0, 0, false
	}
	create, start = p.create, p.startup
	if create == 0 {
		create = fakeruntime.DefaultDelays().CreateContainer.Max
	}
	if start == 0 {
		start = fakeruntime.DefaultDelays().StartContainer.Max
	}
	longer := func(k int) time.Duration { return recorded[k] - recorded[k-1] - (run[k] - run[k-1]) }
	change := func(from, by time.Duration, old time.Duration) time.Duration {
		if by.Abs() < time.Millisecond {
			return old
		}
		return max(round(from+by), time.Millisecond)
	}
	return change(create, longer(1), p.create), change(start, longer(2), p.startup), true
}

// lateness returns how much later than in the best run so far the first event about the next container is, and that event.
func (s *search) lateness(c *v1.Container) (*incident.Fact, time.Duration) {
	containers := append(slices.Clone(s.model.object.Spec.InitContainers), s.model.object.Spec.Containers...)
	i := slices.IndexFunc(containers, func(o v1.Container) bool { return o.Name == c.Name })
	if i < 0 || i+1 >= len(containers) {
		return nil, 0
	}
	next := containers[i+1].Name
	f := s.model.firstEvent(next)
	if f == nil {
		return nil, 0
	}
	at, _ := firstOf(s.best.run.Records, next, f.Reason)
	return f, f.When.At.Add(f.When.Within/2).Sub(s.best.zero) - at
}

// firstOf returns when the first event with a reason about a container was.
func firstOf(records []trace.Record, container, reason string) (time.Duration, bool) {
	for i := range records {
		if r := &records[i]; r.Kind == trace.Event && r.Container == container && r.Reason == reason {
			return r.T.Offset(), true
		}
	}
	return 0, false
}

// firstEvent returns the first event about a container whose time is known exactly, or nil.
func (m *model) firstEvent(container string) *incident.Fact {
	if m.startMissing(container) {
		return nil
	}
	var first *incident.Fact
	for _, f := range m.pod.Facts {
		exact := f.Kind == incident.Event && f.When.Known() && f.When.Within <= time.Millisecond && !f.AtLeast
		if exact && f.Container == container && steps[f.Reason] && (first == nil || f.When.At.Before(first.When.At)) {
			first = f
		}
	}
	return first
}

// steps are the reasons of the events in which a container starts.
var steps = map[string]bool{"Pulling": true, "Pulled": true, "Created": true, "Started": true}

// tryStart moves the first start within the time that the recording allows, if that is more than a second.
func tryStart(s *search, _ *part) []choice {
	var list []choice
	for i := range 9 {
		list = append(list, choice{name: "start", start: ptr(s.model.earliest.Add(s.model.doubt * time.Duration(i) / 8))})
	}
	return list
}
