package bounds

import (
	"fmt"
	"hash/fnv"
	"slices"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// history is the beginning of a trace. Its last record is the outcome that ended the run.
type history []trace.Record

func (h history) outcome() *trace.Record { return &h[len(h)-1] }

// verdict returns the probe run that caused the outcome: the one that reached the threshold.
func (h history) verdict() (*trace.Record, error) { return h.verdictOf(h.outcome()) }

// verdictOf returns the probe run that caused a record.
func (h history) verdictOf(of *trace.Record) (*trace.Record, error) {
	for r := of; r.Cause > 0; {
		if r = &h[r.Cause-1]; r.Kind == trace.ProbeExecuted {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no probe caused the %s of container %s", of.Kind, of.Container)
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

// last returns the last record of a kind, or nil.
func (h history) last(kind trace.Kind) *trace.Record {
	for i := range slices.Backward(h) {
		if h[i].Kind == kind {
			return &h[i]
		}
	}
	return nil
}

// signature identifies what happened to the container and which runs of some probes led to it, without their times.
func (h history) signature(probes ...trace.Probe) uint64 {
	sum := fnv.New64a()
	for i := range h {
		r := &h[i]
		switch r.Kind {
		case trace.ProbeExecuted:
			if !slices.Contains(probes, r.Probe) {
				continue
			}
		case trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited:
		default:
			continue
		}
		for _, part := range []string{string(r.Kind), r.Container, string(r.Probe), string(r.Result)} {
			sum.Write([]byte(part))
			sum.Write([]byte{0})
		}
		sum.Write([]byte{byte(r.Instance)})
	}
	return sum.Sum64()
}
