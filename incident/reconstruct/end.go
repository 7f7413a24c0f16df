package reconstruct

import (
	"strings"
	"time"

	"probesim.dev/trace"
)

// tryEnd moves the time of the recording. It is after the last fact, but no fact tells how long after. The status of the pod is that of
// this time.
func tryEnd(s *search, _ *part) []choice {
	if !s.missesStatus() {
		return nil
	}
	m := s.model
	end := max(m.end.Sub(s.best.zero), time.Second)
	least := m.lastFact().Sub(s.best.zero) - end
	var list []choice
	add := func(since time.Duration) {
		if since = round(since); since >= least {
			list = append(list, choice{name: "end", since: &since})
		}
	}
	for i := range s.best.run.Records {
		if r := &s.best.run.Records[i]; r.Kind == trace.StatusPatched {
			since := r.T.Offset() - end
			add(since + 2*time.Millisecond)
			add(since - 2*time.Millisecond)
		}
	}
	for _, since := range []time.Duration{0, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, 2 * time.Minute} {
		add(since)
	}
	return list
}

// missesStatus reports whether the best run so far has another status than the one recorded.
func (s *search) missesStatus() bool {
	for _, c := range s.best.claims {
		if !c.Holds && (strings.HasPrefix(c.expect, "at: ") || strings.HasPrefix(c.expect, "always: ")) {
			return true
		}
	}
	return false
}

// lastFact returns the earliest time of the last fact.
func (m *model) lastFact() time.Time {
	var last time.Time
	for _, f := range m.pod.Facts {
		last = later(last, later(f.When.At, f.Last.At))
	}
	return last
}
