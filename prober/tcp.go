package prober

import (
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// runTCP runs a tcpSocket probe: it succeeds if it can connect, and closes the connection immediately
// (pkg/probe/tcp/tcp.go at v1.37.0).
func (w *worker) runTCP(p *sim.Proc, podIP string, retry bool) outcome {
	socket := w.spec.TCPSocket
	port, err := resolvePort(socket.Port, w.container, w.manager.profile)
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
	reply := w.connect(p, Connection{Protocol: TCPSocket, Timeout: w.timeout(), Retry: retry})
	switch {
	case reply.TimedOut:
		return failure(dialError(host, port, ioTimeout).Error())
	case reply.Refused:
		return failure(dialError(host, port, connectionRefused).Error())
	}
	return outcome{result: trace.Success}
}
