package node

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
)

// Draws draws latencies at the current time. The key says what takes them.
type Draws interface {
	Draw(key string, of fakeruntime.Draw) time.Duration
	// Latency returns false without a seed.
	Latency(key string, of fakeruntime.Latency) (time.Duration, bool)
}

// drawsNow are the draws of a node.
type drawsNow struct{ *runtimeDriver }

func (d drawsNow) Draw(key string, of fakeruntime.Draw) time.Duration {
	return d.Runtime.Draw(d.sim.Now(), key, of)
}

func (d drawsNow) Latency(key string, of fakeruntime.Latency) (time.Duration, bool) {
	return d.Runtime.Latency(d.sim.Now(), key, of)
}

// Latencies returns the latencies of the control plane. Those that the control plane does not have
// are the standard ones.
func (o *ControlPlane) Latencies(draws Draws) controller.Delays {
	return controlDelays{of: *o, draws: draws}
}

// controlDelays are the latencies of a control plane.
type controlDelays struct {
	of       ControlPlane
	draws    Draws
	standard controller.StandardDelays
}

// draw returns a latency: that of a range, or that of a set, or else the standard one. Without a
// seed, the latencies of a set are in proportion to the standard ones, which are about those of
// typical: equal ones would make ties that no real cluster has.
func (d controlDelays) draw(own *fakeruntime.Draw, standard time.Duration, key string,
	of func(*fakeruntime.ControlDelays) fakeruntime.Latency) time.Duration {
	switch {
	case own != nil:
		return d.draws.Draw(key, *own)
	case d.of.Delays == nil:
		return standard
	}
	latency := of(d.of.Delays)
	if l, seeded := d.draws.Latency(key, latency); seeded {
		return l
	}
	typical, _ := fakeruntime.ControlDelaySet("typical")
	return standard * latency.Median() / of(&typical).Median()
}

func (d controlDelays) Watch(watch string, c store.Change) time.Duration {
	of := func(c *fakeruntime.ControlDelays) fakeruntime.Latency { return c.Watch }
	return d.draw(d.of.Watch, d.standard.Watch(watch, c), watch+" "+store.Key(c.New), of)
}

func (d controlDelays) Call(caller, method string, kind store.Kind, key string) time.Duration {
	of := func(c *fakeruntime.ControlDelays) fakeruntime.Latency { return c.Call }
	return d.draw(d.of.Call, d.standard.Call(caller, method, kind, key), caller+" "+method+" "+string(kind)+" "+key, of)
}

func (d controlDelays) Schedule(pod string) time.Duration {
	of := func(c *fakeruntime.ControlDelays) fakeruntime.Latency { return c.Schedule }
	return d.draw(d.of.Schedule, d.standard.Schedule(pod), "schedule "+pod, of)
}

func (d controlDelays) Sync(router string) time.Duration {
	of := func(c *fakeruntime.ControlDelays) fakeruntime.Latency { return c.Sync }
	return d.draw(d.of.Sync, d.standard.Sync(router), "sync "+router, of)
}

func (d controlDelays) Draw(key string, least, most time.Duration) time.Duration {
	return d.draws.Draw(key, fakeruntime.Draw{Min: least, Max: most})
}
