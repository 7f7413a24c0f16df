package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/internal/world/router"
	"probesim.dev/kube/profile"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// delays are 10 ms for a watch and 100 ms for a sync.
type delays struct{}

func (delays) Watch(string, store.Change) time.Duration              { return 10 * time.Millisecond }
func (delays) Call(string, string, store.Kind, string) time.Duration { return 0 }
func (delays) Schedule(string) time.Duration                         { return 0 }
func (delays) Sync(string) time.Duration                             { return 100 * time.Millisecond }

func (delays) Draw(_ string, least, most time.Duration) time.Duration { return (least + most) / 2 }

// slice returns the slice of a Service: pods are ready, those with a minus are not, and those with
// a plus terminate and serve.
func slice(pods string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-0",
		Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}}
	for _, name := range strings.Fields(pods) {
		ready, terminating := !strings.HasSuffix(name, "-") && !strings.HasSuffix(name, "+"),
			strings.HasSuffix(name, "+")
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			TargetRef: &v1.ObjectReference{Namespace: "ns", Name: strings.TrimRight(name, "+-")},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: ptr.To(ready || terminating),
				Terminating: &terminating},
		})
	}
	return s
}

// routes returns when a router changes its targets if the slice of a Service is written at these
// times.
func routes(t *testing.T, p profile.Profile, start func(*controller.Env), writes map[time.Duration]string) []string {
	t.Helper()
	s, recorder := sim.New(sim.Options{}), &trace.Recorder{}
	defer s.Close()
	now := func() time.Time { return time.Unix(0, 0).Add(s.Now().Offset()) }
	api := apiserver.New(apiserver.Options{Sim: s, Trace: recorder, Profile: p, Now: now})
	start(&controller.Env{Sim: s, API: api, Trace: recorder, Profile: p, Now: now, Delays: delays{}})
	for at, pods := range writes {
		s.At(virtual.At(at), "write", func() {
			_, err := api.CreateObject(store.EndpointSlices, slice(pods))
			if err != nil {
				_, err = api.UpdateObject(store.EndpointSlices, slice(pods))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := s.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range recorder.Records() {
		if r.Kind != trace.RoutesChanged {
			continue
		}
		var pods []string
		for _, e := range r.Object.Endpoints {
			pods = append(pods, trace.PodName(strings.TrimPrefix(e.Pod, "ns/")))
		}
		got = append(got, fmt.Sprint(r.T, " ", strings.Join(pods, " "), " took ", r.Took))
	}
	return got
}

// kube-proxy writes a change at once if there was none for a second, and waits for the rest of the
// second after the end of the sync otherwise. Before v1.34 it makes two syncs without a wait.
func TestKubeProxy(t *testing.T) {
	const ms = time.Millisecond
	writes := map[time.Duration]string{10 * time.Second: "a b", 10*time.Second + 200*ms: "b", 10*time.Second +
		300*ms: "c", 20 * time.Second: "d"}
	for _, c := range []struct {
		version profile.Profile
		want    []string
	}{
		{profile.V1_37, []string{"10.11s a b took 100ms", "11.21s c took 1s", "20.11s d took 100ms"}},
		{profile.V1_34, []string{"10.11s a b took 100ms", "11.21s c took 1s", "20.11s d took 100ms"}},
		{profile.V1_33, []string{"10.11s a b took 100ms", "10.31s b took 100ms", "11.41s c took 1.1s",
			"20.11s d took 100ms"}},
	} {
		if got := routes(t, c.version, router.StartKubeProxy, writes); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.version.Version, got, c.want)
		}
	}
}

// Cilium gathers changes for half a second before it takes them over.
func TestGather(t *testing.T) {
	cilium, _ := router.NamedLoadBalancer("cilium")
	got := routes(t, profile.Newest(), func(env *controller.Env) {
		router.StartLoadBalancer(env, cilium.LoadBalancer)
	}, map[time.Duration]string{10 * time.Second: "a b", 10*time.Second + 400*time.Millisecond: "b",
		10*time.Second + 700*time.Millisecond: "c"})
	if want := []string{"10.61s b took 600ms", "11.31s c took 600ms"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Requests go to pods that terminate only if no other one is ready.
func TestTerminatingEndpoints(t *testing.T) {
	got := routes(t, profile.Newest(), router.StartKubeProxy, map[time.Duration]string{
		10 * time.Second: "a b", 20 * time.Second: "a+ b", 30 * time.Second: "a+ b-", 40 * time.Second: "b-",
	})
	if want := []string{"10.11s a b took 100ms", "20.11s b took 100ms", "30.11s a took 100ms",
		"40.11s  took 100ms"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A load balancer adds and removes each pod after a delay of its own. A pod that is ready again in
// time is not removed.
func TestLoadBalancer(t *testing.T) {
	start := func(env *controller.Env) {
		router.StartLoadBalancer(env, router.LoadBalancer{Name: "lb", AddLeast: 4 * time.Second,
			AddMost: 6 * time.Second, RemoveLeast: 10 * time.Second, RemoveMost: 20 * time.Second})
	}
	got := routes(t, profile.Newest(), start, map[time.Duration]string{
		10 * time.Second: "a", 11 * time.Second: "a b", 20 * time.Second: "a- b", 22 * time.Second: "a b",
		30 * time.Second: "a+ b",
	})
	if want := []string{"15.01s a took 5s", "16.01s a b took 5s", "45.01s b took 15s"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
