package bounds

import (
	"cmp"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// landmarks are the times of a run that decide how long an instance may take to start. What decides jumps where one of the times that
// move with the start meets a tick of a probe or a relist.
type landmarks struct {
	// exit is the exit of the previous instance, or of the start if there is none.
	exit, start virtual.Time
	// syncs are the sync that finds the exit, and the one that shows the start to the probes.
	syncs []virtual.Time
	// look is the look at the runtime that follows these syncs, in a question about readiness. The sync after a probe run waits for it.
	look virtual.Time
	// delays are the ends of initialDelaySeconds.
	delays []virtual.Time
	// ticks has a tick of each probe that can stop the instance, and took how long its last run lasted before the exit.
	ticks map[trace.Probe]virtual.Time
	took  map[trace.Probe]time.Duration
	// relists are the times at which a call begins or ends that lists what runs.
	relists []relist
}

// relist is the begin or the end of a call.
type relist struct {
	at     virtual.Time
	method string
	pod    string // empty for a call about all pods
	end    bool
}

// lists reports whether a call lists sandboxes or containers.
func lists(r *trace.Record) bool { return r.Reason == "ListPodSandbox" || r.Reason == "ListContainers" }

// landmarks returns the landmarks of a case. A search asks for those of some cases again.
func (s *Subject) landmarks(c Case) (landmarks, error) {
	key := c.key()
	if l, ok := s.seen[key]; ok {
		return l, nil
	}
	l, err := s.observe(c)
	if err == nil && s.seen != nil {
		s.seen[key] = l
	}
	return l, err
}

func (s *Subject) observe(c Case) (landmarks, error) {
	l := landmarks{ticks: map[trace.Probe]virtual.Time{}, took: map[trace.Probe]time.Duration{}}
	deciding := s.deciding(&c)
	exited, started, visible := false, false, false
	looks := c.question != nil && c.question.probes != nil
	var housekeeping, relisted virtual.Time // the end of the last list of housekeeping, and of the last call of a relist
	to := &trace.Recorder{Internal: true, Sink: func(*trace.Record) {}}
	_, err := s.record(&c, to, s.longestRun(), func(r *trace.Record) bool {
		switch {
		case c.Instance > 0 && s.exited(c.Instance-1)(r):
			exited, l.exit = true, r.T
		case s.started(c.Instance)(r):
			started, l.start = true, r.T
		case r.Kind == trace.PodSync && (exited || started) && !visible:
			l.syncs = append(l.syncs, r.T)
			visible = started
		case r.Kind == trace.CRICall && r.Pod == "" && r.Reason == "ListPodSandbox" && modulo(c.Uptime+request(r).Offset(), housekeepingPeriod) == 0:
			housekeeping = r.T
		case r.Kind == trace.CRICall && (r.Pod == "" && lists(r) && request(r) != housekeeping || request(r) == relisted):
			one := relist{at: request(r), method: r.Reason, pod: r.Pod}
			l.relists = append(l.relists, one)
			one.at, one.end = r.T, true
			l.relists = append(l.relists, one)
			relisted = r.T
			if visible && l.look == 0 && r.Pod == "" && r.Reason == "ListContainers" {
				l.look = r.T
			}
		case r.Container == s.Container && (r.Kind == trace.ProbeExecuted || r.Kind == trace.ProbeSkipped) && slices.Contains(deciding, r.Probe):
			if _, ok := l.ticks[r.Probe]; !ok { // the first run is at a tick; a sync can lead to others between the ticks
				l.ticks[r.Probe] = request(r)
			}
			if !exited {
				l.took[r.Probe] = r.Took
			}
		}
		return visible && len(l.ticks) == len(deciding) && (!looks || l.look > 0)
	})
	if err != nil {
		return l, err
	}
	if !exited {
		l.exit = l.start
	}
	l.relists = slices.Clone(slices.DeleteFunc(l.relists, func(r relist) bool { // a clone, because a long run has many others
		return r.at < l.exit.Add(-c.relistPeriod()) || r.at > l.start.Add(c.relistPeriod())
	}))
	for _, p := range deciding {
		if delay := time.Duration(s.Probe(p).InitialDelaySeconds) * time.Second; delay > 0 { // counts from the whole second
			l.delays = append(l.delays, l.start.Add(delay-c.wall(l.start)))
		}
	}
	return l, nil
}

// mark is a landmark that moves with the start.
type mark func(landmarks) virtual.Time

// marks returns the landmarks of an instance that decide at which tick a probe begins to count.
func (s *Subject) marks(l landmarks, p trace.Probe) []mark {
	list := []mark{landmarks.exitTime}
	if took := l.took[p]; took > 0 { // a probe that runs while the program exits fails
		list = append(list, func(l landmarks) virtual.Time { return l.exit.Add(-took) })
	}
	for i := range l.syncs {
		list = append(list, func(l landmarks) virtual.Time { return l.syncs[min(i, len(l.syncs)-1)] })
	}
	if l.look > 0 {
		list = append(list, func(l landmarks) virtual.Time { return l.look })
	}
	for i := range l.delays {
		list = append(list, func(l landmarks) virtual.Time { return l.delays[i] })
	}
	return list
}

func (l landmarks) exitTime() virtual.Time  { return l.exit }
func (l landmarks) startTime() virtual.Time { return l.start }

// closest returns the relists that are the closest to a landmark, one of each kind. These kinds decide what a relist finds: it begins with
// ListPodSandbox, what it knows of all containers is what holds when ListContainers ends, and the look at one pod follows its
// PodSandboxStatus.
func (l landmarks) closest(m mark) []relist {
	list := slices.Clone(l.relists)
	slices.SortStableFunc(list, func(a, b relist) int { return cmp.Compare(a.at.Sub(m(l)).Abs(), b.at.Sub(m(l)).Abs()) })
	seen := map[relist]bool{}
	return slices.DeleteFunc(list, func(r relist) bool {
		r.at = 0
		again := seen[r]
		seen[r] = true
		decides := !r.end && r.method == "ListPodSandbox" && r.pod == "" || r.end && (r.method == "ListContainers" && r.pod == "" || r.method == "PodSandboxStatus")
		return again || !decides
	})
}
