package realkubelet

import (
	"net"
	"strconv"
	"strings"
	"time"

	"k8s.io/kubernetes/pkg/probe"

	"probesim.dev/fakeruntime"
)

// tcpProber replaces the kubelet's prober of TCP sockets (pkg/probe/tcp/tcp.go), whose dialer
// cannot be replaced. It returns the errors of package net.
type tcpProber struct{ network *network }

// Probe connects to the host, which starts with a tag. If the probe does not set a host, Probe
// connects to the pod's IP, like the caller of the real prober (pkg/kubelet/prober/prober.go).
func (p *tcpProber) Probe(host string, port int, timeout time.Duration) (probe.Result, string, error) {
	tag, host, _ := strings.Cut(host, tagEnd)
	r := parseRequester(tag)
	if host == "" {
		host = p.network.podStatus(r).PodIP
	}
	return p.network.attempt(r, timeout, func(t attempt) (probe.Result, string, error) {
		if err := t.dialTCP(net.JoinHostPort(host, strconv.Itoa(port))); err != nil {
			return probe.Failure, err.Error(), nil
		}
		return probe.Success, "", nil
	})
}

// dialTCP connects, and returns the error of a dialer that cannot connect.
func (t *attempt) dialTCP(addr string) error {
	if _, err := resolve(addr); err != nil {
		return err
	}
	switch op := t.request(fakeruntime.Call{Method: fakeruntime.TCPSocket}).wait(); {
	case op.Err != nil:
		return op.Err
	case op.TimedOut:
		return dialError(addr, errTimedOut)
	case op.Reply == fakeruntime.Refused:
		return dialError(addr, errRefused)
	}
	return nil
}
