// Package controller has what client-go and pkg/controller of Kubernetes give to every controller, on the kernel of package sim: caches
// that lag behind the API server, work queues, expectations, and calls that take time. Each controller is a package below.
package controller

import (
	"time"

	"probesim.dev/apiserver"
	"probesim.dev/apiserver/store"
	"probesim.dev/kube/profile"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// Env is what controllers run in.
type Env struct {
	Sim     *sim.Sim
	API     *apiserver.Server
	Trace   *trace.Recorder
	Profile profile.Profile
	Now     func() time.Time // wall clock of the control plane
	Delays  Delays
}

// Delays are the latencies of a control plane. A delay depends on its arguments and the present instant alone, so that one more call
// changes no other delay.
type Delays interface {
	// Watch is how long a change takes from the API server to a watch.
	Watch(watch string, c store.Change) time.Duration
	// Call is how long a call takes to the API server. The method is that of HTTP.
	Call(caller, method string, kind store.Kind, key string) time.Duration
	// Schedule is how long the scheduler takes to bind a pod.
	Schedule(pod string) time.Duration
	// Sync is how long kube-proxy takes to write its rules.
	Sync(router string) time.Duration
	// Draw is a delay from a range. The key names what is delayed.
	Draw(key string, least, most time.Duration) time.Duration
}

// Workers is how many keys of a queue are processed at once (--concurrent-deployment-syncs and its like, pkg/controller/*/config/v1alpha1
// at v1.37.0).
const Workers = 5
