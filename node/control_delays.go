package node

import (
	"time"

	"probesim.dev/apiserver/store"
	"probesim.dev/controller"
	"probesim.dev/fakeruntime"
)

// controlDelays draws the latencies of a control plane. Those that it does not have are the standard ones.
type controlDelays struct {
	of       ControlPlane
	runtime  *runtimeDriver
	standard controller.StandardDelays
}

func (d controlDelays) draw(set *fakeruntime.Draw, standard time.Duration, key string) time.Duration {
	if set == nil {
		return standard
	}
	return d.runtime.Draw(d.runtime.sim.Now(), key, *set)
}

func (d controlDelays) Watch(watch string, c store.Change) time.Duration {
	return d.draw(d.of.Watch, d.standard.Watch(watch, c), watch+" "+store.Key(c.New))
}

func (d controlDelays) Call(caller, method string, kind store.Kind, key string) time.Duration {
	return d.draw(d.of.Call, d.standard.Call(caller, method, kind, key), caller+" "+method+" "+string(kind)+" "+key)
}

func (d controlDelays) Schedule(pod string) time.Duration {
	return d.draw(d.of.Schedule, d.standard.Schedule(pod), "schedule "+pod)
}

func (d controlDelays) Sync(router string) time.Duration {
	return d.draw(d.of.Sync, d.standard.Sync(router), "sync "+router)
}

func (d controlDelays) Draw(key string, least, most time.Duration) time.Duration {
	return d.draw(&fakeruntime.Draw{Min: least, Max: most}, 0, key)
}
