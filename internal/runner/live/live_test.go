//go:build unix

package live

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// servers is a directory with the servers of testdata.
var servers string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if servers, err = os.MkdirTemp("", "live"); err == nil {
			defer os.RemoveAll(servers)
			var out []byte
			if out, err = exec.Command("go", "build", "-o", servers, "./testdata/stops", "./testdata/drains",
				"./testdata/ignores").CombinedOutput(); err == nil {
				return m.Run()
			}
			err = fmt.Errorf("%w\n%s", err, out)
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	}())
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

// options run a server in a container with some fields.
func options(t *testing.T, server, fields string) Options {
	t.Helper()
	port := freePort(t)
	t.Setenv("PORT", fmt.Sprint(port))
	var c v1.Container
	if err := yaml.Unmarshal([]byte("name: app\nports: [{name: web, containerPort: 8080}]\n"+fields), &c); err != nil {
		t.Fatal(err)
	}
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{c}, TerminationGracePeriodSeconds: new(int64(20))}}
	return Options{Within: time.Minute, Command: []string{filepath.Join(servers, server)}, Pod: pod, Container: &c,
		Ports: map[int32]int{8080: port}, Runs: 2}
}

const ready = "readinessProbe: {httpGet: {path: /, port: web}, timeoutSeconds: 5}"

func measure(t *testing.T, o Options) []Run {
	t.Helper()
	runs, err := Measure(t.Context(), o)
	if err != nil || len(runs) != o.Runs {
		t.Fatalf("%d runs: %v", len(runs), err)
	}
	return runs
}

// TestStops measures a server that refuses connections at once and exits later.
func TestStops(t *testing.T) {
	for _, r := range measure(t, options(t, "stops", ready)) {
		if r.ExitCode != 3 || r.Killed || r.Refused == 0 || r.FirstRefused < 0 || r.Start <= 0 ||
			r.FirstRefused > r.Stop {
			t.Errorf("the run is %+v", r)
		}
	}
}

// TestDrains measures a server that answers all requests but the last ones, behind a hook that
// sleeps.
func TestDrains(t *testing.T) {
	for _, r := range measure(t, options(t, "drains",
		ready+"\nlifecycle: {preStop: {exec: {command: [sleep, \"0.2\"]}}}")) {
		if r.ExitCode != 0 || r.Killed || r.Answered == 0 || r.Answered < r.Refused || r.PreStop <= 0 {
			t.Errorf("the run is %+v", r)
		}
	}
}

// TestIgnores measures a server that does not react to the signal: it is killed at the end of the
// grace period, with its child.
func TestIgnores(t *testing.T) {
	o := options(t, "ignores", strings.Replace(ready, "httpGet: {path: /, port: web}", "tcpSocket: {port: 8080}", 1))
	o.Pod.Spec.TerminationGracePeriodSeconds, o.Runs = new(int64(1)), 1
	if r := measure(t, o)[0]; r.ExitCode != 137 || !r.Killed || r.Refused > 0 {
		t.Errorf("the run is %+v", r)
	}
	if out, err := exec.Command("pgrep", "-f", o.Command[0]).Output(); err == nil {
		t.Errorf("processes are left: %s", out)
	}
}

// TestCannot checks what is said of a program that does not come up, and that its processes end.
func TestCannot(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		name, server, fields, want string
		change                     func(*Options)
	}{
		{"no probe", "drains", "", "has no probe", nil},
		{"it exits", "drains", ready, "ended with exit code 1 before the probe succeeded",
			func(o *Options) { o.Command = []string{"false"} }},
		{"no program", "drains", ready, "the program does not start",
			func(o *Options) { o.Command = []string{"./no-such-program"} }},
		{"never ready", "drains", strings.Replace(ready, "path: /", "path: /never", 1), "statuscode: 503",
			func(o *Options) { o.Within = 3 * askEvery }},
		{"interrupted", "drains", ready, "context canceled", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := options(t, test.server, test.fields)
			if test.change != nil {
				test.change(&o)
			}
			ctx := t.Context()
			if test.name == "interrupted" {
				ctx = canceled
			}
			if _, err := Measure(ctx, o); err == nil ||
				!strings.Contains(err.Error(), test.want) && test.name != "never ready" {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
		})
	}
}
