package messages

import (
	"errors"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/kubernetes/pkg/probe"
	execprobe "k8s.io/kubernetes/pkg/probe/exec"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"
	tcpprobe "k8s.io/kubernetes/pkg/probe/tcp"
	utilexec "k8s.io/utils/exec"

	"probesim.dev/internal/answers/incident/verdict"
)

const timeout = time.Second

// outcome is what a prober says about a socket.
type outcome struct {
	result  probe.Result
	message string
	err     error
}

var errNoTool = errors.New("not installed")

// probers ask a socket: those of the kubelet, and the programs that commands call. Of the latter,
// those that are not installed are left out.
var probers = []struct {
	name string
	ask  func(s *socket) outcome
}{
	{"httpGet", func(s *socket) outcome { return get("http://" + s.addr) }},
	{"httpGet with HTTPS", func(s *socket) outcome { return get("https://" + s.addr) }},
	{"tcpSocket", func(s *socket) outcome { return said(tcpprobe.New().Probe(s.host, s.port, timeout)) }},
	{"grpc", func(s *socket) outcome {
		return said(grpcprobe.New().Probe(s.host, "", s.port, timeout, grpcprobe.ProbeOptions{}))
	}},
	{"curl", command("curl -sS -f -m 1 http://ADDR/healthz")},
	{"curl --connect-timeout", command("curl -sS -f --connect-timeout 1 -m 2 http://ADDR/healthz")},
	{"curl with HTTPS", command("curl -sS -f -m 1 https://ADDR/healthz")},
	{"wget -nv", command("wget -nv -T 1 -t 1 -O - http://ADDR/healthz")},
	{"wget", command("wget -T 1 -t 1 -O - http://ADDR/healthz")},
	{"wget with HTTPS", command("wget -nv -T 1 -t 1 -O - https://ADDR/healthz")},
	{"nc", command("nc -z -v -w 1 HOST PORT")},
	{"grpc_health_probe", command("grpc_health_probe -addr=ADDR -connect-timeout=1s -rpc-timeout=1s")},
}

func said(r probe.Result, message string, err error) outcome { return outcome{r, message, err} }

func get(url string) outcome {
	r, err := http.NewRequest(http.MethodGet, url+"/healthz", nil)
	if err != nil {
		return outcome{err: err}
	}
	return said(httpprobe.New(false).Probe(r, timeout))
}

// command returns a prober that runs a command, as the kubelet takes its output.
func command(line string) func(s *socket) outcome {
	return func(s *socket) outcome {
		words := strings.Fields(s.fill(line))
		path, err := exec.LookPath(words[0])
		if err != nil {
			return outcome{err: errNoTool}
		}
		return said(execprobe.New().Probe(utilexec.New().Command(path, words[1:]...)))
	}
}

// asked is one prober that has asked one socket.
type asked struct {
	socket, prober string
	outcome
	seen
}

// askAll returns what all probers say about all sockets.
func askAll(t *testing.T) []*asked {
	var all []*asked
	var wait sync.WaitGroup
	free := make(chan bool, 8) // most of them wait for a timeout
	for _, kind := range sockets {
		for _, p := range probers {
			a, s := &asked{socket: kind.name, prober: p.name}, newSocket(t)
			kind.open(s)
			all = append(all, a)
			wait.Go(func() {
				free <- true
				a.outcome = p.ask(s)
				a.seen = s.saw()
				<-free
			})
		}
	}
	wait.Wait()
	return all
}

// TestMessages checks that what a message proves is so for each socket about which a prober says
// it, and that what is left open differs between sockets.
func TestMessages(t *testing.T) {
	type values struct{ connections, answers [2]bool }
	of := map[verdict.Class]values{}
	proved := map[verdict.Class]verdict.Known{}
	for _, a := range askAll(t) {
		if a.result == probe.Success || errors.Is(a.err, errNoTool) {
			continue
		}
		if a.err != nil { // the kubelet says it in the event
			a.message += a.err.Error()
		}
		class, known := verdict.Proves(a.message)
		t.Logf("%s: %s: %s %v, seen %v: %q", a.socket, a.prober, class, known, a.seen, a.message)
		for _, claim := range []struct {
			what  string
			known verdict.Proved
			seen  bool
		}{{"connection", known.Connection, a.connected}, {"answer", known.Answer, a.answered}} {
			if claim.known == verdict.Yes && !claim.seen || claim.known == verdict.No && claim.seen {
				t.Errorf("%s: %s says %q, of class %s, which claims of a %s: %s. The socket saw %v", a.socket, a.prober,
					a.message, class, claim.what, claim.known, a.seen)
			}
		}
		v := of[class]
		v.connections[index(a.connected)], v.answers[index(a.answered)] = true, true
		of[class], proved[class] = v, known
	}
	both := [2]bool{true, true}
	for class, v := range of {
		if k := proved[class]; k.Connection == verdict.Left && k.Answer == verdict.No && v.connections != both {
			t.Errorf("class %s leaves open whether there is a connection, and all sockets agree", class)
		}
	}
	for _, class := range []verdict.Class{verdict.NoAnswer, verdict.NoGRPC, verdict.NoHandshake, verdict.Refused,
		verdict.Dial, verdict.Reset, verdict.Timeout, verdict.TLS, verdict.WrongPath, verdict.ServerError,
		verdict.Credentials, verdict.BadRequest, verdict.NotServing, verdict.Service, verdict.OtherProtocol} {
		if _, has := of[class]; !has {
			t.Errorf("no prober says a message of class %s", class)
		}
	}
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}
