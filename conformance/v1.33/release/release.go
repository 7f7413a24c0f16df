// Package release has what other code cannot name in the same way for the kubelets of all releases.
package release

import (
	"time"

	model "github.com/google/cadvisor/info/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/util/async"
)

// Version is the Kubernetes release of the kubelet, as in package profile.
const Version = "v1.33"

// MachineInfo is the size of a machine.
type MachineInfo = model.MachineInfo

// ProbeOptions are the options of a gRPC probe, which this release does not have.
type ProbeOptions = struct{}

// Collectors returns the metrics collectors that not all releases have.
func Collectors() []metrics.StableCollector { return nil }

// NewProxyRunner returns the limiter with which kube-proxy calls a function. This release makes up
// to two calls without a wait, and has no retries of its own.
func NewProxyRunner(f func() error, least, _, most time.Duration) *async.BoundedFrequencyRunner {
	const burst = 2 // burstSyncs in pkg/proxy/iptables/proxier.go
	return async.NewBoundedFrequencyRunner("sync-runner", func() { _ = f() }, least, most, burst)
}
