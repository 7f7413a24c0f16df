package realkubelet

import (
	"fmt"
	"strings"
	"sync"

	"github.com/go-logr/logr"

	"probesim.dev/internal/proof/search"
	"probesim.dev/prober"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// turnLog records the order in which goroutines of the kubelet ran. While one goroutine runs at a
// time, this is the order of execution.
type turnLog struct {
	now func() virtual.Time

	mu     sync.Mutex
	turns  []turn
	names  map[string]string // names of pod workers and probe workers, by goroutine
	closed bool
}

// turn is a point that a goroutine of the kubelet reached. The process of the goroutine may become
// known later. A walk over a map is a process too, and its items are its points.
type turn struct {
	search.Turn
	goroutine string
}

func newTurnLog(now func() virtual.Time) *turnLog {
	return &turnLog{now: now, names: map[string]string{}}
}

func (l *turnLog) add(process, point string) {
	l.append(turn{Turn: search.Turn{Process: process, Point: point}})
}

// addMine adds a turn of the current goroutine.
func (l *turnLog) addMine(point string) {
	l.append(turn{Turn: search.Turn{Point: point}, goroutine: goroutine()})
}

func (l *turnLog) append(t turn) { l.appendAfter(t, func() {}) }

// appendAfter does what a turn consists of and adds the turn, in one step.
func (l *turnLog) appendAfter(t turn, do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	if !l.closed {
		t.T = l.now()
		l.turns = append(l.turns, t)
	}
}

// name gives a goroutine the name of its process.
func (l *turnLog) name(goroutine, process string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names[goroutine] = process
}

// call adds a call to the runtime or to the API server by a pod worker.
func (l *turnLog) call(method string) {
	me := goroutine()
	l.mu.Lock()
	worker := strings.HasPrefix(l.names[me], podWorker)
	l.mu.Unlock()
	if worker {
		l.append(turn{Turn: search.Turn{Point: method}, goroutine: me})
	}
}

// podWorker, followed by a pod, is the name of a pod worker.
const podWorker = "pod worker "

// workerRuns is the point at which a probe worker gets the status of its pod. The points before it
// are the tick or the manual trigger that made it run.
const workerRuns = "run"

// workerProbed is the point at which a probe of a probe worker ends.
const workerProbed = "probed"

func manualTriggerOf(worker string) string { return "manual trigger of " + worker }

// close returns the turns of the goroutines whose process is known. Later turns do not count.
func (l *turnLog) close() []search.Turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var list []search.Turn
	triggered := map[string]bool{}
	for _, t := range l.turns {
		if t.goroutine != "" {
			t.Process = l.names[t.goroutine]
		}
		switch {
		case t.Process == "":
			continue
		case t.Point == manualTriggerOf(t.Process):
			triggered[t.Process] = true
		case t.Point == workerRuns:
			if !triggered[t.Process] {
				list = append(list, search.Turn{T: t.T, Process: t.Process, Point: "tick of " + t.Process})
			}
			triggered[t.Process] = false
		}
		list = append(list, t.Turn)
	}
	l.turns = nil
	return list
}

// turnOf has the turns that messages without values show.
var turnOf = map[string]search.Turn{
	"Syncing updated statuses":               {Process: "status manager", Point: "status signal"},
	"Syncing all statuses":                   {Process: "status manager", Point: "status sync"},
	"Pod is being synced for the first time": {Process: "sync loop", Point: "new pod"},
	"SyncLoop (PLEG): event for pod":         {Process: "sync loop", Point: "PLEG events"},
	"SyncLoop (housekeeping)":                {Process: "sync loop", Point: "housekeeping ticker"},
	"Skipping pod synchronization":           {Process: "sync loop", Point: "sleep"},
	"Container runtime status":               {Process: "runtime check", Point: "checked"},
}

// logged adds the turn that a message of the kubelet's log shows. value returns a value of the
// message.
func (l *turnLog) logged(message string, value func(key string) string) {
	switch message {
	case "Processing pod event":
		l.name(goroutine(), podWorker+value("pod"))
		l.addMine("begin")
	case "SyncPod enter", "SyncTerminatingPod enter", "SyncTerminatedPod enter":
		l.addMine("enter")
	case "Processing pod event done":
		l.addMine("done")
	case "SyncLoop ADD", "SyncLoop UPDATE", "SyncLoop REMOVE", "SyncLoop RECONCILE", "SyncLoop DELETE":
		l.add("sync loop", "pod config")
	case "SyncLoop (SYNC) pods":
		l.add("sync loop", "sync ticker")
		for pod := range strings.FieldsSeq(strings.Trim(value("pods"), "[]")) {
			l.add("sync tick", pod)
		}
	case "SyncLoop (probe)":
		l.add("sync loop", value("probe")+" updates")
	case "Killing container with a grace period":
		l.add(killerOf(value), "stop")
	case "Container exited normally":
		l.add(killerOf(value), "stopped")
	case triggerTaken:
		worker := prober.WorkerName(trace.Probe(strings.ToLower(value("probeType"))), value("pod"),
			value("containerName"))
		l.add(worker, manualTriggerOf(worker))
	default:
		if turn, known := turnOf[message]; known {
			l.add(turn.Process, turn.Point)
		}
	}
}

// killerOf returns the name of the process that stops a container of a pod which ends. The
// containers of pods can end at one instant.
func killerOf(value func(key string) string) string {
	return "killer of " + value("pod") + "/" + value("containerName")
}

// triggerLog is the logger of a kubelet. It writes a record when a probe worker probes because of a
// manual trigger instead of a tick, which only the worker's log shows
// (pkg/kubelet/prober/worker.go, run). It also writes the turns that the log shows.
type triggerLog struct {
	conn    *connection
	workers *firstRuns
}

const (
	triggerTaken = "Triggered Probe by manual run"
	maxVerbosity = 4
)

func (l triggerLog) Info(_ int, message string, keysAndValues ...any) {
	if l.conn.isCut() {
		return
	}
	value := valueOf(keysAndValues)
	l.conn.turns.logged(message, value)
	if message == triggerTaken && l.workers.isWorker(goroutine()) {
		l.conn.recorder.add(trace.Record{Kind: trace.TriggerTaken, Probe: trace.Probe(strings.ToLower(value("probeType"))),
			Pod: value("pod"), Container: value("containerName")})
	}
}

// Error writes the turns that an error shows.
func (l triggerLog) Error(_ error, message string, keysAndValues ...any) {
	if !l.conn.isCut() {
		l.conn.turns.logged(message, valueOf(keysAndValues))
	}
}

// valueOf returns a function that returns the text of the value of a key.
func valueOf(keysAndValues []any) func(key string) string {
	return func(key string) string {
		for i := 0; i+1 < len(keysAndValues); i += 2 {
			if keysAndValues[i] == key {
				return fmt.Sprint(keysAndValues[i+1])
			}
		}
		return ""
	}
}

func (triggerLog) Enabled(verbosity int) bool { return verbosity > 0 && verbosity <= maxVerbosity }

// Other methods of logr.LogSink.

func (triggerLog) Init(logr.RuntimeInfo)            {}
func (l triggerLog) WithValues(...any) logr.LogSink { return l }
func (l triggerLog) WithName(string) logr.LogSink   { return l }
