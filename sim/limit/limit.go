// Package limit ends runs of package sim that would not end, or not soon enough, and says what ran away.
package limit

import (
	"fmt"

	"probesim.dev/sim/virtual"
)

// Limits bound a run. A zero field has no limit.
type Limits struct {
	Events    int64 // timers fired and processes resumed
	Processes int   // processes alive at once
	// AtOneInstant bounds the events during which time stands still.
	AtOneInstant int64
	// Time is the latest virtual time that may be reached.
	Time virtual.Time
}

const virtualTime = "virtual time"

// Error says which limit ended a run and which process or timer had run most often.
type Error struct {
	Limit string // events, processes, events at one instant or virtual time
	Max   int64
	Now   virtual.Time
	Name  string // the process or timer that ran most often
	Runs  int64
}

func (e *Error) Error() string {
	if e.Limit == virtualTime {
		return fmt.Sprintf("stopped at %v: the limit of virtual time is %v; %q ran %d times", e.Now, virtual.Time(e.Max), e.Name, e.Runs)
	}
	return fmt.Sprintf("stopped at %v: more than %d %s; %q ran %d times", e.Now, e.Max, e.Limit, e.Name, e.Runs)
}

// Meter holds a run to its limits. The zero value has none.
type Meter struct {
	Limits  Limits
	events  int64
	instant int64 // events since time last moved
	spared  int64 // events that led to nothing
	ran     map[string]*int64
	room    []int64 // for more of these: those of one worker are used together, and so lie side by side
	err     *Error
}

// Events returns how many events were counted and not spared.
func (m *Meter) Events() int64 { return m.events - m.spared }

// Spare is told that the last n events led to nothing. Limits count them.
func (m *Meter) Spare(n int64) { m.spared += n }

// Err returns a *Error once a limit was exceeded.
func (m *Meter) Err() error {
	if m.err == nil {
		return nil
	}
	return m.err
}

// Event counts an event at time now.
func (m *Meter) Event(now virtual.Time) {
	m.events++
	m.instant++
	m.check("events", m.events, m.Limits.Events, now)
	m.check("events at one instant", m.instant, m.Limits.AtOneInstant, now)
}

// Alive is told how many processes there are at time now.
func (m *Meter) Alive(processes int, now virtual.Time) {
	m.check("processes", int64(processes), int64(m.Limits.Processes), now)
}

// Move is told that time is about to move from now to then, and reports whether it may.
func (m *Meter) Move(now, then virtual.Time) bool {
	m.instant = 0
	m.check(virtualTime, int64(then), int64(m.Limits.Time), now)
	return m.err == nil
}

// Turns returns what counts how often a process or timer of that name runs. It goes on where an earlier
// one of the name ended, so that a choice about either means only one.
func (m *Meter) Turns(name string) *int64 {
	if m.ran == nil {
		m.ran = map[string]*int64{}
	}
	n, ok := m.ran[name]
	if !ok {
		if len(m.room) == 0 {
			m.room = make([]int64, 512)
		}
		n, m.room = &m.room[0], m.room[1:]
		m.ran[name] = n
	}
	return n
}

// Turn returns what Turns counts, and counts one more.
func (m *Meter) Turn(name string) int64 {
	n := m.Turns(name)
	*n++
	return *n - 1
}

// check notes the first limit that is exceeded.
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
