package realkubelet

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// network stands between the kubelet's probers and the programs. The probers themselves are the real ones but
// for that of TCP sockets: where they dial, their connections are pipes, which take no real time, to a
// server here that has the runtime say what the program does.
type network struct {
	driver   *connection
	recorder *recorder
	probes   *probeRuns
	status   status.PodStatusProvider
	first    *firstRuns
}

// asker is the probe or lifecycle hook on whose behalf the kubelet connects.
type asker struct {
	uid       types.UID
	pod       string // namespace/name
	container string
	probe     trace.Probe
	hook      string // if it is no probe
}

// String writes an asker as parseAsker reads it. No part of it has a slash but pod, which has one.
func (a asker) String() string {
	return fmt.Sprintf("%s/%s/%s/%s", cmp.Or(string(a.probe), a.hook), a.uid, a.container, a.pod)
}

func parseAsker(s string) asker {
	parts := strings.SplitN(s, "/", 4)
	a := asker{uid: types.UID(parts[1]), container: parts[2], pod: parts[3]}
	if parts[0] == postStart || parts[0] == preStop {
		a.hook = parts[0]
	} else {
		a.probe = trace.Probe(parts[0])
	}
	return a
}

func (a asker) key() probeKey { return probeKey{string(a.uid) + "/" + a.container, a.probe} }

// attach puts the network before the probers of a kubelet that does not run yet.
func (n *network) attach(k *kubelet.Kubelet) {
	kubelet := reflect.ValueOf(k).Elem()
	n.status = field(kubelet, "statusManager").Interface().(status.PodStatusProvider)
	manager := field(kubelet, "probeManager").Elem().Elem() // of the interface, of the pointer
	n.first.watch(manager)
	prober := field(manager, "prober").Elem()
	web := field(prober, "http")
	web.Set(reflect.ValueOf(newHTTPProber(n, web.Interface().(httpprobe.Prober))))
	field(prober, "tcp").Set(reflect.ValueOf(&tcpProber{n}))
	grpc := field(prober, "grpc")
	grpc.Set(reflect.ValueOf(newGRPCProber(n, grpc.Interface().(grpcprobe.Prober))))
	runner := field(field(kubelet, "containerRuntime").Elem().Elem(), "runner").Elem().Elem()
	client := field(runner, "httpDoer")
	client.Set(reflect.ValueOf(newHookClient(n, client.Interface().(*http.Client))))
}

// try is one try of a probe run, or a run of a lifecycle hook.
type try struct {
	*network
	asker
	deadline virtual.Time // 0 for none
	retry    bool
}

// try runs a prober and records what came of it. In a kubelet that is cut off it does not come back.
func (n *network) try(a asker, timeout time.Duration, run func(try) (probe.Result, string, error)) (probe.Result, string, error) {
	n.driver.hold()
	rec := n.about(a)
	t := try{network: n, asker: a, deadline: n.driver.now().Add(timeout), retry: n.probes.begin(a.key())}
	result, message, err := run(t)
	n.driver.hold()
	rec.Result, rec.Message = trace.Result(result), message
	if err != nil {
		rec.Result, rec.Message = trace.Error, err.Error()
	}
	n.probes.end(a.key(), rec)
	return result, message, err
}

// about returns a record about the container as the probe's worker knows it.
func (n *network) about(a asker) trace.Record {
	rec := trace.Record{Pod: a.pod, Container: a.container}
	status := n.podStatus(a)
	for _, list := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		if c, ok := podutil.GetContainerStatus(list, a.container); ok {
			_, id, _ := strings.Cut(c.ContainerID, "://")
			rec.Instance = n.driver.instance(id)
		}
	}
	return rec
}

func (n *network) podStatus(a asker) v1.PodStatus {
	s, _ := n.status.GetPodStatus(a.uid)
	return s
}

// unasked records the run of a probe that could not ask anybody, as there is no port of that name. No prober
// sees it.
func (n *network) unasked(a asker, why string) {
	rec := n.about(a)
	rec.Kind, rec.Probe, rec.Result, rec.Message = trace.ProbeExecuted, a.probe, trace.Error, why
	n.first.probed(&rec)
	n.recorder.add(rec)
}

var erroredEvent = regexp.MustCompile(`^(Liveness|Readiness|Startup) probe errored and resulted in unknown state: (.*)`)

// unaskedProbe finds such a run by the event about it. It is unlike the event about a command that could
// not be run: that has an error of the runtime.
func unaskedProbe(event string) (p trace.Probe, why string, ok bool) {
	m := erroredEvent.FindStringSubmatch(event)
	if m == nil || strings.HasPrefix(m[2], "rpc error: ") || m[2] == errOver.Error() {
		return "", "", false
	}
	return trace.Probe(strings.ToLower(m[1])), m[2], true
}

// request submits a request to the program.
func (t *try) request(c fakeruntime.Call) *pending {
	c.PodUID, c.Name, c.Probe, c.Hook = string(t.uid), t.container, t.probe, t.hook
	if t.deadline > 0 {
		c.Timeout = t.deadline.Sub(t.driver.now())
	}
	c.Retry = c.Retry || t.retry
	return t.driver.submit(c)
}

// breaking is the kubelet's end of a connection. The program's end closes it when the request has come to its end.
type breaking struct {
	net.Conn
	op *pending
}

// Read fails, where the connection was to break in some way, in that way instead of with EOF.
func (b breaking) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if err != io.EOF {
		return n, err
	}
	select {
	case <-b.op.done:
		if a := b.op.op.Answer; a != nil && a.TransportError != "" {
			err = errors.New(a.TransportError)
		}
	default:
	}
	return n, err
}

// Write into a connection whose other end is closed succeeds, as into the buffer of a socket: that it is closed is found by
// reading.
func (b breaking) Write(p []byte) (int, error) {
	n, err := b.Conn.Write(p)
	if err == io.ErrClosedPipe {
		return len(p), nil
	}
	return n, err
}

// dialError is what package net says of a connection that cannot be made.
func dialError(addr string, err error) error {
	tcp, unknown := resolve(addr)
	if unknown != nil {
		return unknown
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: tcp, Err: err}
}

// resolve stands for the resolver of a node that has a hosts file with one name in it, localhost, and no name server.
func resolve(addr string) (*net.TCPAddr, error) {
	host, port, err := net.SplitHostPort(addr)
	switch _, notIP := netip.ParseAddr(host); {
	case err != nil:
		return nil, err
	case strings.ToLower(host) == "localhost":
		addr = net.JoinHostPort("127.0.0.1", port)
	case host != "" && notIP != nil:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
	}
	return net.ResolveTCPAddr("tcp", addr)
}

var (
	errRefused  = os.NewSyscallError("connect", syscall.ECONNREFUSED)
	errTimedOut = os.ErrDeadlineExceeded
)
