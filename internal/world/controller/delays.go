package controller

import (
	"strings"
	"time"

	"probesim.dev/internal/world/apiserver/store"
)

// Delays are the latencies of a control plane. A delay depends on its arguments and the present
// instant alone, so that one more call changes no other delay.
type Delays interface {
	// Watch is how long a change takes from the API server to a watch.
	Watch(watch string, c store.Change) time.Duration
	// Call is how long a call takes to the API server. The method is that of HTTP, and " status"
	// behind it says that it is about the status.
	Call(caller, method string, kind store.Kind, key string) time.Duration
	// Schedule is how long the scheduler takes to bind a pod.
	Schedule(pod string) time.Duration
	// Sync is how long kube-proxy takes to write its rules.
	Sync(router string) time.Duration
	// Draw is a delay from a range. The key names what is delayed.
	Draw(key string, least, most time.Duration) time.Duration
}

// StandardDelays are fixed latencies. They are distinct, because equal ones would make ties that no
// real cluster has. Of a range, they take the least delay.
type StandardDelays struct{}

var (
	watchDelays = map[store.Kind]time.Duration{
		store.Pods: 10300 * time.Microsecond, store.ReplicaSets: 11900 * time.Microsecond,
		store.Deployments:    9700 * time.Microsecond,
		store.EndpointSlices: 12700 * time.Microsecond, store.Services: 9100 * time.Microsecond,
	}
	callDelays = map[string]time.Duration{
		"GET": 5300 * time.Microsecond, "POST": 7100 * time.Microsecond, "PUT": 7900 * time.Microsecond,
		"DELETE": 6100 * time.Microsecond,
		"PATCH":  6700 * time.Microsecond,
	}
)

// Watch depends on the kind of the object alone.
func (StandardDelays) Watch(_ string, c store.Change) time.Duration { return watchDelays[c.Kind] }

// Call depends on the method alone.
func (StandardDelays) Call(_, method string, _ store.Kind, _ string) time.Duration {
	verb, _, _ := strings.Cut(method, " ")
	return callDelays[verb]
}

// Schedule implements Delays.
func (StandardDelays) Schedule(string) time.Duration { return 4300 * time.Microsecond }

// Sync implements Delays.
func (StandardDelays) Sync(string) time.Duration { return 100 * time.Millisecond }

// Draw implements Delays.
func (StandardDelays) Draw(_ string, least, _ time.Duration) time.Duration { return least }
