// Package preview138 has the probe managers of two feature gates that Kubernetes 1.38 may have:
// ContainerScopedProbes and MutableContainerProbes. Their rules come from pull requests and have
// not been compared with a kubelet. Each file names its source.
//
// With ContainerScopedProbes, a worker belongs to one instance of a container. With
// MutableContainerProbes, the probes of a running pod can change. With both, the workers of
// instances take up the changes.
package preview138

import "probesim.dev/prober"

// NewManager returns a manager without workers, for a kubelet that starts now. The profile has one
// of the two gates or both.
func NewManager(o prober.Options) prober.Manager {
	if o.Profile.ContainerScopedProbes {
		return newContainerBoundManager(o)
	}
	return newMutableManager(o)
}
