// Package release has what other code cannot name in the same way for the kubelets of all releases.
package release

import (
	"time"

	"github.com/google/cadvisor/lib/model"
	"k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/kubelet/metrics/collectors"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	"k8s.io/kubernetes/pkg/proxy/runner"
)

// Version is the Kubernetes release of the kubelet, as in package profile.
const Version = "v1.38"

// MachineInfo is the size of a machine.
type MachineInfo = model.MachineInfo

// ProbeOptions are the options of a gRPC probe.
type ProbeOptions = grpcprobe.ProbeOptions

// Collectors returns the metrics collectors that not all releases have.
func Collectors() []metrics.StableCollector {
	return []metrics.StableCollector{collectors.PodCertificateCollectorFor(nil)}
}

// NewProxyRunner returns the limiter with which kube-proxy calls a function.
func NewProxyRunner(f func() error, least, retry, most time.Duration) *runner.BoundedFrequencyRunner {
	return runner.NewBoundedFrequencyRunner("sync-runner", f, least, retry, most)
}
