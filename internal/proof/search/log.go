package search

import (
	"math"
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// Turn is an entry in the log of the real run: a process reached a point. Processes and points have
// the names of choose.Guide. Entries of one instant are in the order in which they happened.
type Turn struct {
	T              virtual.Time
	Process, Point string
}

// log is the log of the real run, and what a simulated run has done of it.
type log struct {
	turns map[string][]placedTurn // by process
	done  map[string]int          // number of turns of a process that are done or in the past
}

type placedTurn struct {
	t     virtual.Time
	point string
	place int
}

func newLog(list []Turn) *log {
	l := &log{turns: map[string][]placedTurn{}}
	for i, t := range list {
		l.turns[t.Process] = append(l.turns[t.Process], placedTurn{t.T, t.Point, i})
		if t.Point == probed {
			l.turns[runtime] = append(l.turns[runtime], placedTurn{t.T, t.Point, i})
		}
	}
	return l
}

// again returns the log for a new simulated run.
func (l *log) again() *log { return &log{l.turns, map[string]int{}} }

// left returns the turns of a process from now on that are not done.
func (l *log) left(process string, now virtual.Time) []placedTurn {
	list := l.turns[process]
	if len(list) == 0 {
		return nil
	}
	n := l.done[process]
	if n < len(list) && list[n].t < now {
		for n < len(list) && list[n].t < now {
			n++
		}
		l.done[process] = n
	}
	return list[n:]
}

// place returns the place of the next entry of a process at a point.
func (l *log) place(process, point string, now virtual.Time) (int, bool) {
	for _, t := range l.left(process, now) {
		if t.point == point {
			return t.place, true
		}
	}
	return 0, false
}

// walk returns the points of a walk between the next entry of a process and the one after it. It
// returns false if the next entry is not now, or comes after the next entry of the process by.
func (l *log) walk(name, process, by string, now virtual.Time) (points []string, ok bool) {
	turns := l.left(process, now)
	if len(turns) == 0 || turns[0].t != now {
		return nil, false
	}
	if own := l.left(by, now); len(own) > 0 && own[0].place < turns[0].place {
		return nil, false
	}
	end := math.MaxInt
	if len(turns) > 1 {
		end = turns[1].place
	}
	for _, t := range l.left(name, now) {
		if t.place > end {
			break
		}
		if t.place > turns[0].place {
			points = append(points, t.point)
		}
	}
	return points, true
}

// do notes that a process reaches a point now. Entries before it at this instant are done too.
func (l *log) do(process, point string, now virtual.Time) {
	if point == probed {
		l.doOf(runtime, point, now)
	}
	l.doOf(creatorOf(process), point, now)
}

func (l *log) doOf(process, point string, now virtual.Time) {
	for i, t := range l.left(process, now) {
		if t.t > now {
			return
		}
		if t.point == point {
			l.done[process] += i + 1
			return
		}
	}
}

// runtime is the process that ends the calls to the runtime and the requests of probes. It has a
// turn whenever a probe worker reaches the point probed: the order of a request that times out and
// of a tick at the same instant is that of their timers.
const (
	runtime = "runtime"
	probed  = "probed"
)

// sleeps is the point at which the sync loop begins to sleep because the container runtime is
// unhealthy, and syncLoopWakes is the timer that ends the sleep.
const (
	sleeps        = "sleep"
	syncLoopWakes = "sleep of sync loop"
)

// receivers has the process that waits for each ticker whose ticks the log shows. A tick goes
// directly to a process that waits, so the order of two ticks decides which one the process handles
// first.
var receivers = map[string]string{"sync ticker": "sync loop", "housekeeping ticker": "sync loop",
	"status sync": "status manager"}

// rank returns the place of the next turn of a process, or of a ticker, if it is at this instant.
func (l *log) rank(process string, now virtual.Time) (int, bool) {
	if receiver, ok := receivers[process]; ok {
		return l.rankOfTicker(process, receiver, now)
	}
	process = creatorOf(continues(process))
	if left := l.left(process, now); len(left) > 0 && left[0].t == now {
		return left[0].place, true
	}
	return 0, false
}

// continues returns the process whose turn follows in the log when a timer or a process without
// turns ends: a hook ends before its container is stopped.
func continues(process string) string {
	sleeper, sleeps := strings.CutPrefix(process, "sleep of ")
	container, hook := strings.CutPrefix(sleeper, "preStop hook of ")
	switch {
	case hook:
		return "killer of " + container
	case process == "sleep of status manager":
		return "call to the API server"
	case process == syncLoopWakes, sleeps && (ofControlPlane(sleeper) || strings.HasPrefix(sleeper, "killer of ")):
		return sleeper
	}
	return process
}

// creatorOf returns the process that the log has for one of several that create the pods of a
// ReplicaSet: the real ones have no numbers.
func creatorOf(process string) string {
	if strings.HasPrefix(process, "create ") {
		return process[:strings.LastIndexByte(process, ' ')]
	}
	return process
}

// ofControlPlane reports whether a process belongs to the control plane or the pods beside it. The
// log shows what such a process does when its sleep ends: a call reaches the API server, a cache
// takes a change.
func ofControlPlane(process string) bool {
	kind, _, _ := strings.Cut(process, " ")
	return slices.Contains([]string{
		"create", "delete", "deployment", "replicaset", "endpointslice", "kube-controller-manager", "kube-proxy",
		"schedule", "scheduler", "start", "stop",
	}, kind)
}

// tickerPeriod is the shortest period of the tickers in receivers.
const tickerPeriod = time.Second

// alwaysLogged is the ticker whose ticks the log always shows when they are handled.
const alwaysLogged = "housekeeping ticker"

// rankOfTicker returns the rank of a tick. A process that finds nothing to do at a tick logs
// nothing: it then handles the tick either first or, if the log shows the tick before the next one,
// after the others. A housekeeping that the log does not show now comes later. Before the sync loop
// sleeps because the runtime is unhealthy, it handles one value.
func (l *log) rankOfTicker(ticker, receiver string, now virtual.Time) (int, bool) {
	left := l.left(receiver, now)
	for i, t := range left {
		switch {
		case t.point == ticker && t.t == now:
			return t.place, true
		case t.point == ticker && t.t < now.Add(tickerPeriod):
			return math.MaxInt, true
		case t.point == sleeps && t.t < now.Add(tickerPeriod) && left[0].t == now:
			if i == 0 && ticker != alwaysLogged {
				return t.place, true // the value was this tick
			}
			return math.MaxInt, true
		case t.t >= now.Add(tickerPeriod) && ticker == alwaysLogged:
			return math.MaxInt, true
		case t.t >= now.Add(tickerPeriod):
			return -1, true
		}
	}
	return 0, false
}

// lastOfInstant has the processes and timers that the real run lets go last at an instant: the
// calls to the runtime and the API server that end, and the steps of the scenario. They wait until
// nothing else of the real kubelet can run. Calls to the runtime end before the others.
var lastOfInstant = map[string]bool{runtime: true, "scenario": true, "sleep of status manager": true}

// first returns the index of the candidate that goes first according to the log. A candidate
// without a turn in the log at this instant keeps its canonical place.
func (l *log) first(candidates []choose.Choice, now virtual.Time) int {
	first := 0
	if len(l.turns) == 0 {
		return first
	}
	first = max(0, slices.IndexFunc(candidates, func(c choose.Choice) bool { return c.Key == runtime }))
	for i, c := range candidates {
		if !lastOfInstant[c.Key] {
			first = i
			break
		}
	}
	best, ok := l.rank(candidates[first].Key, now)
	if !ok {
		return first
	}
	for i, c := range candidates {
		if place, ok := l.rank(c.Key, now); ok && place < best {
			first, best = i, place
		}
	}
	return first
}
