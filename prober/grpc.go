package prober

import (
	"cmp"
	"fmt"
	"time"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/trace"
)

// How the client of google.golang.org/grpc v1.82.1, with which the kubelet asks, goes on when it cannot connect
// (backoff/backoff.go, internal/backoff/backoff.go, clientconn.go).
const (
	backOffBase       = time.Second
	backOffMax        = 120 * time.Second
	backOffMultiplier = 1.6
	backOffJitter     = 0.2 // to either side, but for the first
	minConnectTimeout = 20 * time.Second
)

// ConnectJitter is the jitter of the back-off between two connections of a gRPC probe. The worker draws it.
const ConnectJitter choose.JitterSource = "connect of "

// runGRPC makes a grpc probe: it connects, again and again while that fails, and asks for the health of a
// service, all in one timeout (pkg/probe/grpc/grpc.go at v1.37.0).
func (w *worker) runGRPC(p *sim.Proc, podIP string) verdict {
	deadline, retry := p.Now()+w.timeout(), false
	for backOff := backOffBase; ; backOff = min(time.Duration(float64(backOff)*backOffMultiplier), backOffMax) {
		wait := w.jittered(p, backOff, retry)
		reply := w.connect(p, Connection{
			Protocol: GRPC, Timeout: deadline - p.Now(), Retry: retry, Handshake: max(minConnectTimeout, wait),
		})
		if connected := !reply.Silent && (reply.TransportError == "" || reply.HungUp); connected {
			return w.judgeGRPC(&reply)
		}
		retry = true
		p.Sleep(min(wait, deadline-p.Now()))
		if p.Now() == deadline {
			addr := joinHostPort(podIP, int(w.spec.GRPC.Port))
			return failed("timeout: failed to connect service %q within %v: context deadline exceeded", addr, w.timeout())
		}
	}
}

// jittered draws a back-off. The first is exact.
func (w *worker) jittered(p *sim.Proc, backOff time.Duration, retry bool) time.Duration {
	if !retry {
		return backOff
	}
	return time.Duration(float64(backOff) * (1 + backOffJitter*(2*p.Sim().Fraction(ConnectJitter, p.Name())-1)))
}

// grpcCodes are the codes of a call that fails, as the status of Go writes them, by their names in the
// specification of gRPC.
var grpcCodes = map[string]string{
	"CANCELLED": "Canceled", "INVALID_ARGUMENT": "InvalidArgument", "NOT_FOUND": "NotFound",
	"ALREADY_EXISTS": "AlreadyExists", "PERMISSION_DENIED": "PermissionDenied",
	"RESOURCE_EXHAUSTED": "ResourceExhausted", "FAILED_PRECONDITION": "FailedPrecondition", "ABORTED": "Aborted",
	"OUT_OF_RANGE": "OutOfRange", "INTERNAL": "Internal", "UNAVAILABLE": "Unavailable", "DATA_LOSS": "DataLoss",
	"UNAUTHENTICATED": "Unauthenticated",
}

// judgeGRPC says what the end of a health check means.
func (w *worker) judgeGRPC(reply *Reply) verdict {
	switch {
	case reply.TimedOut, reply.Status == "DEADLINE_EXCEEDED":
		return failed("timeout: health rpc did not complete within %v", w.timeout())
	case reply.HungUp:
		return failed("error: health rpc probe failed: rpc error: code = Unavailable desc = error reading from server: %s", cmp.Or(reply.TransportError, "EOF"))
	case reply.Status == "SERVING":
		return verdict{result: trace.Success, message: "service healthy"}
	case reply.Status == "UNIMPLEMENTED":
		return failed("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): %s", reply.Body)
	case grpcCodes[reply.Status] != "":
		return failed("error: health rpc probe failed: rpc error: code = %s desc = %s", grpcCodes[reply.Status], reply.Body)
	}
	return failed("service unhealthy (responded with %q)", reply.Status)
}

func failed(format string, args ...any) verdict {
	return verdict{result: trace.Failure, message: fmt.Sprintf(format, args...)}
}
