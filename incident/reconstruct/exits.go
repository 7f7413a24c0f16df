package reconstruct

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/kube/podutil"
	"probesim.dev/trace"
)

// tryExits returns behaviors in which the program exits as recorded.
func tryExits(s *search, c *v1.Container) []choice {
	m := s.model
	list := []choice{{name: "none"}}
	restarts, started := 0, 0
	var last *incident.Fact
	for _, f := range m.pod.Facts {
		if f.Container != c.Name {
			continue
		}
		switch {
		case f.Kind == incident.Restarts:
			restarts = max(restarts, f.Count)
		case f.Kind == incident.Terminated && f.Last.Known():
			if last == nil || !f.Previous {
				last = f
			}
		case f.Kind == incident.Event && f.Reason == "Started":
			started += f.Count
		}
	}
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Row && len(m.object.Spec.Containers) == 1 {
			restarts = max(restarts, f.Count)
		}
	}
	restarts = max(restarts, started-1)
	if isInit(m.object, c) && !podutil.IsRestartableInitContainer(c) { // which by itself ends after a second
		list = append(list, s.untilNext(c)...)
		long := m.duration(s.best.zero)
		list = append(list, choice{name: "it runs on", rules: []rule{{fmt.Sprintf("after: %s, exit: 0", value.Format(long)), "It was still running at the end of the recording."}}})
	}
	list = append(list, s.byBackOff(c)...)
	list = append(list, s.lives(c)...)
	kills := m.kills(c.Name, trace.Liveness) + m.kills(c.Name, trace.Startup)
	if kills > 0 && restarts == kills+1 { // one ended for another reason
		for _, d := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second} {
			for _, number := range []int{0, restarts - 1} {
				list = append(list, choice{name: "not killed", rules: []rule{{fmt.Sprintf("instance: %d, after: %s, exit: 1", number, value.Format(d)),
					fmt.Sprintf("Probes killed %d instances, but %d ended. The recording does not tell why this one did.", kills, restarts)}}})
			}
		}
	}
	if last == nil {
		if restarts > kills {
			for _, d := range []time.Duration{time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second} {
				list = append(list, choice{name: "guess", rules: []rule{{fmt.Sprintf("instance: ..%d, after: %s, exit: 1", max(restarts-1, 0), value.Format(d)), "The recording does not tell why the container restarted, nor its exit code."}}})
			}
		}
		return list
	}
	number := last.Count
	if last.Previous && !m.waiting(c.Name) {
		number = max(last.Count-1, 0)
	}
	code := max(min(last.ExitCode, 255), 0)
	exit := func(name, when, says string) {
		list = append(list, choice{name: name, rules: []rule{{fmt.Sprintf("%s, exit: %d", when, code), says}}})
	}
	at := last.Last.At.Sub(s.best.zero)
	exit("at", "at: "+between(at, at+time.Second-time.Millisecond), fmt.Sprintf("%s: it exited with code %d", last.Place, code))
	list = append(list, s.recordedExits(c, restarts)...)
	if !last.When.Known() {
		return list
	}
	life := last.Last.At.Sub(last.When.At)
	lives := between(life-time.Second+time.Millisecond, life+time.Second-time.Millisecond)
	says := fmt.Sprintf("%s: instance %d ran for %s, up to a second more or less, and exited with code %d", last.Place, number, value.Format(life), code)
	exit("each", "after: "+lives, says+". All instances are assumed to be like it.")
	exit("so far", fmt.Sprintf("instance: ..%d, after: %s", number, lives), says+". All instances before it are assumed to be like it.")
	exit("this", fmt.Sprintf("instance: %d, after: %s", number, lives), says)
	for _, shift := range []time.Duration{-700 * time.Millisecond, -400 * time.Millisecond, 400 * time.Millisecond, 700 * time.Millisecond} {
		if d := round(life + shift); d > 0 {
			exit("so far, shifted", fmt.Sprintf("instance: ..%d, after: %s", number, value.Format(d)), says+".")
		}
	}
	if life <= 2*time.Second {
		exit("at once", fmt.Sprintf("instance: ..%d, after: 1ms", number), says+". All instances before it are assumed to be like it.")
		exit("each at once", "after: 1ms", says+". All instances are assumed to be like it.")
	}
	if number > 0 {
		for _, d := range []time.Duration{time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second} {
			list = append(list, choice{name: "earlier", rules: []rule{
				{fmt.Sprintf("instance: ..%d, after: %s, exit: %d", number-1, value.Format(d), max(code, 1)), "The recording does not tell when the earlier instances exited."},
				{fmt.Sprintf("instance: %d, after: %s, exit: %d", number, lives, code), says}}})
		}
	}
	return list
}

// untilNext lets an init container that ends well run until the next container starts.
func (s *search) untilNext(c *v1.Container) []choice {
	if f, late := s.lateness(c); f == nil || late.Abs() < 100*time.Millisecond {
		return nil
	}
	return []choice{s.calibrated(c, "after: %s, exit: 0", time.Second, "the next container starts after it", 5)}
}

// calibrated returns a choice with a duration that delays the next container. The runs tell by how much to change it.
func (s *search) calibrated(c *v1.Container, format string, d time.Duration, says string, left int) choice {
	f, _ := s.lateness(c)
	next := func(a *attempt) *choice {
		best := s.best
		s.best = a
		_, late := s.lateness(c)
		s.best = best
		longer := max(round(d+late), time.Millisecond)
		if late.Abs() < 2*time.Millisecond || left == 0 || longer == d || longer > time.Hour {
			return nil
		}
		again := s.calibrated(c, format, longer, says, left-1)
		return &again
	}
	return choice{name: "until the next", next: next, rules: []rule{{fmt.Sprintf(format, value.Format(d)), fmt.Sprintf("%s: %s", f.Place, says)}}}
}

// byBackOff returns behaviors in which each instance lives so long that the first back-off comes when it is recorded: after the second
// exit.
func (s *search) byBackOff(c *v1.Container) []choice {
	starts := s.starts(c.Name)
	for _, f := range s.model.pod.Facts {
		if !crashBackOff(f) || f.Container != c.Name || !f.When.Known() || len(starts) == 0 {
			continue
		}
		life := max((f.When.Best().Sub(s.best.zero)-starts[0].Offset()-time.Second)/2, time.Millisecond)
		which := []string{""}
		n := s.model.restarts(c.Name)
		if n > 0 {
			which = append(which, fmt.Sprintf("instance: ..%d, ", n-1))
		}
		// Probes killed the last ones. The last kill can have a restart or not.
		if kills := s.model.kills(c.Name, trace.Liveness) + s.model.kills(c.Name, trace.Startup); kills > 0 {
			for _, last := range []int{n - kills, n - kills - 1} {
				if last > 0 {
					which = append(which, fmt.Sprintf("instance: ..%d, ", last))
				}
			}
		}
		var list []choice
		for _, instances := range which {
			for _, code := range []int{1, 0} {
				list = append(list, s.backOffChoice(c, f, instances, life, code, 4))
			}
		}
		return list
	}
	return nil
}

// backOffChoice returns a choice in which each instance lives for some time. The runs tell by how much to change it.
func (s *search) backOffChoice(c *v1.Container, f *incident.Fact, instances string, life time.Duration, code, left int) choice {
	next := func(a *attempt) *choice {
		at, found := firstOf(a.run.Records, c.Name, "BackOff")
		longer := max(round(life+(f.When.Best().Sub(a.zero)-at)/2), time.Millisecond)
		if !found || left == 0 || longer == life {
			return nil
		}
		again := s.backOffChoice(c, f, instances, longer, code, left-1)
		return &again
	}
	return choice{name: "back-off", next: next, rules: []rule{{fmt.Sprintf("%safter: %s, exit: %d", instances, value.Format(round(life)), code),
		fmt.Sprintf("%s: the first back-off follows the second exit.", f.Place)}}}
}

// recordedExits returns behaviors in which each instance whose end is recorded exits then. The instance before the first of them must
// have exited before that started.
func (s *search) recordedExits(c *v1.Container, restarts int) []choice {
	var ends []*incident.Fact
	for _, f := range s.model.pod.Facts {
		if f.Container == c.Name && f.Kind == incident.Terminated && f.Last.Known() {
			ends = append(ends, f)
		}
	}
	slices.SortStableFunc(ends, func(a, b *incident.Fact) int { return a.Last.At.Compare(b.Last.At) })
	if len(ends) == 0 {
		return nil
	}
	number := restarts
	// The times of exits are truncated to seconds. Exact times of what followed may tell in which part of its second an exit was.
	recorded := func(from, to time.Duration) []rule {
		var rules []rule
		for i := len(ends) - 1; i >= 0; i-- {
			f := ends[i]
			if number = f.Count; f.Previous && !s.model.waiting(c.Name) {
				number = max(f.Count-1, 0)
			}
			at := f.Last.At.Sub(s.best.zero)
			rules = append(rules, rule{fmt.Sprintf("instance: %d, at: %s, exit: %d", number, between(at+from, at+to), max(min(f.ExitCode, 255), 0)),
				fmt.Sprintf("%s: instance %d exited with code %d", f.Place, number, f.ExitCode)})
		}
		return rules
	}
	rules := recorded(0, time.Second-time.Millisecond)
	list := []choice{{name: "recorded", rules: rules}}
	for part := range 5 {
		from := time.Duration(part) * 200 * time.Millisecond
		list = append(list, choice{name: "recorded", rules: recorded(from, from+199*time.Millisecond)})
	}
	first := ends[0]
	if number == 0 || !first.When.Known() {
		return list
	}
	start := first.When.At.Add(first.When.Within / 2).Sub(s.best.zero)
	for _, before := range []time.Duration{700 * time.Millisecond, 200 * time.Millisecond, 1200 * time.Millisecond, 2 * time.Second, 10500 * time.Millisecond, 20500 * time.Millisecond, 40500 * time.Millisecond} {
		if start <= before {
			continue
		}
		earlier := rule{fmt.Sprintf("instance: %d, at: %s, exit: 1", number-1, value.Format(round(start-before))),
			fmt.Sprintf("%s: the next instance started at %s. The exit code is not recorded.", first.Place, value.Format(round(start)))}
		list = append(list, choice{name: "recorded and before", rules: append([]rule{earlier}, rules...)})
		if number > 1 {
			life := first.Last.At.Sub(first.When.At)
			list = append(list, choice{name: "recorded and before", rules: append([]rule{
				{fmt.Sprintf("instance: ..%d, after: %s, exit: 1", number-2, value.Format(max(round(life), time.Millisecond))), "The recording does not tell when the earlier instances exited."}, earlier}, rules...)})
		}
	}
	return list
}
