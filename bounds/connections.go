package bounds

import (
	"probesim.dev/fakeruntime"
	"probesim.dev/prober"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// A gRPC probe that the program refuses connects again and again until its timeout (pkg/probe/grpc/grpc.go at v1.37.0). So a program that comes up
// during the last run that the threshold needs is in time if it does so before the last connection of this run.

// reconnects reports whether a run of a probe that the program refuses lasts until its timeout.
func (s *Subject) reconnects(p trace.Probe) bool { return s.Probe(p) != nil && s.Probe(p).GRPC != nil }

// reconnectsDuring reports whether a probe connects more than once in a run during a misfortune.
func (s *Subject) reconnectsDuring(p trace.Probe, m Misfortune) bool {
	return s.reconnects(p) && (m == Refuse || m == Hang && s.timeout(p) > prober.MinConnectTimeout)
}

// showsConnections returns the internal kind of record that shows the connections of probes, if a probe connects more than once in a run.
func (s *Subject) showsConnections() trace.Kind {
	for _, p := range trace.ProbeTypes {
		if s.reconnects(p) {
			return trace.Behavior
		}
	}
	return ""
}

// lastChance returns the time of the last request of a probe run that the program could have answered in time, if it refuses all.
func (s *Subject) lastChance(h history, run *trace.Record, c *Case) virtual.Time {
	last := request(run)
	if !s.reconnects(run.Probe) {
		return last
	}
	answer := c.value(answerDelay(s.Probe(run.Probe)))
	for i := range h[:run.Step] {
		r := &h[i]
		if r.Kind == trace.Behavior && r.Container == s.Container && r.Probe == run.Probe && r.T > last && r.T.Add(answer) <= run.T {
			last = r.T
		}
	}
	return last
}

// lastConnection returns the time from the begin of a probe run that the program refuses to the last connection that the program could have answered
// in time.
func (s *Subject) lastConnection(n Nodes, p trace.Probe) (last fakeruntime.Draw) {
	return s.lastConnectionDuring(n, p, Refuse)
}

// lastConnectionDuring is like lastConnection for any misfortune but a stall. The client gives up a connection that the program does not answer.
func (s *Subject) lastConnectionDuring(n Nodes, p trace.Probe, m Misfortune) (last fakeruntime.Draw) {
	if !s.reconnectsDuring(p, m) {
		return last
	}
	answer, timeout := n.draw(answerDelay(s.Probe(p))), s.timeout(p)
	var at fakeruntime.Draw // of a connection
	inTime := true          // this connection always is
	for i := 0; ; i++ {
		least, greatest := prober.ConnectBackOff(i)
		ends := answer
		if m == Hang {
			ends = fakeruntime.Draw{Min: max(prober.MinConnectTimeout, least), Max: max(prober.MinConnectTimeout, greatest)}
		}
		next := fakeruntime.Draw{Min: at.Min + ends.Min + least, Max: at.Max + ends.Max + greatest}
		switch {
		case next.Min+answer.Min > timeout:
			return last
		case next.Max+answer.Max <= timeout:
			last.Min = next.Min
		case inTime: // it is not in time if the one before it is late, or its back-off is long
			last.Min, inTime = min(max(at.Min, timeout-answer.Max-ends.Max-greatest), next.Min), false
		}
		at, last.Max = next, min(next.Max, timeout-answer.Min)
	}
}

// withJitter extends a bound of a start that is searched by what the jitter between the connections of a gRPC probe can add or take away. The search leaves
// this jitter in the middle.
func (s *Subject) withJitter(b Bound, n Nodes) (Bound, error) {
	if s.showsConnections() == "" || b.Least == Never {
		return b, nil
	}
	least, greatest := b.Least, b.Greatest
	for _, latest := range []bool{false, true} {
		c := b.end(latest)
		h, err := s.record(&c, s.recorder(trace.Behavior), s.longestRun(), s.stopped(c.Instance))
		if err != nil {
			return b, err
		}
		verdict, err := h.verdict()
		if err != nil {
			return b, err
		}
		last, own := s.lastConnection(n, verdict.Probe), s.lastChance(h, verdict, &c).Sub(request(verdict))
		if latest {
			greatest += last.Max - own
		} else {
			least += last.Min - own
		}
	}
	return b.derive(least, greatest), nil
}
