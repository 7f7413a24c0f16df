package realkubelet

import (
	"sync"
	"time"

	"probesim.dev/trace"
)

// maxAttempts is how often the prober runs a probe that returns an error (pkg/kubelet/prober/prober.go,
// maxProbeRetries).
const maxAttempts = 3

// probeRuns writes ProbeExecuted records. The prober immediately repeats a probe that returns an error; all
// attempts are one run.
type probeRuns struct {
	recorder *recorder
	first    *firstRuns

	mu   sync.Mutex
	runs map[probeKey]*probeRun
}

// probeKey identifies a probe of a container. Its runs do not overlap.
type probeKey struct {
	container string
	probe     trace.Probe
}

type probeRun struct {
	attempts int
	began    time.Duration
}

// begin records the start of an attempt, and reports whether it is a retry.
func (p *probeRuns) begin(key probeKey) (retry bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[key]
	if run == nil {
		run = &probeRun{began: p.recorder.now()}
		p.runs[key] = run
	}
	run.attempts++
	return run.attempts > 1
}

// end records the end of an attempt. If it is the last attempt of the run, end writes the record of the run.
func (p *probeRuns) end(key probeKey, rec trace.Record) {
	began, over := p.ended(key, rec.Result == trace.Error)
	if !over {
		return
	}
	rec.Kind, rec.Probe, rec.Took = trace.ProbeExecuted, key.probe, p.recorder.now()-began
	p.first.probed(&rec)
	p.recorder.add(rec)
}

// ended reports whether the run is over with this attempt, and when the run began.
func (p *probeRuns) ended(key probeKey, broken bool) (began time.Duration, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[key]
	if broken && run.attempts < maxAttempts {
		return 0, false
	}
	delete(p.runs, key)
	return run.began, true
}
