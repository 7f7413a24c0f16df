package probetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/types"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var update = flag.Bool("update", false, "write the messages of the matchers into testdata; read the difference")

// probe returns a probe with a command and a period of 5 s.
func probe() *v1.Probe {
	return &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"healthy"}}},
		PeriodSeconds: 5}
}

func pod(name string, containers ...v1.Container) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{Containers: containers}}
}

// fakeT is a testing.TB that collects failures.
type fakeT struct {
	testing.TB
	failures []string
}

func newFakeT(t *testing.T) *fakeT { return &fakeT{TB: t} }

func (t *fakeT) Helper() {}

func (t *fakeT) Fatalf(format string, args ...any) {
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

// FailGoroutine ends the goroutine, as FailNow of testing.T does.
func (t *fakeT) FailGoroutine() { runtime.Goexit() }

// world is a run of two minutes. The pod web starts slowly; later its liveness probe fails and it
// restarts, with a short grace period. The pod crash has two containers; the program of worker
// exits after a second.
type world struct {
	*Node
	web, crash *Pod
}

func newWorld(t *testing.T) *world {
	t.Helper()
	n := NewNode(t, NodeOptions{})
	web := pod("web", v1.Container{Name: "app", Image: "example.com/web:1", StartupProbe: probe(),
		LivenessProbe: probe(), ReadinessProbe: probe()})
	web.Spec.TerminationGracePeriodSeconds = new(int64(5))
	w := &world{Node: n}
	w.web = n.AddPod(web, Behavior{"app": {
		{For: "12s", Probes: "fail"},
		{Instance: "0", After: "40s", Liveness: "fail"},
	}})
	w.crash = n.AddPod(pod("crash", v1.Container{Name: "worker", Image: "w"}, v1.Container{Name: "helper", Image: "h"}),
		Behavior{"worker": {{After: "1s", Exit: "1"}}})
	n.Advance(2 * time.Minute)
	return w
}

// attempt is an assertion and its result.
type attempt struct {
	name    string
	actual  any
	matcher types.GomegaMatcher
	ok      bool
	err     string // the end of the error; empty: none
}

// try makes attempts and compares the failure messages of the matcher with a file in testdata.
func try(t *testing.T, attempts []attempt) {
	t.Helper()
	var b strings.Builder
	for _, a := range attempts {
		ok, err := a.matcher.Match(a.actual)
		switch {
		case a.err != "":
			if err == nil || !strings.HasSuffix(err.Error(), a.err) {
				t.Errorf("%s: the error is %v, want %q", a.name, err, a.err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), strings.TrimPrefix(t.Name(), "Test")+": ") {
				t.Errorf("%s: the error %q does not begin with the name of the matcher", a.name, err)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", a.name, err)
			continue
		case ok != a.ok:
			t.Errorf("%s: matches: %t", a.name, ok)
		}
		if !ok {
			fmt.Fprintf(&b, "== %s: To fails\n%s\n\n", a.name, withoutTimeline(a.matcher.FailureMessage(a.actual)))
		} else {
			fmt.Fprintf(&b, "== %s: NotTo fails\n%s\n\n", a.name,
				withoutTimeline(a.matcher.NegatedFailureMessage(a.actual)))
		}
	}
	golden(t, strings.TrimPrefix(t.Name(), "Test")+".txt", b.String())
}

// withoutTimeline returns the part of a message with the expectation, the result and the records.
func withoutTimeline(message string) string {
	parts := strings.SplitN(message, "\n\n", 3)
	return strings.Join(parts[:min(2, len(parts))], "\n\n")
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the output differs from %s; if the new output is right, run go test ./probetest -update:\n%s", path,
			got)
	}
}
