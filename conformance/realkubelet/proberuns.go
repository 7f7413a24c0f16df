package realkubelet

import (
	"sync"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// maxTries is how often the prober runs a probe that breaks (pkg/kubelet/prober/prober.go, maxProbeRetries).
const maxTries = 3

// probeRuns makes ProbeExecuted records. The prober tries a probe that breaks again at once; all tries are
// one run.
type probeRuns struct {
	recorder *recorder
	first    *firstRuns

	mu   sync.Mutex
	runs map[probeKey]*probeRun
}

// probeKey names a probe of a container. Its runs follow each other.
type probeKey struct {
	container string
	probe     trace.Probe
}

type probeRun struct {
	tries int
	began virtual.Time
}

// begin notes the begin of a try and reports whether it is not the first of its run.
func (p *probeRuns) begin(key probeKey) (retry bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[key]
	if run == nil {
		run = &probeRun{began: p.recorder.now()}
		p.runs[key] = run
	}
	run.tries++
	return run.tries > 1
}

// end notes the end of a try, and adds the record of what came of it unless the run goes on.
func (p *probeRuns) end(key probeKey, rec trace.Record) {
	began, over := p.ended(key, rec.Result == trace.Error)
	if !over {
		return
	}
	rec.Kind, rec.Probe, rec.Took = trace.ProbeExecuted, key.probe, p.recorder.now().Sub(began)
	p.first.probed(&rec)
	p.recorder.add(rec)
}

// ended reports whether the run is over with this try, and when it began.
func (p *probeRuns) ended(key probeKey, broken bool) (began virtual.Time, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[key]
	if broken && run.tries < maxTries {
		return 0, false
	}
	delete(p.runs, key)
	return run.began, true
}
