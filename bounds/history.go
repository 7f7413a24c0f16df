package bounds

import (
	"fmt"
	"hash/fnv"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// history is the beginning of a trace. Its last record is the outcome that ended the run.
type history []trace.Record

func (h history) outcome() *trace.Record { return &h[len(h)-1] }

// verdict returns the probe run that caused the outcome: the one that reached the threshold.
func (h history) verdict() (*trace.Record, error) {
	for r := h.outcome(); r.Cause > 0; {
		if r = &h[r.Cause-1]; r.Kind == trace.ProbeExecuted {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no probe caused the %s of container %s", h.outcome().Kind, h.outcome().Container)
}

// request is the time at which a probe run began.
func request(r *trace.Record) virtual.Time { return r.T.Add(-r.Took) }

// first returns the first record that matches, or nil.
func (h history) first(match func(*trace.Record) bool) *trace.Record {
	for i := range h {
		if match(&h[i]) {
			return &h[i]
		}
	}
	return nil
}

// signature identifies what happened, without times and without status patches. Two runs with one signature differ at most in
// their times.
func (h history) signature() uint64 {
	sum := fnv.New64a()
	for i := range h {
		r := &h[i]
		if r.Kind == trace.StatusPatched {
			continue
		}
		fmt.Fprintf(sum, "%s %s %s %d %s %s %s\n", r.Kind, r.Pod, r.Container, r.Instance, r.Probe, r.Result, r.Reason)
	}
	return sum.Sum64()
}
