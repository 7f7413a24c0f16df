package kubeletapi

import (
	"time"

	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"

	"probesim.dev/conformance/kubelet/release"
)

// GRPCInterceptor runs instead of a gRPC prober. It can call run, which runs the real prober for a
// service.
type GRPCInterceptor func(service string, timeout time.Duration,
	run func(service string) (probe.Result, string, error)) (probe.Result, string, error)

// InterceptGRPC returns a prober that passes each probe to intercept.
func InterceptGRPC(real grpcprobe.Prober, intercept GRPCInterceptor) grpcprobe.Prober {
	return oneOf[grpcprobe.Prober](proberUntil136{real, intercept}, proberSince137{real, intercept})
}

// Probers of the releases, which pass the probe to the interceptor.
type (
	proberUntil136 struct {
		real      any
		intercept GRPCInterceptor
	}
	proberSince137 proberUntil136
)

func (p proberUntil136) Probe(host, service string, port int, timeout time.Duration) (probe.Result, string, error) {
	return p.intercept(service, timeout, func(service string) (probe.Result, string, error) {
		return p.real.(interface {
			Probe(host, service string, port int, timeout time.Duration) (probe.Result, string, error)
		}).Probe(host, service, port, timeout)
	})
}

func (p proberSince137) Probe(host, service string, port int, timeout time.Duration,
	o release.ProbeOptions) (probe.Result, string, error) {
	return p.intercept(service, timeout, func(service string) (probe.Result, string, error) {
		return p.real.(interface {
			Probe(host, service string, port int, timeout time.Duration, o release.ProbeOptions) (probe.Result, string,
				error)
		}).Probe(host, service, port, timeout, o)
	})
}
