package traffic

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Connections are the connections that clients keep open to a Service, each with the pod that it
// was opened to. The zero value is none: each request opens its own.
type Connections struct {
	Count int
	// UntilExit says that a program keeps them until it exits. Without it, a program closes its
	// idle connections when it closes its listener after a stop signal, as most servers do.
	UntilExit bool
}

// MostConnections is the greatest number of connections.
const MostConnections = 1_000_000

const untilExit = "until exit"

// String returns the connections as UnmarshalText reads them.
func (c Connections) String() string {
	if c.UntilExit {
		return fmt.Sprintf("%d %s", c.Count, untilExit)
	}
	return strconv.Itoa(c.Count)
}

// MarshalText implements encoding.TextMarshaler.
func (c Connections) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText parses a number of connections, such as "50" or "50 until exit".
func (c *Connections) UnmarshalText(text []byte) error {
	number, rest, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, err := strconv.Atoi(number)
	if rest = strings.TrimSpace(rest); err != nil || n < 1 || n > MostConnections || rest != "" && rest != untilExit {
		return fmt.Errorf("must be a number of connections from 1 to %d, such as 50, or '50 until exit' if the "+
			"program does not close idle ones when it stops", MostConnections)
	}
	*c = Connections{n, rest != ""}
	return nil
}

// kept are the connections of a stream. Clients send the same number of requests over each. One
// whose pod has closed it is opened again with its next request: to one of the targets of the
// router, and again with the next request if that pod refuses. So those that wait for a connection
// become fewer as e to the power of minus their requests that are accepted.
type kept struct {
	held    map[string]float64 // by pod
	waiting float64            // that have no pod
	since   virtual.Time       // of the state
	served  map[string][]interval
}

// connect opens the connections of a stream, if clients keep them: evenly to the targets that
// accept them.
func (s *stream) connect(f *Fold, now virtual.Time) {
	if s.Connections.Count == 0 {
		return
	}
	s.kept = &kept{map[string]float64{}, float64(s.Connections.Count), now, map[string][]interval{}}
	accepting := slices.DeleteFunc(s.sorted(),
		func(t *target) bool { return f.pods[t.pod].refusal(s.Container) != "" })
	s.kept.open(accepting, s.kept.waiting)
}

// open opens some of the connections that wait.
func (k *kept) open(to []*target, n float64) {
	for _, t := range to {
		k.held[t.pod] += n / float64(len(to))
	}
	if len(to) > 0 {
		k.waiting -= n
	}
}

// advance opens connections again until a time, and counts the requests that are lost meanwhile:
// the targets that refuse share them.
func (s *stream) advance(now virtual.Time) {
	k, passed := s.kept, now.Sub(s.kept.since)
	each := s.Rate / float64(s.Connections.Count) // requests a second of a connection
	if k.since = now; passed <= 0 {
		return
	}
	for _, pod := range slices.Sorted(maps.Keys(k.held)) {
		k.served[pod] = append(recent(k.served[pod], now.Add(-s.Most)),
			interval{now.Add(-passed), now, each * k.held[pod]})
	}
	var refusing []*loss
	var accepting []*target
	for _, t := range s.sorted() {
		if t.loss != nil {
			refusing = append(refusing, t.loss)
		} else {
			accepting = append(accepting, t)
		}
	}
	if s.none != nil {
		refusing = append(refusing, s.none)
	}
	lost := k.waiting * each * passed.Seconds()
	if len(accepting) > 0 {
		share := float64(len(accepting)) / float64(len(refusing)+len(accepting))
		opened := k.waiting * (1 - math.Exp(-share*each*passed.Seconds()))
		if lost = opened * (1 - share) / share; k.waiting-opened < 0.001 { // of a connection
			opened = k.waiting
		}
		k.open(accepting, opened)
	}
	for _, l := range refusing {
		l.lost += lost / float64(len(refusing))
	}
}

// reconnect takes the connections of a pod that has closed them, and begins and ends losses.
func (s *stream) reconnect(f *Fold, r *trace.Record) {
	k := s.kept
	if k.held[r.Pod] == 0 && s.targets[r.Pod] == nil {
		return
	}
	s.stop(r.T, r.Step)
	reason := f.pods[r.Pod].refusal(s.Container)
	if reason == Exited || reason == Refused && !s.Connections.UntilExit {
		k.waiting += k.held[r.Pod]
		delete(k.held, r.Pod)
	}
	s.start(f, r.T)
}
