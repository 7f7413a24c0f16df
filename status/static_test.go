package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/podutil"
)

// The status of a static pod goes to its mirror pod: not before there is one, and again to each new
// one, even if nothing has changed. The manager never deletes a mirror pod, and a static pod that
// has terminated has no terminal phase.
func TestStaticPod(t *testing.T) {
	w := newWorld(t)
	static := &v1.Pod{}
	static.Namespace, static.Name, static.UID = "default", "etcd-node", "static"
	static.Annotations = map[string]string{podutil.ConfigSource: podutil.FileSource, podutil.ConfigHash: "static"}
	static.Spec.Containers = []v1.Container{{Name: "etcd"}}
	w.kubelet[static.UID] = static
	mirror := func(uid types.UID) {
		m := static.DeepCopy()
		m.UID, m.Generation = uid, 1
		m.Annotations[v1.MirrorPodAnnotationKey] = "static"
		w.api[m.Name] = m
		w.mirrors[static.UID] = m
	}
	expect := func(until time.Duration, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, w.until(until)); diff != "" {
			t.Errorf("calls until %v (-want +got):\n%s", until, diff)
		}
	}
	w.SetPodStatus(static, &v1.PodStatus{Phase: v1.PodRunning})
	expect(9 * time.Second)
	mirror("first")
	expect(11*time.Second, "10s GET etcd-node", "10.01s PATCH etcd-node Running")
	mirror("second")
	expect(29*time.Second, "20s GET etcd-node", "20.01s PATCH etcd-node Running")
	now := w.api["etcd-node"].DeepCopy()
	now.DeletionTimestamp = &now.CreationTimestamp
	w.api[now.Name], w.mirrors[static.UID] = now, now
	w.TerminatePod(static)
	expect(31*time.Second, "29s GET etcd-node")
	if s, _ := w.GetPodStatus(static.UID); s.Phase != v1.PodRunning {
		t.Errorf("a static pod that has terminated is %s", s.Phase)
	}
}
