package realkubelet

import (
	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
)

// waiter is where a blocked call finds its result.
type waiter struct {
	done chan struct{}
	op   fakeruntime.Op // when done is closed
}

// pending is a call under way.
type pending struct {
	*waiter
	driver      *driver
	accepted    bool            // of a connection
	frozenUntil virtual.Time    // the program that is to answer; 0 if it is not
	submitted   *fakeruntime.Op // while it is waited for
}

// take takes over the result of a call.
func (w *waiter) take(op *fakeruntime.Op) {
	w.op = *op
	w.op.Err = asStatus(op.Err)
}

// wait blocks until the call is done.
func (p *pending) wait() fakeruntime.Op {
	<-p.done
	return p.op
}

// thaws blocks while the program that is to answer is frozen, and reports whether that ends before the call. What
// gives up on the program in the same instant comes first.
func (p *pending) thaws() bool {
	if p.frozenUntil == 0 {
		return true
	}
	thawed := make(chan struct{})
	p.driver.at(p.frozenUntil, func() { p.thaw(thawed) })
	select {
	case <-thawed:
		return true
	case <-p.done:
		return false
	}
}

// thaw closes thawed, or looks again later if the program is frozen still: it may stall again, or hang.
func (p *pending) thaw(thawed chan struct{}) {
	d := p.driver
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, waits := d.waiting[p.waiter]; !waits {
		return
	}
	if until := p.submitted.FrozenUntil; until > d.now() {
		d.at(until, func() { p.thaw(thawed) })
		return
	}
	close(thawed)
}
