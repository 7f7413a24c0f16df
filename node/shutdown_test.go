package node_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// During a shutdown of the node, the kubelet rejects new pods. A deleted pod that was rejected
// disappears even if its failure has not reached the API server yet.
func TestShutdownRejectsPods(t *testing.T) {
	for _, p := range []profile.Profile{profile.V1_34, profile.V1_36, profile.V1_37} {
		n := node.New(node.Options{Profile: p, Config: kubeletconfig.Config{ShutdownGracePeriod: 20 * time.Second}})
		defer n.Close()
		n.At(virtual.At(10*time.Second), func() {
			if !n.ShutDown() {
				t.Errorf("%s: the kubelet does not listen", p.Version)
			}
			if n.ShutDown() {
				t.Errorf("%s: ShutDown announces a second shutdown", p.Version)
			}
		})
		n.At(virtual.At(15*time.Second), func() { n.AddPod(healthy(0, 10)) })
		n.At(virtual.At(20*time.Second), func() { n.AddPod(healthy(1, 10)) })
		n.At(virtual.At(20*time.Second+time.Millisecond), func() { n.DeletePod("default", "p00001", nil) })
		if err := n.RunUntil(virtual.At(time.Minute)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for r := range n.Trace().All() {
			switch r.Kind {
			case trace.StatusPatched:
				got = append(got, fmt.Sprint(r.Pod, " ", r.Status.Phase, " ", r.Status.Reason))
			case trace.PodRemoved, trace.ContainerStarted, trace.Event:
				got = append(got, fmt.Sprint(r.Pod, " ", r.Kind, " ", r.Reason))
			}
		}
		want := []string{
			"default/p00000 Event NodeShutdown", "default/p00000 Failed NodeShutdown",
			"default/p00001 Event NodeShutdown", "default/p00001 Failed NodeShutdown", "default/p00001 PodRemoved ",
		}
		if !p.UpdateNeedsAdmission { // the kubelet syncs the deleted pod first
			want = slices.Insert(want, 3, "default/p00001 Pending ")
		}
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", p.Version, got, want)
		}
	}
}

// Without a shutdown grace period, the kubelet does not listen for shutdowns.
func TestShutdownNeedsConfig(t *testing.T) {
	n := node.New(node.Options{})
	defer n.Close()
	n.At(0, func() {
		if n.ShutDown() {
			t.Error("the kubelet listens")
		}
	})
	if err := n.RunUntil(virtual.At(time.Second)); err != nil {
		t.Fatal(err)
	}
}
