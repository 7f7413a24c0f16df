package release

import (
	"time"

	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
)

// GRPCInterceptor runs instead of a gRPC prober. It can call run, which runs the real prober for a service.
type GRPCInterceptor func(service string, timeout time.Duration, run func(service string) (probe.Result, string, error)) (probe.Result, string, error)

type interceptedProber struct {
	real      grpcprobe.Prober
	intercept GRPCInterceptor
}

// InterceptGRPC returns a prober that passes each probe to intercept.
func InterceptGRPC(real grpcprobe.Prober, intercept GRPCInterceptor) grpcprobe.Prober {
	return interceptedProber{real, intercept}
}

// Probe passes the probe to the interceptor.
func (g interceptedProber) Probe(host, service string, port int, timeout time.Duration) (probe.Result, string, error) {
	return g.intercept(service, timeout, func(service string) (probe.Result, string, error) {
		return g.real.Probe(host, service, port, timeout)
	})
}
