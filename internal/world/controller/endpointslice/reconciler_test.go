package endpointslice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var web = &v1.Service{
	ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"},
	Spec: v1.ServiceSpec{Selector: map[string]string{"app": "web"},
		Ports: []v1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
}

// pod returns a Ready pod with an address, after changes.
func pod(name string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name),
			Labels: map[string]string{"app": "web"}},
		Spec: v1.PodSpec{NodeName: "node"},
		Status: v1.PodStatus{
			Phase: v1.PodRunning, PodIPs: []v1.PodIP{{IP: "10.0.0.1"}},
			Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}},
		},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func notReady(p *v1.Pod)    { p.Status.Conditions = nil }
func withoutIP(p *v1.Pod)   { p.Status.PodIPs = nil }
func ended(p *v1.Pod)       { p.Status.Phase = v1.PodSucceeded }
func terminating(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

// stored returns the slices after a plan, as the API server has them.
func stored(existing []*discoveryv1.EndpointSlice, p plan) []*discoveryv1.EndpointSlice {
	byName := map[string]*discoveryv1.EndpointSlice{}
	for _, s := range existing {
		byName[s.Name] = s
	}
	for _, s := range p.create {
		s.Name = fmt.Sprintf("web-%d", len(byName))
		byName[s.Name] = s
	}
	for _, s := range p.update {
		byName[s.Name] = s
	}
	for _, s := range p.remove {
		delete(byName, s.Name)
	}
	var list []*discoveryv1.EndpointSlice
	for i := range 10 {
		if s := byName[fmt.Sprintf("web-%d", i)]; s != nil {
			list = append(list, s)
		}
	}
	return list
}

// text shows slices: each endpoint with r, s and t if it is ready, serves and terminates.
func text(list []*discoveryv1.EndpointSlice) string {
	var all []string
	for _, s := range list {
		var endpoints []string
		for _, e := range s.Endpoints {
			name := e.TargetRef.Name + ":"
			for i, is := range []bool{*e.Conditions.Ready, *e.Conditions.Serving, *e.Conditions.Terminating} {
				if is {
					name += string("rst"[i])
				}
			}
			endpoints = append(endpoints, name)
		}
		all = append(all, s.Name+"["+strings.Join(endpoints, " ")+"]")
	}
	return strings.Join(all, " ")
}

// A pod is an endpoint from its first address until it has ended. It is ready until somebody
// deletes it, and serves while it is Ready (TestPodToEndpoint in utils_test.go of
// k8s.io/endpointslice, and TestShouldPodBeInEndpoints).
func TestEndpoints(t *testing.T) {
	pods := []*v1.Pod{
		pod("a"), pod("b", notReady), pod("c", withoutIP), pod("d", ended), pod("e", terminating),
		pod("f", terminating, notReady),
	}
	got := stored(nil, newPlan(web, pods, nil))
	if want := "web-0[a:rs b: e:st f:t]"; text(got) != want {
		t.Errorf("got %s, want %s", text(got), want)
	}
	if port := *got[0].Ports[0].Port; port != 8080 {
		t.Errorf("got port %d", port)
	}
	published := web.DeepCopy()
	published.Spec.PublishNotReadyAddresses = true
	if got, want := text(stored(nil, newPlan(published, pods[1:2], nil))), "web-0[b:r]"; got != want {
		t.Errorf("with publishNotReadyAddresses got %s, want %s", got, want)
	}
}

// A Service without endpoints has an empty slice, which is used again. What has not changed is not
// written.
func TestPlaceholder(t *testing.T) {
	list := stored(nil, newPlan(web, nil, nil))
	for _, c := range []struct {
		pods []*v1.Pod
		want string
	}{
		{nil, "web-0[]"}, {[]*v1.Pod{pod("a")}, "web-0[a:rs]"}, {[]*v1.Pod{pod("b"), pod("a")}, "web-0[a:rs b:rs]"},
		{[]*v1.Pod{pod("a", terminating), pod("b")}, "web-0[a:st b:rs]"}, {[]*v1.Pod{pod("b")}, "web-0[b:rs]"},
		{nil, "web-0[]"},
	} {
		list = stored(list, newPlan(web, c.pods, list))
		if got := text(list); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
		if again := newPlan(web, c.pods, list); len(again.create)+len(again.update)+len(again.remove) > 0 {
			t.Errorf("%s is written again", c.want)
		}
	}
}

// A slice holds 100 endpoints. New ones go to a slice with room before there is another one
// (TestReconcileEndpointSlicesSomePreexisting in reconciler_test.go of k8s.io/endpointslice).
func TestFullSlices(t *testing.T) {
	var pods []*v1.Pod
	for i := range 130 {
		pods = append(pods, pod(fmt.Sprintf("p%03d", i)))
	}
	sizes := func(list []*discoveryv1.EndpointSlice) []int {
		var n []int
		for _, s := range list {
			n = append(n, len(s.Endpoints))
		}
		return n
	}
	list := stored(nil, newPlan(web, pods[:120], nil))
	if got := sizes(list); !slices.Equal(got, []int{100, 20}) {
		t.Errorf("120 pods: %v", got)
	}
	p := newPlan(web, pods, list)
	if list = stored(list, p); !slices.Equal(sizes(list), []int{100, 30}) || len(p.update) != 1 {
		t.Errorf("10 more: %v, %d written", sizes(list), len(p.update))
	}
	if list = stored(list, newPlan(web, pods[100:], list)); !slices.Equal(sizes(list), []int{30}) {
		t.Errorf("without the first 100: %v", sizes(list))
	}
}

// The tracker knows whether the cache shows what the controller has written, and which changes are
// those of others (util/endpointslice_tracker_test.go of k8s.io/endpointslice).
func TestTracker(t *testing.T) {
	slice := func(uid types.UID, generation int64) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", UID: uid,
			Generation: generation}}
	}
	list := func(s ...*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice { return s }
	w := tracker{}
	if w.stale("ns/web", nil) || !w.changedByOthers("ns/web", slice("a", 1)) {
		t.Error("an unknown Service")
	}
	w.wrote("ns/web", "a", 2)
	for _, c := range []struct {
		name   string
		cached []*discoveryv1.EndpointSlice
		stale  bool
	}{
		{"nothing", nil, true}, {"an old one", list(slice("a", 1)), true},
		{"the written one", list(slice("a", 2)), false},
		{"a newer one", list(slice("a", 3)), false}, {"another one", list(slice("b", 1)), true},
		{"both", list(slice("a", 2), slice("b", 1)), false},
	} {
		if got := w.stale("ns/web", c.cached); got != c.stale {
			t.Errorf("%s: stale %t", c.name, got)
		}
	}
	if w.changedByOthers("ns/web", slice("a", 2)) || !w.changedByOthers("ns/web", slice("a", 3)) {
		t.Error("changes of others")
	}
	w.wrote("ns/web", "a", deletion)
	if !w.stale("ns/web", list(slice("a", 2))) || w.stale("ns/web", nil) {
		t.Error("a deleted slice")
	}
	for range 2 { // the second time, the slice is forgotten
		if w.deletedByOthers("ns/web", slice("a", 2)) {
			t.Error("the own deletion counts as one of others")
		}
	}
	w.wrote("ns/web", "c", 1)
	if !w.deletedByOthers("ns/web", slice("c", 1)) {
		t.Error("a deletion by others")
	}
}
