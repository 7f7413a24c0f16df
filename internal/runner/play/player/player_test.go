//go:build linux

package player

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"probesim.dev/internal/runner/play/manifest"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// played is a pod with probes and hooks, whose program follows rules.
const played = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: web:1
    livenessProbe: {LIVENESS}
    readinessProbe: {httpGet: {path: /ready, port: PORT}}
    lifecycle: {preStop: {exec: {command: [drain]}}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  pods:
  - name: web
    containers:
    - name: app
      answers: [{name: busy, code: 503, body: busy}, {name: moved, code: 302, location: /there}]
      behavior: RULES
`

// log collects the lines of a player.
type log struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

// records returns what a player has logged.
func (l *log) records(t *testing.T) []trace.Record {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	records, err := trace.ReadAll(bytes.NewReader(l.lines.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// plannedOf returns the pod of a part.
func plannedOf(t *testing.T, part *manifest.Part) *plan.PlannedPod {
	t.Helper()
	run, err := part.Plan()
	if err != nil {
		t.Fatal(err)
	}
	planned, err := part.Planned(run)
	if err != nil {
		t.Fatal(err)
	}
	return planned
}

// start starts a player of a program, with the liveness probe of a text, and returns its log, the
// channels of its signals and its exit.
func start(t *testing.T, liveness, rules string) (p *player, l *log, signals chan os.Signal, exited chan int) {
	t.Helper()
	text := strings.NewReplacer("LIVENESS", liveness, "PORT", fmt.Sprint(freePort(t)), "RULES", rules).Replace(played)
	part := &manifest.Part{Files: map[string][]byte{"s.yaml": []byte(text)}, File: "s.yaml", Run: "s", Version: "v1.37",
		Pod: "default/web"}
	planned := plannedOf(t, part)
	began := time.Now()
	p = newPlayer(planned, "app", 2, nil)
	l, signals, exited = &log{}, make(chan os.Signal), make(chan int, 1)
	p.log, p.now = l, func() virtual.Time { return virtual.At(time.Since(began)) }
	p.exit = func(code int) {
		exited <- code
		runtime.Goexit() // a process does not go on
	}
	p.start()
	go p.loop(signals)
	return p, l, signals, exited
}

// freePort returns a port on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// settle waits until the loop has written the results of earlier requests.
func (p *player) settle() {
	done := make(chan struct{})
	p.calls <- func(virtual.Time) { close(done) }
	<-done
}

// url returns the address of a probe.
func (p *player) url(key string) string {
	for _, port := range p.ports {
		if port.Key == key {
			return fmt.Sprintf("127.0.0.1:%d", port.Number)
		}
	}
	return ""
}

// until connects until the port is open, or refuses connections.
func until(t *testing.T, address string, refused bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		if errors.Is(err, syscall.ECONNREFUSED) == refused {
			return
		}
	}
	t.Fatalf("the port is refused: %t", !refused)
}

// get asks once the port is open.
func get(t *testing.T, address string) (int, string) {
	t.Helper()
	until(t, address, false)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + "/ready")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(body)
}

// TestAnswersOverHTTP checks the answers of a program, and that its port is closed while it is
// down.
func TestAnswersOverHTTP(t *testing.T) {
	p, l, _, exited := start(t, "tcpSocket: {port: 1}",
		"[{readiness: busy}, {after: 300ms, readiness: down}, {after: 600ms, exit: 3}]")
	url := p.url("readiness")
	if code, body := get(t, url); code != 503 || body != "busy" {
		t.Errorf("the answer is %d %q", code, body)
	}
	until(t, url, true)
	if code := <-exited; code != 3 {
		t.Errorf("the exit code is %d", code)
	}
	var kinds []string
	for _, r := range l.records(t) {
		kinds = append(kinds, fmt.Sprintf("%s %s %s %s", r.Kind, r.Probe, r.Result, r.Message))
		if r.Container != "app" || r.Instance != 2 {
			t.Errorf("a record is about %s %d", r.Container, r.Instance)
		}
	}
	want := "ContainerStarted   ,Behavior readiness  1,ProbeExecuted readiness failure HTTP probe failed with " +
		"statuscode: 503,Behavior readiness  2,Behavior   3,ContainerExited   "
	if got := strings.Join(kinds, ","); got != want {
		t.Errorf("the log is %s\nwant %s", got, want)
	}
}

// TestAnswersOfOtherKinds checks the answers to probes over TCP and gRPC and to commands.
func TestAnswersOfOtherKinds(t *testing.T) {
	t.Run("tcp", func(t *testing.T) {
		p, _, _, _ := start(t, "tcpSocket: {port: 70}", "[{readiness: moved}]")
		if code, _ := get(t, p.url("readiness")); code != 302 {
			t.Errorf("the answer is %d", code)
		}
		until(t, p.url("liveness"), false)
	})
	for status, want := range map[string]string{"ok": "0 [0 0 0 0 2 8 1]", "NOT_SERVING": "0 [0 0 0 0 2 8 2]",
		"UNIMPLEMENTED": "12 []"} {
		t.Run("grpc "+status, func(t *testing.T) {
			p, _, _, _ := start(t, fmt.Sprintf("grpc: {port: %d}", freePort(t)), "[{liveness: "+status+"}]")
			until(t, p.url("liveness"), false)
			if got := healthCheck(t, p.url("liveness")); got != want {
				t.Errorf("the answer is %s, want %s", got, want)
			}
		})
	}
	t.Run("exec", func(t *testing.T) {
		p, l, _, _ := start(t, "exec: {command: [live]}", "[{liveness: fail}]")
		p.container += fmt.Sprint("-of-test-", os.Getpid()) // sockets have names of the machine
		if err := p.listenExec(); err != nil {
			t.Fatal(err)
		}
		if code := ask(p.container, "liveness"); code != 1 {
			t.Errorf("the command exits with %d", code)
		}
		if code := ask("other", "liveness"); code != 125 {
			t.Errorf("without a player, the command exits with %d", code)
		}
		p.settle()
		records := l.records(t)
		if last := records[len(records)-1]; last.Kind != trace.ProbeExecuted || last.Result != trace.Failure {
			t.Errorf("the last record is %+v", last)
		}
	})
}

// healthCheck makes a gRPC health check, and returns the status and the message.
func healthCheck(t *testing.T, address string) string {
	t.Helper()
	body := binary.BigEndian.AppendUint32([]byte{0}, 0)
	request, err := http.NewRequest(http.MethodPost, "http://"+address+"/grpc.health.v1.Health/Check",
		bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	message, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Header.Get("Grpc-Status") + response.Trailer.Get("Grpc-Status") + " " + fmt.Sprint(message)
}

// TestCallerGivesUp checks that a request which is never answered ends with its caller.
func TestCallerGivesUp(t *testing.T) {
	p, l, _, _ := start(t, "exec: {command: [live]}", "[{liveness: hang}]")
	client, server := net.Pipe()
	done := make(chan struct{})
	go func() { p.answerExec(server); close(done) }()
	fmt.Fprintln(client, "liveness")
	client.Close()
	<-done
	p.settle()
	records := l.records(t)
	if last := records[len(records)-1]; last.Kind != trace.ProbeExecuted || last.Result != trace.Failure {
		t.Errorf("the last record is %+v", last)
	}
}

// TestSignal checks that a program reacts to SIGTERM at the time of its rule. The clock is that of
// the bubble.
func TestSignal(t *testing.T) {
	part := &manifest.Part{Files: map[string][]byte{"s.yaml": []byte(stops)}, File: "s.yaml", Run: "s",
		Version: "v1.37", Pod: "default/web"}
	planned := plannedOf(t, part)
	synctest.Test(t, func(t *testing.T) {
		began, exited := time.Now(), make(chan int, 1)
		p := newPlayer(planned, "app", 0, nil)
		p.log, p.now = &log{}, func() virtual.Time { return virtual.At(time.Since(began)) }
		p.exit = func(code int) {
			exited <- code
			runtime.Goexit()
		}
		p.start()
		signals := make(chan os.Signal)
		go p.loop(signals)
		time.Sleep(3 * time.Second)
		signals <- syscall.SIGTERM
		if code := <-exited; code != 5 || time.Since(began) != 10*time.Second {
			t.Errorf("it exits with %d after %s", code, time.Since(began))
		}
	})
}

// stops is a program that takes a while to stop.
const stops = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1"}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec: {pods: [{name: web, containers: [{name: app, behavior: [{afterSigterm: 7s, exit: 5}]}]}]}
`

// TestCountStart checks that each start of a container has the next number.
func TestCountStart(t *testing.T) {
	sharedDir = t.TempDir()
	for want := range 3 {
		if n, err := countStart("app"); n != want || err != nil {
			t.Errorf("start %d has the number %d, %v", want, n, err)
		}
	}
	if n, err := countStart("other"); n != 0 || err != nil {
		t.Errorf("the first start of another container has the number %d, %v", n, err)
	}
}
