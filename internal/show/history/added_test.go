package history

import (
	"testing"
	"time"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// TestAddedLater checks that a container which an earlier status does not have, such as an
// ephemeral container, was added with its first record.
func TestAddedLater(t *testing.T) {
	at := func(s int) virtual.Time { return virtual.At(time.Duration(s) * time.Second) }
	status := func(names ...string) *trace.PodStatus {
		s := &trace.PodStatus{}
		for _, name := range names {
			s.Containers = append(s.Containers,
				trace.ContainerStatus{Name: name, State: "waiting", Reason: "ContainerCreating"})
		}
		return s
	}
	h := Read([]trace.Record{
		{T: at(0), Kind: trace.PodAdded, Pod: "ns/web"},
		{T: at(1), Kind: trace.StatusPatched, Pod: "ns/web", Status: status("app", "log")},
		{T: at(30), Kind: trace.ImagePullStarted, Pod: "ns/web", Container: "debugger"},
		{T: at(31), Kind: trace.StatusPatched, Pod: "ns/web", Status: status("app", "log", "debugger")},
	}, at(40))
	for i, want := range []virtual.Time{0, 0, at(30)} {
		c := h.Pods[0].Containers[i]
		if c.Added != want {
			t.Errorf("%s was added at %v, want %v", c.Name, c.Added, want)
		}
	}
	if life := h.Pods[0].Containers[2].Life(h.Pods[0], at(40)); len(life) != 1 || life[0].From != at(30) {
		t.Errorf("life %+v, want one stretch from 30s", life)
	}
}
