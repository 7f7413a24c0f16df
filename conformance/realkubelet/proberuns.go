package realkubelet

import (
	"sync"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// maxAttempts is how often the prober runs a probe that returns an error
// (pkg/kubelet/prober/prober.go, maxProbeRetries).
const maxAttempts = 3

// probeRuns writes ProbeExecuted records. The prober immediately repeats a probe that returns an
// error; all attempts are one run.
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
	began    virtual.Time
	about    trace.Record // the container that the worker knows when the run begins
}

// begin records the start of an attempt, and reports whether it is a retry. The record says which
// container the worker knows now; its status can change between two attempts.
func (p *probeRuns) begin(key probeKey, about trace.Record) (retry bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[key]
	if run == nil {
		run = &probeRun{began: p.recorder.now(), about: about}
		p.runs[key] = run
	}
	run.attempts++
	return run.attempts > 1
}

// end records the end of an attempt. If it is the last attempt of the run, end writes the record of
// the run.
func (p *probeRuns) end(key probeKey, result trace.Result, message string) {
	run := p.ended(key, result == trace.Error)
	if run == nil {
		return
	}
	rec := run.about
	rec.Result, rec.Message = result, message
	rec.Kind, rec.Probe, rec.Took = trace.ProbeExecuted, key.probe, p.recorder.now().Sub(run.began)
	p.first.probed(&rec)
	p.recorder.add(rec)
}

// ended returns the run if it is over with this attempt, otherwise nil.
func (p *probeRuns) ended(key probeKey, broken bool) *probeRun {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[key]
	if broken && run.attempts < maxAttempts {
		return nil
	}
	delete(p.runs, key)
	return run
}
