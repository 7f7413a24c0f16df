// Package limit stops runs of package sim that take too long or do not end, and reports the process
// or timer that ran most often.
package limit

import (
	"fmt"
	"time"

	"probesim.dev/sim/virtual"
)

// Limits bound a run. A zero field has no limit.
type Limits struct {
	Events    int64 // timers fired and processes resumed
	Processes int   // processes alive at the same time
	// AtOneInstant is the maximum number of events at one virtual time.
	AtOneInstant int64
	// Time is the latest virtual time that a run may reach.
	Time virtual.Time
	// Memory is the maximum size of the trace that is kept in memory, in bytes; see
	// trace.Recorder.Size. Package node enforces it.
	Memory int64
}

const virtualTime = "virtual time"

// Error reports the limit that stopped a run and the process or timer that ran most often.
type Error struct {
	Limit string // events, processes, events at one instant or virtual time
	Max   int64
	Now   virtual.Time
	Name  string // the process or timer that ran most often; empty: not known
	Runs  int64
}

func (e *Error) Error() string {
	text := fmt.Sprintf("stopped at %v: more than %d %s", e.Now, e.Max, e.Limit)
	if e.Limit == virtualTime {
		text = fmt.Sprintf("stopped at %v: the limit of virtual time is %v", e.Now, time.Duration(e.Max))
	}
	if e.Name != "" {
		text += fmt.Sprintf("; %q ran %d times", e.Name, e.Runs)
	}
	return text
}

// interval is the number of events between two calls of Interrupt.
const interval = 1 << 10

// Meter counts the events of a run and checks them against limits. The zero value has no limits.
type Meter struct {
	Limits Limits
	// Interrupt, if set, is called every 1,024 events. If it returns an error, the run ends with
	// this error.
	Interrupt func() error

	events        int64
	instant       int64             // events since time last moved
	withoutEffect int64             // events without effect
	ran           map[string]*int64 // turns of each process and timer, by name
	room          []int64           // unused counters for ran; one block keeps the counters of a worker close in memory
	turns         *int64            // of a copy: all of its turns
	err           error
}

// Events returns the number of events that were counted and have an effect.
func (m *Meter) Events() int64 { return m.events - m.withoutEffect }

// WithoutEffect marks n counted events as without effect. They still count toward limits.
func (m *Meter) WithoutEffect(n int64) { m.withoutEffect += n }

// Err returns the error that ends the run: a *Error after the run has exceeded a limit, the error
// of Fail or of Interrupt, or nil.
func (m *Meter) Err() error { return m.err }

// Fail ends the run with an error, unless it has ended already.
func (m *Meter) Fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// Event counts an event at virtual time now.
func (m *Meter) Event(now virtual.Time) {
	m.instant++
	m.check("events at one instant", m.instant, m.Limits.AtOneInstant, now)
	m.count(1, now)
}

// Skip counts n events that do not take place because they have no effect. They still count toward
// limits.
func (m *Meter) Skip(n int64, now virtual.Time) {
	m.WithoutEffect(n)
	m.count(n, now)
}

func (m *Meter) count(n int64, now virtual.Time) {
	before := m.events
	m.events += n
	m.check("events", m.events, m.Limits.Events, now)
	if before/interval != m.events/interval && m.Interrupt != nil {
		m.Fail(m.Interrupt())
	}
}

// Alive checks the number of living processes at virtual time now.
func (m *Meter) Alive(processes int, now virtual.Time) {
	m.check("processes", int64(processes), int64(m.Limits.Processes), now)
}

// Move reports whether virtual time may move from now to then. Call it before each move.
func (m *Meter) Move(now, then virtual.Time) bool {
	m.instant = 0
	m.check(virtualTime, int64(then), int64(m.Limits.Time), now)
	return m.err == nil
}

// Latest returns t, or the limit of virtual time if that is earlier.
func (m *Meter) Latest(t virtual.Time) virtual.Time {
	if m.Limits.Time > 0 {
		return min(t, m.Limits.Time)
	}
	return t
}

// Turns returns the counter of the turns of a process or timer. Processes and timers with the same
// name share a counter, because a choice must identify a single turn.
func (m *Meter) Turns(name string) *int64 {
	if m.turns != nil {
		return m.turns
	}
	if m.ran == nil {
		m.ran = map[string]*int64{}
	}
	n, ok := m.ran[name]
	if !ok {
		if len(m.room) == 0 {
			m.room = make([]int64, min(512, max(64, len(m.ran)))) // most runs are small
		}
		n, m.room = &m.room[0], m.room[1:]
		m.ran[name] = n
	}
	return n
}

// Turn returns the value of the counter of Turns and adds one to it.
func (m *Meter) Turn(name string) int64 {
	n := m.Turns(name)
	*n++
	return *n - 1
}

// check records the first limit that the run exceeds.
func (m *Meter) check(limit string, n, most int64, now virtual.Time) {
	if most <= 0 || n <= most || m.err != nil {
		return
	}
	e := &Error{Limit: limit, Max: most, Now: now, Runs: -1}
	for name, n := range m.ran {
		if *n > e.Runs || *n == e.Runs && name < e.Name {
			e.Name, e.Runs = name, *n
		}
	}
	m.err = e
}
