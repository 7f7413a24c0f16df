package node

import (
	"time"

	"probesim.dev/apiserver/store"
	"probesim.dev/fakeruntime"
)

// controlDelays draws the latencies of a control plane.
type controlDelays struct {
	of      ControlPlane
	runtime *runtimeDriver
}

// The default latencies. They are distinct, because equal ones would make ties that no real cluster has.
var (
	watchDelays = map[store.Kind]time.Duration{
		store.Pods: 10300 * time.Microsecond, store.ReplicaSets: 11900 * time.Microsecond, store.Deployments: 9700 * time.Microsecond,
		store.EndpointSlices: 12700 * time.Microsecond, store.Services: 9100 * time.Microsecond,
	}
	callDelays = map[string]time.Duration{
		"GET": 5300 * time.Microsecond, "POST": 7100 * time.Microsecond, "PUT": 7900 * time.Microsecond, "PUT status": 7900 * time.Microsecond,
		"DELETE": 6100 * time.Microsecond,
	}
)

const (
	scheduleDelay = 4300 * time.Microsecond
	syncDelay     = 100 * time.Millisecond
)

func (d controlDelays) draw(set *fakeruntime.Draw, standard time.Duration, key string) time.Duration {
	if set == nil {
		return standard
	}
	return d.runtime.Draw(d.runtime.sim.Now(), key, *set)
}

func (d controlDelays) Watch(watch string, c store.Change) time.Duration {
	return d.draw(d.of.Watch, watchDelays[c.Kind], watch+" "+store.Key(c.New))
}

func (d controlDelays) Call(caller, method string, kind store.Kind, key string) time.Duration {
	return d.draw(d.of.Call, callDelays[method], caller+" "+method+" "+string(kind)+" "+key)
}

func (d controlDelays) Schedule(pod string) time.Duration {
	return d.draw(d.of.Schedule, scheduleDelay, "schedule "+pod)
}

func (d controlDelays) Sync(router string) time.Duration {
	return d.draw(d.of.Sync, syncDelay, "sync "+router)
}

func (d controlDelays) Draw(key string, least, most time.Duration) time.Duration {
	return d.draw(&fakeruntime.Draw{Min: least, Max: most}, 0, key)
}
