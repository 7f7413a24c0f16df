package reconstruct

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// mark is a recorded start or end of an instance.
type mark struct {
	number int
	at     incident.Moment
	fact   *incident.Fact
}

// middle returns the time of a mark in a run.
func (m mark) middle(zero time.Time) time.Duration { return m.at.At.Add(m.at.Within / 2).Sub(zero) }

// recordedStarts returns the starts of a container whose instance the recording tells, at most one for each instance, in their order.
func (m *model) recordedStarts(c *v1.Container) []mark {
	var list []mark
	add := func(number int, at incident.Moment, f *incident.Fact) {
		for i, old := range list {
			if old.number == number {
				if at.Within < old.at.Within {
					list[i] = mark{number, at, f}
				}
				return
			}
		}
		if number >= 0 && at.Known() {
			list = append(list, mark{number, at, f})
		}
	}
	before := 0 // starts in the events so far
	if m.startMissing(c.Name) {
		before = 1
	}
	for _, f := range m.pod.Facts {
		if f.Container != c.Name {
			continue
		}
		switch {
		case f.Kind == incident.Event && f.Reason == "Started":
			if !f.AtLeast {
				add(before, f.When, f)
			}
			for _, p := range f.Points {
				add(before+p.Count-1, p.At, f)
			}
			add(before+f.Count-1, f.Last, f)
			before += f.Count
		case f.Kind == incident.Running:
			add(f.Count, f.When, f)
		case f.Kind == incident.Terminated:
			add(m.numberOf(f), f.When, f)
		}
	}
	slices.SortFunc(list, func(a, b mark) int { return a.number - b.number })
	return list
}

// numberOf returns the number of the instance whose end a fact tells.
func (m *model) numberOf(f *incident.Fact) int {
	if f.Previous && !m.waiting(f.Container) {
		return max(f.Count-1, 0)
	}
	return f.Count
}

// waiting reports whether the container waits in the last snapshot. Its last end is then that of the instance with the number of its
// restartCount.
func (m *model) waiting(name string) bool {
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Waiting && f.Container == name {
			return true
		}
	}
	return false
}

// unknown is a number of instances in a row, from the first to the last one, whose ends are not recorded, before a start that is. Each
// of them lives as long.
type unknown struct {
	first, last int
	life        time.Duration
	want        time.Duration // the start of the next instance
	says        string
}

// lives returns behaviors in which the program exits so that each instance starts when it is recorded to. The lives of instances
// whose ends are not recorded are unknown: the runs tell by how much to change them.
func (s *search) lives(c *v1.Container) []choice {
	m := s.model
	starts := m.recordedStarts(c)
	if len(starts) == 0 {
		return nil
	}
	var known []rule
	ends := map[int]bool{}
	code := 1
	for _, f := range m.pod.Facts {
		if f.Container != c.Name || f.Kind != incident.Terminated || !f.Last.Known() || ends[m.numberOf(f)] {
			continue
		}
		at := f.Last.At.Sub(s.best.zero)
		ends[m.numberOf(f)] = true
		code = int(max(min(f.ExitCode, 255), 1))
		known = append(known, rule{fmt.Sprintf("instance: %d, at: %s, exit: %d", m.numberOf(f), between(at, at+time.Second-time.Millisecond), max(min(f.ExitCode, 255), 0)),
			fmt.Sprintf("%s: instance %d exited with code %d", f.Place, m.numberOf(f), f.ExitCode)})
	}
	var gaps []unknown
	from, began := 0, time.Duration(0)
	for _, start := range starts {
		at := start.middle(s.best.zero)
		for from < start.number && ends[from] {
			from++
		}
		if last := start.number - 1; from <= last && !ends[last] {
			u := unknown{first: from, last: last, want: at, says: fmt.Sprintf("%s: instance %d started at %s", start.fact.Place, start.number, value.Format(round(at)))}
			u.life = s.guess(at-began, last-from+1)
			gaps = append(gaps, u)
		}
		from, began = start.number, at
	}
	if len(gaps) == 0 && len(known) == 0 {
		return nil
	}
	list := []choice{s.livesChoice(c, gaps, known, code, 6)}
	for i := range gaps { // the others ended for another reason
		if len(gaps) > 1 && i < 8 {
			list = append(list, s.livesChoice(c, gaps[i:i+1], nil, code, 6), s.livesChoice(c, gaps[i:i+1], known, code, 6))
		}
	}
	if len(gaps) > 1 {
		list = append(list, s.livesChoice(c, gaps, nil, code, 6))
	}
	if len(known) > 0 && len(gaps) > 0 {
		list = append(list, choice{name: "known ends", rules: known})
	}
	return list
}

// guess returns how long each of n instances lives that start and end within a time: the back-offs between them double from 10s on, up
// to 5m, and the first restart has none.
func (s *search) guess(over time.Duration, n int) time.Duration {
	pause := 10 * time.Second
	for i := range n {
		if i > 0 {
			over -= pause
			pause = min(2*pause, 5*time.Minute)
		}
		over -= 700 * time.Millisecond
	}
	return max(round(over/time.Duration(n)), time.Millisecond)
}

// livesChoice returns a choice with these lives. After an attempt, lives change by what the start that follows them was off.
func (s *search) livesChoice(c *v1.Container, gaps []unknown, known []rule, code, left int) choice {
	var rules []rule
	for _, u := range gaps {
		number := fmt.Sprint(u.first)
		says := u.says + ". The recording does not tell when the instance before it exited, nor its exit code."
		if u.last > u.first {
			number = fmt.Sprintf("%d..%d", u.first, u.last)
			says = u.says + ". The recording does not tell when the instances before it exited: all are assumed to live equally long."
		}
		rules = append(rules, rule{fmt.Sprintf("instance: %s, after: %s, exit: %d", number, value.Format(u.life), code), says})
	}
	next := func(a *attempt) *choice {
		better, moved := slices.Clone(gaps), false
		for i, u := range gaps {
			at, started := startOf(a.run.Records, c.Name, u.last+1)
			off := u.want - at
			n := time.Duration(u.last - u.first + 1)
			if !started { // it lived too long
				off = -u.life * n / 2
			}
			if off.Abs() < 200*time.Millisecond && started {
				continue
			}
			life := max(round(u.life+off/n), time.Millisecond)
			moved = moved || life != u.life
			better[i].life = life
			break // the next ones depend on it
		}
		if !moved || left == 0 {
			return nil
		}
		again := s.livesChoice(c, better, known, code, left-1)
		return &again
	}
	return choice{name: "lives", rules: append(rules, known...), next: next}
}

// startOf returns when an instance started.
func startOf(records []trace.Record, container string, number int) (time.Duration, bool) {
	for i := range records {
		if r := &records[i]; r.Kind == trace.ContainerStarted && r.Container == container && r.Instance == number {
			return r.T.Offset(), true
		}
	}
	return 0, false
}
