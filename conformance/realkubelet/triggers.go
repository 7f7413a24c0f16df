package realkubelet

import (
	"fmt"
	"strings"

	"github.com/go-logr/logr"

	"probesim.dev/trace"
)

// triggerLog is the logger of a kubelet. It writes a record when a probe worker probes because of a
// manual trigger instead of a tick, which only the worker's log shows
// (pkg/kubelet/prober/worker.go, run). It also writes the turns that the log shows.
type triggerLog struct {
	conn     *connection
	recorder *recorder
	workers  *firstRuns
	turns    *turnLog
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
	l.turns.logged(message, value)
	if message == triggerTaken && l.workers.isWorker(goroutine()) {
		l.recorder.add(trace.Record{Kind: trace.TriggerTaken, Probe: trace.Probe(strings.ToLower(value("probeType"))),
			Pod: value("pod"), Container: value("containerName")})
	}
}

// Error writes the turns that an error shows.
func (l triggerLog) Error(_ error, message string, keysAndValues ...any) {
	if !l.conn.isCut() {
		l.turns.logged(message, valueOf(keysAndValues))
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
