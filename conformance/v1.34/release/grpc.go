package release

import (
	"time"

	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
)

// GRPCAround is what happens around the run of a gRPC prober: ask has it probe a service.
type GRPCAround func(service string, timeout time.Duration, ask func(service string) (probe.Result, string, error)) (probe.Result, string, error)

type grpcAround struct {
	real   grpcprobe.Prober
	around GRPCAround
}

// AroundGRPC returns a prober that lets around decide what the real one does.
func AroundGRPC(real grpcprobe.Prober, around GRPCAround) grpcprobe.Prober {
	return grpcAround{real, around}
}

// Probe runs the real prober within what is around it.
func (g grpcAround) Probe(host, service string, port int, timeout time.Duration) (probe.Result, string, error) {
	return g.around(service, timeout, func(service string) (probe.Result, string, error) {
		return g.real.Probe(host, service, port, timeout)
	})
}
