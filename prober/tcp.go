package prober

import (
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// runTCP makes a tcpSocket probe: what can be connected to is fine, and the connection is closed at once
// (pkg/probe/tcp/tcp.go at v1.37.0).
func (w *worker) runTCP(p *sim.Proc, podIP string, retry bool) verdict {
	socket := w.spec.TCPSocket
	port, err := resolvePort(socket.Port, w.container, w.manager.profile)
	if err != nil {
		return broken(err)
	}
	host := socket.Host
	if host == "" {
		host = podIP
	}
	if _, err := resolve(host); err != nil {
		return verdict{result: trace.Failure, message: err.Error()}
	}
	reply := w.connect(p, Connection{Protocol: TCPSocket, Timeout: w.timeout(), Retry: retry})
	switch {
	case reply.TimedOut:
		return verdict{result: trace.Failure, message: dialError(host, port, ioTimeout).Error()}
	case reply.Refused:
		return verdict{result: trace.Failure, message: dialError(host, port, connectionRefused).Error()}
	}
	return verdict{result: trace.Success}
}
