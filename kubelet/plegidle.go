package kubelet

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// idleRelist is a relist that has found nothing so far, in one of three stages.
type idleRelist struct {
	stage      fakeruntime.Method // the list call that is under way; empty: waiting for the next relist
	next       time.Duration      // when that is
	start      time.Duration
	stageStart time.Duration
	generation uint64
	broken     bool // the runtime went down during the call
}

// idle goes through the relists from time next on, as long as they find nothing and nobody asks for
// one. They are nearly all, and so they run in the kernel, without the process; it is the same to the
// nanosecond. A chooser gets to choose among processes, so there is no such short cut with one.
func (g *pleg) idle(p *sim.Proc, next time.Duration) {
	for p.Sim().Canonical() && g.requests.Len() == 0 && g.k.runtime.Generation() == g.generation && !g.k.runtime.Down() {
		r := &idleRelist{next: next}
		g.waiting = true
		p.WakeAt(next)
		p.ParkWhile(func() bool { return g.stepIdle(p, r) })
		g.waiting, g.idling = false, nil
		next = r.next
		if r.stage == "" {
			break
		}
		if !r.broken {
			g.resume(p, r)
		}
		next = p.Now() + relistPeriod
	}
	g.k.sim.Set(g.timer, next)
}

// stepIdle is called when the present stage is over, and reports whether the relist is still idle.
func (g *pleg) stepIdle(p *sim.Proc, r *idleRelist) bool {
	changed := g.k.runtime.Generation() != g.generation
	switch r.stage {
	case "":
		g.waiting = false
		if g.k.runtime.Down() {
			return false
		}
		g.idling = r
		r.start, r.generation = p.Now(), g.k.runtime.Generation()
		return g.begin(p, r, fakeruntime.ListPodSandbox)
	case fakeruntime.ListPodSandbox:
		g.noteCall(p, r)
		return !changed && g.begin(p, r, fakeruntime.ListContainers)
	}
	g.noteCall(p, r)
	if changed {
		return false
	}
	g.relistTime = r.start
	g.k.cache.setTime(r.start)
	g.idling = nil
	r.stage, r.next = "", p.Now()+relistPeriod
	g.waiting = g.requests.Len() == 0
	if g.waiting {
		p.WakeAt(r.next)
	}
	return g.waiting
}

// breakOff ends the list call that is under way: the runtime has gone down.
func (g *pleg) breakOff() {
	if r := g.idling; r != nil {
		r.broken, g.idling = true, nil
		g.proc.Interrupt()
	}
}

// begin starts a list call; one that takes no time is left to the process.
func (g *pleg) begin(p *sim.Proc, r *idleRelist, m fakeruntime.Method) bool {
	kind := fakeruntime.DelayListPodSandbox
	if m == fakeruntime.ListContainers {
		kind = fakeruntime.DelayListContainers
	}
	r.stage, r.stageStart = m, p.Now()
	p.WakeAt(p.Now() + g.k.runtime.Delay(kind))
	return true
}

func (g *pleg) noteCall(p *sim.Proc, r *idleRelist) {
	g.k.note(trace.Record{Kind: trace.CRICall, Reason: string(r.stage), Took: p.Now() - r.stageStart})
}

// resume ends a relist during which something has changed. The call that has just ended is answered now;
// what the first call had to say was nothing.
func (g *pleg) resume(p *sim.Proc, r *idleRelist) {
	l := listing{timestamp: r.start}
	scope := g.scope()
	scope.Method = r.stage
	l.take(g.k, g.k.runtime.Answer(scope))
	if r.stage == fakeruntime.ListPodSandbox {
		scope.Method = fakeruntime.ListContainers
		if l.take(g.k, g.k.runtime.Call(p, scope)) != nil {
			return
		}
	}
	g.apply(p, l, r.generation)
}
