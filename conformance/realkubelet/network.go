package realkubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// network connects the kubelet's probers to the programs. The probers are the kubelet's own, except
// the one for TCP sockets. Their connections are pipes, which need no real input or output, to a
// server that asks the runtime for the program's behavior.
type network struct {
	driver *connection
	probes *probeRuns
	status status.PodStatusProvider
	first  *firstRuns
	http2  sync.Map // requester to *connections; the probes in progress
}

// requester is the probe or lifecycle hook for which the kubelet connects.
type requester struct {
	key       string // such as liveness or preStop
	uid       types.UID
	pod       string // namespace/name
	container string
}

// String formats a requester for parseRequester. Only the pod's name contains a slash.
func (r requester) String() string {
	return fmt.Sprintf("%s/%s/%s/%s", r.key, r.uid, r.container, r.pod)
}

func parseRequester(s string) requester {
	parts := strings.SplitN(s, "/", 4)
	return requester{key: parts[0], uid: types.UID(parts[1]), container: parts[2], pod: parts[3]}
}

// whoseKey returns the probe or the hook of a key.
func whoseKey(key string) (probe trace.Probe, hook string) {
	if slices.Contains(podutil.HookKeys, key) {
		return "", key
	}
	return trace.Probe(key), ""
}

func (r requester) probe() probeKey {
	return probeKey{string(r.uid) + "/" + r.container, trace.Probe(r.key)}
}

// attach installs the network in a kubelet that does not run yet.
func (n *network) attach(k *kubelet.Kubelet) {
	kubelet := reflect.ValueOf(k).Elem()
	n.status = field(kubelet, "statusManager").Interface().(status.PodStatusProvider)
	manager := field(kubelet, "probeManager").Elem().Elem() // the values behind the interface and the pointer
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

// attempt is one attempt of a probe run, or one run of a lifecycle hook.
type attempt struct {
	*network
	requester
	deadline virtual.Time // 0 if there is none
	retry    bool
}

// attempt runs a prober and records the result. In a kubelet that is cut off it does not return.
func (n *network) attempt(r requester, timeout time.Duration,
	run func(attempt) (probe.Result, string, error)) (probe.Result, string, error) {
	n.driver.blockIfCut()
	t := attempt{network: n, requester: r, deadline: n.driver.now().Add(timeout),
		retry: n.probes.begin(r.probe(), n.recordAbout(r))}
	result, message, err := run(t)
	n.driver.blockIfCut()
	if err != nil {
		n.probes.end(r.probe(), trace.Error, err.Error())
	} else {
		n.probes.end(r.probe(), trace.Result(result), message)
	}
	return result, message, err
}

// recordAbout returns a record about the container that the probe's worker knows.
func (n *network) recordAbout(r requester) trace.Record {
	rec := trace.Record{Pod: r.pod, Container: r.container}
	_, id, _ := strings.Cut(idOf(n.podStatus(r), r.container), "://")
	rec.Instance = n.driver.instance(id)
	return rec
}

func (n *network) podStatus(r requester) v1.PodStatus {
	s, _ := n.status.GetPodStatus(r.uid)
	return s
}

// recordUnsent records the run of a probe that failed before it reached a prober, because its port
// name does not exist.
func (n *network) recordUnsent(r requester, why string) {
	rec := n.recordAbout(r)
	rec.Kind, rec.Probe, rec.Result, rec.Message = trace.ProbeExecuted, r.probe().probe, trace.Error, why
	n.first.probed(&rec)
	n.driver.recorder.add(rec)
}

var erroredEvent = regexp.MustCompile(`^(Liveness|Readiness|Startup) probe errored and resulted in unknown state: (.*)`)

// unsentProbe parses an event about such a run. An event about a command that failed has an error
// of the runtime instead.
func unsentProbe(event string) (key, why string, ok bool) {
	m := erroredEvent.FindStringSubmatch(event)
	if m == nil || strings.HasPrefix(m[2], "rpc error: ") || m[2] == errRunEnded.Error() {
		return "", "", false
	}
	return strings.ToLower(m[1]), m[2], true
}

// request submits a request to the program.
func (t *attempt) request(c fakeruntime.Call) *pending {
	c.PodUID, c.Name = string(t.uid), t.container
	c.Probe, c.Hook = whoseKey(t.key)
	if t.deadline > 0 {
		c.Timeout = t.deadline.Sub(t.driver.now())
	}
	c.Retry = c.Retry || t.retry
	return t.driver.submit(c)
}

// kubeletConn is the kubelet's end of a connection. The program's end closes it when the request
// has ended.
type kubeletConn struct {
	net.Conn
	op *pending
}

// Read returns the program's transport error instead of EOF, if there is one.
func (b *kubeletConn) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if err != io.EOF {
		return n, err
	}
	select {
	case <-b.op.done:
		if answer := b.op.op.Answer; answer != nil && answer.TransportError != "" {
			err = errors.New(answer.TransportError)
		}
	default:
	}
	return n, err
}

// Write succeeds even if the other end is closed, like a write to a socket's buffer. Read detects
// the closed connection.
func (b *kubeletConn) Write(p []byte) (int, error) {
	n, err := b.Conn.Write(p)
	if err == io.ErrClosedPipe {
		return len(p), nil
	}
	return n, err
}

// dialError returns the error of package net for a failed connection.
func dialError(addr string, err error) error {
	tcp, unknown := resolve(addr)
	if unknown != nil {
		return unknown
	}
	return &net.OpError{Op: "dial", Net: "tcp", Addr: tcp, Err: err}
}

// resolve replaces the resolver of a node without a name server, whose hosts file has only
// localhost.
func resolve(addr string) (*net.TCPAddr, error) {
	host, port, err := net.SplitHostPort(addr)
	switch _, notIP := netip.ParseAddr(host); {
	case err != nil:
		return nil, err
	case strings.ToLower(host) == "localhost":
		addr = net.JoinHostPort("127.0.0.1", port)
	case host != "" && notIP != nil:
		return nil, &net.OpError{Op: "dial", Net: "tcp",
			Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
	}
	return net.ResolveTCPAddr("tcp", addr)
}

var (
	errRefused  = os.NewSyscallError("connect", syscall.ECONNREFUSED)
	errTimedOut = os.ErrDeadlineExceeded
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

// hookClient wraps the kubelet's client for httpGet hooks.
type hookClient struct {
	*http.Client // the real one
	network      *network
}

func newHookClient(n *network, real *http.Client) *hookClient {
	real.Transport.(*http.Transport).DialContext = dialHTTP
	return &hookClient{real, n}
}

// repeatedHeader marks a request that was sent before, because the kubelet copies the request when
// it sends it again.
const repeatedHeader = "Probesim-Repeated"

// Do makes the request with the real client, and passes the requester to the transport. In a
// kubelet that is cut off it does not return.
func (h *hookClient) Do(req *http.Request) (*http.Response, error) {
	h.network.driver.blockIfCut()
	c := &connections{attempt: attempt{network: h.network, requester: parseRequester(req.Header.Get(tagHeader))}}
	if req.Header.Get(repeatedHeader) != "" {
		c.follows = true
	}
	sent := req.Clone(context.WithValue(req.Context(), connectionsKey{}, c))
	sent.Header.Del(tagHeader)
	sent.Header.Del(repeatedHeader)
	req.Header.Set(repeatedHeader, "once")
	res, err := h.Client.Do(sent)
	h.network.driver.blockIfCut()
	return res, err
}
