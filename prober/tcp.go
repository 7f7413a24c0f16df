package prober

import (
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// runTCP runs a tcpSocket probe: it succeeds if it can connect, and closes the connection
// immediately (pkg/probe/tcp/tcp.go at v1.37.0).
func (e *Execution) runTCP(p *sim.Proc, podIP string, retry bool) outcome {
	socket := e.Spec.TCPSocket
	port, err := resolvePort(socket.Port, e.Container, e.Profile)
	if err != nil {
		return probeError(err)
	}
	host := socket.Host
	if host == "" {
		host = podIP
	}
	if _, err := resolve(host); err != nil {
		return failure(err.Error())
	}
	reply := e.connect(p, Connection{Protocol: TCPSocket, Timeout: e.timeout(), Retry: retry})
	switch {
	case reply.TimedOut:
		return failure(dialError(host, port, ioTimeout).Error())
	case reply.Refused:
		return failure(dialError(host, port, connectionRefused).Error())
	}
	return outcome{result: trace.Success}
}
