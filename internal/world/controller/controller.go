// Package controller has what client-go and pkg/controller of Kubernetes give to every controller,
// on the kernel of package sim: caches that lag behind the API server, work queues, expectations,
// and calls that take time. Each controller is a package below.
package controller

import (
	"time"

	"probesim.dev/internal/world/apiserver"
	"probesim.dev/kube/kubeletconfig"
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
	Size    kubeletconfig.Allocatable // of the node; 0: enough for every pod
}

// Workers is how many keys of a queue are processed at once (--concurrent-deployment-syncs and its
// like, pkg/controller/*/config/v1alpha1 at v1.37.0).
const Workers = 5
