package bounds

import "time"

// The back-off of a container that restarts again and again (newCrashLoopBackOff in pkg/kubelet/kubelet.go at v1.37.0): it doubles with each start, and begins
// again if the container has lived for ten minutes.
const (
	initialBackOff        = 10 * time.Second
	reducedInitialBackOff = time.Second // with ReduceDefaultCrashLoopBackOffDecay
	reducedBackOff        = time.Minute
	backOffReset          = 10 * time.Minute
	backOffRequeue        = 10 * time.Second // before the kubelet syncs a pod when its back-off ends
)

// Restarts returns when the instances of a container start that never comes up, up to some time after the first start, on a node in the middle of the latencies.
// The phase of the syncs is not taken into account, so the times can be 5% off once the container waits for its back-off.
func (c *Container) Restarts(within time.Duration) []time.Duration {
	m := c.AtMiddle()
	starts := []time.Duration{0}
	if m.killer() == nil || m.killer().tooSlow() || !m.restarts() {
		return starts
	}
	before := m.begins(m.killer()).Least // from a tick to the first start
	var b backOff
	exited, stops := Never, m.preStop(m.spec).plus(m.node[stopContainer]).Least // the program exits at once
	for at := time.Duration(0); ; {
		verdict := m.verdict(at, before, len(starts) == 1)
		exits := verdict + stops
		ready := exits + m.node[stopReturn].Least // in the sync that stops the instance, which knows the exit before
		if exited != Never && b.waits(ready, exited) {
			ready, exited = m.syncsAfter(exits, exits+b.delay), exits
		}
		if exited != Never {
			b.next(ready, exited, m)
		}
		if at, exited = ready+m.starts().Least, exits; at >= within {
			return starts
		}
		starts = append(starts, at)
	}
}

// verdict returns when the killer of an instance that starts at some time has failed as often as its threshold says.
func (c *Container) verdict(start, before time.Duration, first bool) time.Duration {
	p := c.killer()
	later := p.later(p.failures-1).Least + p.tookDuring(Refuse).Least
	if c.scoped() {
		return start + p.delay + later
	}
	shown := c.shown(first).middle()
	return ceil(start+max(shown, p.delayed().middle())+before, p.period) - before + later
}

// syncsAfter returns the first sync of a pod from a moment on. The pod is synced after the exit of its container, then after the time that its back-off still
// takes, at most a minute, and a quarter of it, the middle of the jitter (requeueDelay in pkg/kubelet/pod_workers.go at v1.37.0).
func (c *Container) syncsAfter(exit, moment time.Duration) time.Duration {
	at := exit + relistPeriod/2
	for at < moment {
		delay := min(moment-at, resync)
		if !c.settings.Profile.RequeueAtBackOffExpiry {
			delay = backOffRequeue
		}
		at = ceil(at+delay+delay/4, time.Second) // the sync loop looks once a second
	}
	return at
}

// backOff is the back-off of a container.
type backOff struct{ delay, updated time.Duration }

// waits reports whether a start must wait, which counts from an exit.
func (b *backOff) waits(now, exited time.Duration) bool {
	return b.delay > 0 && exited-b.updated <= backOffReset && now-exited < b.delay
}

// next sets or doubles the delay at a start.
func (b *backOff) next(now, exited time.Duration, c *Container) {
	initial, longest := initialBackOff, longestBackOff
	if c.settings.Profile.ReduceDefaultCrashLoopBackOffDecay {
		initial, longest = reducedInitialBackOff, reducedBackOff
	}
	if b.delay == 0 || exited-b.updated > backOffReset {
		b.delay = initial
	} else {
		b.delay = min(2*b.delay, longest)
	}
	b.updated = now
}
