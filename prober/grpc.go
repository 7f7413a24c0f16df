package prober

import (
	"cmp"
	"fmt"
	"time"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/trace"
)

// The connection back-off of google.golang.org/grpc v1.82.1, the kubelet's gRPC client
// (backoff/backoff.go, internal/backoff/backoff.go, clientconn.go).
const (
	backOffBase       = time.Second
	backOffMax        = 120 * time.Second
	backOffMultiplier = 1.6
	backOffJitter     = 0.2 // to either side; the first back-off has none
)

// MinConnectTimeout is the least time after which a gRPC probe gives up a connection that the
// program does not answer.
const MinConnectTimeout = 20 * time.Second

// ConnectJitter is the jitter of the back-off between two connections of a gRPC probe. The worker
// draws it.
const ConnectJitter choose.JitterSource = "connect of "

// ConnectBackOff returns the range of the time from a connection of a gRPC probe that is refused
// until the next one, for the first connection of a probe run, which is 0, and later ones.
func ConnectBackOff(connection int) (least, greatest time.Duration) {
	if connection == 0 {
		return backOffBase, backOffBase
	}
	backOff := backOffBase
	for range connection {
		backOff = nextBackOff(backOff)
	}
	return time.Duration(float64(backOff) * (1 - backOffJitter)), time.Duration(float64(backOff) * (1 + backOffJitter))
}

func nextBackOff(backOff time.Duration) time.Duration {
	return min(time.Duration(float64(backOff)*backOffMultiplier), backOffMax)
}

// runGRPC runs a grpc probe: it connects, up to 1.37 again and again until it succeeds, and then
// requests the health of a service, all within one timeout (pkg/probe/grpc/grpc.go at v1.37.0 and
// v1.38.0-beta.0).
func (e *Execution) runGRPC(p *sim.Proc, podIP string) outcome {
	deadline, retry := p.Now().Add(e.timeout()), false
	addr := joinHostPort(podIP, int(e.Spec.GRPC.Port))
	for backOff := backOffBase; ; backOff = nextBackOff(backOff) {
		wait := e.jittered(p, backOff, retry)
		reply := e.connect(p, Connection{
			Protocol: GRPC, Timeout: deadline.Sub(p.Now()), Retry: retry, Handshake: max(MinConnectTimeout, wait),
		})
		if connected := !reply.Unanswered && (reply.TransportError == "" || reply.HungUp); connected {
			return e.healthOutcome(addr, &reply)
		}
		if e.Profile.GRPCConnectsOnce {
			return e.notConnected(addr, &reply)
		}
		retry = true
		p.Sleep(min(wait, deadline.Sub(p.Now())))
		if p.Now() == deadline {
			return failure(fmt.Sprintf("timeout: failed to connect service %q within %v: context deadline exceeded",
				addr, e.timeout()))
		}
	}
}

// notConnected returns the outcome of a probe whose only connection has failed: a client waits for
// the preface of the server after it has connected. The message of a node also has the addresses of
// a connection that the client gives up.
func (e *Execution) notConnected(addr string, reply *Reply) outcome {
	const preface = "error reading server preface: "
	why := "transport: Error while dialing: " +
		cmp.Or(reply.TransportError, "dial tcp "+addr+": connect: connection refused")
	switch {
	case reply.TimedOut:
		return e.incomplete()
	case reply.HandshakeTimeout:
		why = preface + "read tcp: use of closed network connection"
	case reply.HungUp:
		why = preface + "EOF"
	}
	return unavailable(addr, fmt.Sprintf("connection error: desc = %q", why))
}

// incomplete returns the outcome of a health check that exceeds its timeout.
func (e *Execution) incomplete() outcome {
	return failure(fmt.Sprintf("timeout: health rpc did not complete within %v", e.timeout()))
}

// unavailable returns the outcome of a health check with the status code Unavailable, from 1.38 on.
func unavailable(addr, message string) outcome {
	return failure(fmt.Sprintf("error: failed to connect service at %q: %s", addr, message))
}

// jittered returns a back-off with jitter. The first back-off has none.
func (e *Execution) jittered(p *sim.Proc, backOff time.Duration, retry bool) time.Duration {
	if !retry {
		return backOff
	}
	return time.Duration(float64(backOff) * (1 + backOffJitter*(2*p.Sim().Fraction(ConnectJitter, p.Name())-1)))
}

// grpcCodes maps the names of status codes in the gRPC specification to their spelling in grpc-go.
var grpcCodes = map[string]string{
	"CANCELLED": "Canceled", "INVALID_ARGUMENT": "InvalidArgument", "NOT_FOUND": "NotFound",
	"ALREADY_EXISTS": "AlreadyExists", "PERMISSION_DENIED": "PermissionDenied",
	"RESOURCE_EXHAUSTED": "ResourceExhausted", "FAILED_PRECONDITION": "FailedPrecondition", "ABORTED": "Aborted",
	"OUT_OF_RANGE": "OutOfRange", "INTERNAL": "Internal", "UNAVAILABLE": "Unavailable", "DATA_LOSS": "DataLoss",
	"UNAUTHENTICATED": "Unauthenticated",
}

// healthOutcome returns the outcome of a health check.
func (e *Execution) healthOutcome(addr string, reply *Reply) outcome {
	lost := "error reading from server: " + cmp.Or(reply.TransportError, "EOF")
	switch {
	case reply.TimedOut, reply.Status == "DEADLINE_EXCEEDED":
		return e.incomplete()
	case reply.HungUp && e.Profile.GRPCConnectsOnce:
		return unavailable(addr, lost)
	case reply.HungUp:
		return failure("error: health rpc probe failed: rpc error: code = Unavailable desc = " + lost)
	case reply.Status == "UNAVAILABLE" && e.Profile.GRPCConnectsOnce:
		return unavailable(addr, reply.Body)
	case reply.Status == "SERVING":
		return outcome{result: trace.Success, message: "service healthy"}
	case reply.Status == "UNIMPLEMENTED":
		return failure(fmt.Sprintf("error: this server does not implement the grpc health protocol "+
			"(grpc.health.v1.Health): %s", reply.Body))
	case grpcCodes[reply.Status] != "":
		return failure(fmt.Sprintf("error: health rpc probe failed: rpc error: code = %s desc = %s",
			grpcCodes[reply.Status], reply.Body))
	}
	return failure(fmt.Sprintf("service unhealthy (responded with %q)", reply.Status))
}
