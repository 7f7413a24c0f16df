package realkubelet

import (
	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
)

// waiter receives the result of a blocked call.
type waiter struct {
	done chan struct{}
	op   fakeruntime.Op // valid after done is closed
}

// pending is a call in progress.
type pending struct {
	*waiter
	conn        *connection
	id          string          // of the object that the call creates
	accepted    bool            // the program has accepted a connection
	frozenUntil virtual.Time    // when the answering program thaws; 0 if it is not frozen
	secure      bool            // the client speaks TLS
	submitted   *fakeruntime.Op // the submitted call; valid until done is closed
}

// setResult stores the result of a call.
func (w *waiter) setResult(op *fakeruntime.Op) {
	w.op = *op
	w.op.Err = asStatus(op.Err)
}

// wait blocks until the call is done.
func (p *pending) wait() fakeruntime.Op {
	<-p.done
	return p.op
}

// waitForBody blocks until the body of an answer ends. It returns false if the program ends first,
// or the client gives up.
func (p *pending) waitForBody() bool {
	call := fakeruntime.Call{
		Method: fakeruntime.HTTPBody, Ref: p.op.Ref(), Answer: p.op.Answer,
		Probe: p.op.Call.Probe, Hook: p.op.Call.Hook,
	}
	if p.op.Call.Timeout > 0 { // the client has not given up at the header, so some time is left
		call.Timeout = p.op.Start.Add(p.op.Call.Timeout).Sub(p.conn.now())
	}
	done := p.conn.submit(call).wait()
	return done.Err == nil && done.Reply == fakeruntime.Answered && !done.TimedOut
}

// waitThawed blocks while the answering program is frozen. It returns false if the call ends first,
// or at the same instant.
func (p *pending) waitThawed() bool {
	if p.frozenUntil == 0 {
		return true
	}
	thawed := make(chan struct{})
	p.conn.at(p.frozenUntil, func() { p.checkThawed(thawed) })
	select {
	case <-thawed:
		return true
	case <-p.done:
		return false
	}
}

// checkThawed closes thawed if the program is no longer frozen. Otherwise it checks again later,
// because the program may have stalled again, or may hang.
func (p *pending) checkThawed(thawed chan struct{}) {
	d := p.conn.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, waits := d.waiting[p.waiter]; !waits {
		return
	}
	if until := p.submitted.FrozenUntil; until > d.now() {
		d.at(until, func() { p.checkThawed(thawed) })
		return
	}
	close(thawed)
}
