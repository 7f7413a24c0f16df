package play

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/runner/play/manifest"
	"probesim.dev/sim/virtual"
)

// TestWorkloadNames checks that the objects of a Deployment have the names of the scenario in the
// trace: ReplicaSets and pods by number, in the order in which they appear.
func TestWorkloadNames(t *testing.T) {
	p := planOf(t, "manifest/testdata/everything.yaml")
	var named []string
	w := newWorld(t.Context(), func(err error) { t.Error(err) }, nil, "given", manifest.Stage{Prefix: "pabc-1-"}, p)
	w.workloads = []*workload{{Workload: p.Scenario.Deployment("default/web"), name: "pabc-1-web",
		sets: map[string]int{}, pods: map[int]int{}, program: func(pod *v1.Pod) fakeruntime.Pod {
			named = append(named, pod.Name)
			return fakeruntime.Pod{}
		}}}
	meta := func(name, owner string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Name: name, Namespace: "given"}
		if owner != "" {
			m.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, Controller: new(true)}}
		}
		return m
	}
	slice := func(pods ...string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{ObjectMeta: meta("pabc-1-web-x7z", "")}
		s.Labels = map[string]string{discoveryv1.LabelServiceName: "pabc-1-web"}
		for _, pod := range pods {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{TargetRef: &v1.ObjectReference{Name: pod}})
		}
		return s
	}
	replicas := func(name string, n int32) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{ObjectMeta: meta(name, ""), Spec: appsv1.ReplicaSetSpec{Replicas: &n}}
	}
	for i, o := range []object{
		&appsv1.Deployment{ObjectMeta: meta("pabc-1-web", "")},
		replicas("pabc-1-web-5d4f", 2),
		&v1.Pod{ObjectMeta: meta("pabc-1-web-5d4f-bbbbb", "pabc-1-web-5d4f")},
		&v1.Pod{ObjectMeta: meta("pabc-1-web-5d4f-ccccc", "pabc-1-web-5d4f")},
		replicas("pabc-1-web-6e5a", 1),
		&v1.Pod{ObjectMeta: meta("pabc-1-web-6e5a-ddddd", "pabc-1-web-6e5a")},
		slice("pabc-1-web-5d4f-ccccc"),
		replicas("pabc-1-web-5d4f", 1),
		&appsv1.Deployment{ObjectMeta: meta("pabc-1-other", "")},
		&v1.Pod{ObjectMeta: meta("pabc-1-other-5d4f-bbbbb", "pabc-1-other-5d4f")},
	} {
		if got := prefixOf(o); got != "pabc-1-" {
			t.Errorf("the prefix of %s is %q", o.GetName(), got)
		}
		w.see(virtual.At(time.Duration(i)*time.Second), watch.Modified, o)
	}
	var got []string
	for _, r := range w.records {
		text := fmt.Sprintf("%s %s %s %s", r.T, r.Kind, r.Pod, r.Object.Name)
		if r.Object.From != r.Object.To {
			text += fmt.Sprintf(" from %d to %d", r.Object.From, r.Object.To)
		}
		got = append(got, text)
	}
	want := `0s WorkloadChanged  Deployment default/web
1s WorkloadChanged  ReplicaSet default/web-1
1s Scaled  ReplicaSet default/web-1 from 0 to 2
2s PodAdded default/web-1-0 ReplicaSet default/web-1
3s PodAdded default/web-1-1 ReplicaSet default/web-1
4s WorkloadChanged  ReplicaSet default/web-2
4s Scaled  ReplicaSet default/web-2 from 0 to 1
5s PodAdded default/web-2-0 ReplicaSet default/web-2
6s EndpointsWritten  Service default/web
7s WorkloadChanged  ReplicaSet default/web-1
7s Scaled  ReplicaSet default/web-1 from 2 to 1`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("the records are\n%s\nwant\n%s", text, want)
	}
	if text := strings.Join(named, " "); text != "web-1-0 web-1-1 web-2-0" {
		t.Errorf("programs were asked for %s", text)
	}
}
