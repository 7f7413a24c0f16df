package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// A sidecar stops after the regular containers and the sidecars after it have stopped, or when its
// grace period is over (pkg/kubelet/kuberuntime/kuberuntime_termination_order.go at v1.37.0).
func TestTerminationOrder(t *testing.T) {
	for _, c := range []struct {
		init  string
		ends  map[string]time.Duration // time from the turn of a container to its exit
		grace int64
		want  string // time of each turn, and the seconds that count toward the grace period
	}{
		{"a* b*", map[string]time.Duration{"app": 5500 * time.Millisecond, "a": time.Second, "b": 2 * time.Second}, 30,
			"app 0s 0, b 5.5s 5, a 7.5s 7"},
		{"a* b*", map[string]time.Duration{"app": 5500 * time.Millisecond, "a": time.Second}, 30, "app 0s 0, a 5.5s 5"},
		{"a* b*", map[string]time.Duration{"a": time.Second, "b": 2 * time.Second}, 30, "b 0s 0, a 2s 2"},
		{"a*", map[string]time.Duration{"app": time.Minute, "a": time.Second}, 30, "app 0s 0, a 30s 30"},
		{"a*", map[string]time.Duration{"app": 30 * time.Second, "a": time.Second}, 30, "app 0s 0, a 30s 30"},
		{"a*", map[string]time.Duration{"app": time.Minute, "a": time.Second}, 0, "app 0s 0, a 0s 0"},
		{"a b*", map[string]time.Duration{"a": time.Minute, "b": time.Second}, 30, "a 0s 0, b 0s 0"},
		{"a", map[string]time.Duration{"app": time.Minute, "a": time.Second}, 30, "app 0s 0, a 0s 0"},
	} {
		w := sim.New(sim.Options{})
		var running []fakeruntime.Container
		var got []string
		for _, name := range []string{"app", "a", "b"} {
			if c.ends[name] > 0 {
				running = append(running, fakeruntime.Container{Name: name})
			}
		}
		order := newTerminationOrder(podWithInit(v1.RestartPolicyAlways, c.init), running)
		for _, r := range running {
			w.Go("killer of "+r.Name, func(p *sim.Proc) {
				waited := order.waitForTurn(p, r.Name, c.grace)
				got = append(got, fmt.Sprint(r.Name, " ", p.Now(), " ", waited))
				p.Sleep(c.ends[r.Name])
				order.terminated(r.Name)
			})
		}
		if err := w.RunUntil(virtual.At(time.Hour)); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s, grace period %d: %s, want %s", c.init, c.grace, text, c.want)
		}
	}
}
