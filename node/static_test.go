package node_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The kubelet starts a static pod, creates its mirror pod, and removes both after the manifest.
func TestStaticPod(t *testing.T) {
	n := node.New(node.Options{Config: kubeletconfig.Config{StaticPodPath: "/etc/kubernetes/manifests"}})
	defer n.Close()
	n.At(0, func() {
		if err := n.SetManifest(web(), fakeruntime.Pod{}); err != nil {
			t.Error(err)
		}
	})
	n.At(virtual.At(30*time.Second), func() {
		if err := n.RemoveManifest("default", "web-node"); err != nil {
			t.Error(err)
		}
		if err := n.RemoveManifest("default", "web-node"); !apierrors.IsNotFound(err) {
			t.Errorf("no manifest: error %v", err)
		}
	})
	if err := n.RunUntil(virtual.At(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	var got []trace.Kind
	causes := map[trace.Kind]trace.Kind{}
	records := n.Trace().Records()
	for _, r := range records {
		if r.Pod != "default/web-node" {
			t.Errorf("a record about the pod %q", r.Pod)
		}
		if !slices.Contains(got, r.Kind) {
			got = append(got, r.Kind)
			if r.Cause > 0 {
				causes[r.Kind] = records[slices.IndexFunc(records,
					func(c trace.Record) bool { return c.Step == r.Cause })].Kind
			}
		}
	}
	want := []trace.Kind{trace.Step, trace.PodAdded, trace.Event, trace.StatusPatched, trace.ContainerStarted,
		trace.ProbeExecuted,
		trace.ContainerStopping, trace.ContainerExited, trace.PodRemoved}
	if !slices.Equal(got, want) {
		t.Errorf("the first records of each kind are %v, want %v", got, want)
	}
	for _, k := range []trace.Kind{trace.PodAdded, trace.ContainerStarted, trace.ContainerStopping} {
		if causes[k] != trace.Step {
			t.Errorf("the cause of %s is %q, want the change of the manifest", k, causes[k])
		}
	}
}

func TestSetManifestErrors(t *testing.T) {
	without := node.New(node.Options{})
	defer without.Close()
	if err := without.SetManifest(web(), fakeruntime.Pod{}); !errors.Is(err, node.ErrNoStaticPods) {
		t.Errorf("a kubelet without a directory: error %v", err)
	}
	if err := without.RemoveManifest("default", "web-node"); !errors.Is(err, node.ErrNoStaticPods) {
		t.Errorf("a kubelet without a directory: error %v", err)
	}
	n := node.New(node.Options{Config: kubeletconfig.Config{StaticPodPath: "/manifests"}})
	defer n.Close()
	if err := n.SetManifest(nil, fakeruntime.Pod{}); err == nil {
		t.Error("no error for nil")
	}
	for what, change := range map[string]func(*v1.Pod){
		"a service account": func(p *v1.Pod) { p.Spec.ServiceAccountName = "web" },
		"no containers":     func(p *v1.Pod) { p.Spec.Containers = nil },
	} {
		pod := web()
		change(pod)
		if err := n.SetManifest(pod, fakeruntime.Pod{}); !apierrors.IsInvalid(err) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	program := fakeruntime.Pod{Containers: map[string]fakeruntime.ContainerConfig{"db": {}}}
	if err := n.SetManifest(web(), program); err == nil {
		t.Error("no error for a program of an unknown container")
	}
}
