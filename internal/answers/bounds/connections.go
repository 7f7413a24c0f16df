package bounds

import "probesim.dev/prober"

// Up to 1.37 a gRPC probe that the program refuses connects again and again until its timeout
// (pkg/probe/grpc/grpc.go at v1.37.0 and v1.38.0-beta.0). So a program that comes up during the
// last run that the threshold needs is in time if it does so before the last connection of this
// run.

// reconnects reports whether a run that the program refuses lasts until its timeout.
func (p *probe) reconnects() bool { return p != nil && p.again }

// lastConnection returns the time from the begin of a run during a misfortune, which is no stall,
// to the last connection that the program could have answered in time. It is 0 for a run with one
// connection. The client gives up a connection that the program does not answer.
func (p *probe) lastConnection(m Misfortune) (last Range) {
	if !p.reconnects() || m == Slow || m == Fail || m == Hang && p.timeout <= prober.MinConnectTimeout {
		return last
	}
	var at Range   // of a connection
	inTime := true // this connection always is
	for i := 0; ; i++ {
		var backOff Range
		backOff.Least, backOff.Greatest = prober.ConnectBackOff(i)
		ends := p.answer
		if m == Hang {
			ends = Range{max(prober.MinConnectTimeout, backOff.Least), max(prober.MinConnectTimeout, backOff.Greatest)}
		}
		next := at.plus(ends, backOff)
		switch {
		case next.Least+p.answer.Least > p.timeout:
			return last
		case next.Greatest+p.answer.Greatest <= p.timeout:
			last.Least = next.Least
		case inTime: // it is not in time if the one before it is late, or its back-off is long
			late := p.timeout - p.answer.Greatest - ends.Greatest - backOff.Greatest
			last.Least, inTime = min(max(at.Least, late), next.Least), false
		}
		at, last.Greatest = next, min(next.Greatest, p.timeout-p.answer.Least)
	}
}

// lastChance is lastConnection of a program that is not up yet.
func (p *probe) lastChance() Range { return p.lastConnection(Refuse) }
