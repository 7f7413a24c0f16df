package realkubelet

import (
	"net"
	"strconv"
	"strings"
	"time"

	"k8s.io/kubernetes/pkg/probe"

	"probesim.dev/fakeruntime"
)

// tcpProber stands for the kubelet's prober of TCP sockets (pkg/probe/tcp/tcp.go), which dials with a dialer of
// its own that cannot be had, and does nothing else. Its errors are those that package net makes.
type tcpProber struct{ network *network }

// Probe connects. The host begins with a tag, after which there is nothing if the probe has none; then it is
// the pod's IP, as the prober's caller would have it (pkg/kubelet/prober/prober.go).
func (p *tcpProber) Probe(host string, port int, timeout time.Duration) (probe.Result, string, error) {
	tag, host, _ := strings.Cut(host, tagEnd)
	a := parseAsker(tag)
	if host == "" {
		host = p.network.podStatus(a).PodIP
	}
	return p.network.try(a, timeout, func(t try) (probe.Result, string, error) {
		if err := t.dialTCP(net.JoinHostPort(host, strconv.Itoa(port))); err != nil {
			return probe.Failure, err.Error(), nil
		}
		return probe.Success, "", nil
	})
}

// dialTCP connects and returns what a dialer says that cannot.
func (t *try) dialTCP(addr string) error {
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
