package fakeruntime

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/sim/virtual"
)

// A random duration lies in its range, both ends included. Without a seed it is the middle.
func TestDrawBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ends := []int64{rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")}
		slices.Sort(ends)
		d := Draw{time.Duration(ends[0]), time.Duration(ends[1])}
		seed := rapid.Int64().Draw(t, "seed")
		if got := newKey(&seed).draw(d); got < d.Min || got > d.Max {
			t.Fatalf("%d is not in %d..%d", got, d.Min, d.Max)
		}
		middle := newKey(nil).draw(d)
		if low, high := uint64(middle-d.Min), uint64(d.Max-middle); high-low > 1 {
			t.Fatalf("%d is not the middle of %d..%d", middle, d.Min, d.Max)
		}
	})
}

// Over keys that differ in one small number only, like the keys of successive requests, all values
// of a range are equally frequent.
func TestDrawsAreUniform(t *testing.T) {
	seed := int64(42)
	k := newKey(&seed).named("default").named("web")
	keys := map[string]func(i int64) key{
		"ordinals": func(i int64) key { return k.with(i) },
		"seconds":  func(i int64) key { return k.with(3).with(i * int64(time.Second)) },
		"seeds":    func(i int64) key { return newKey(&i).named("default").with(1) },
		"parents":  func(i int64) key { return k.with(i).with(7) },
		"names":    func(i int64) key { return k.named(string(rune('a' + i%26))).with(i / 26) },
	}
	const values, draws = 16, 1 << 16
	for name, keyOf := range keys {
		var counts [values]int
		repeats, last := 0, time.Duration(-1)
		hits := 0
		for i := range int64(draws) {
			n := keyOf(i).draw(Draw{0, values - 1})
			counts[n]++
			if n == last {
				repeats++
			}
			last = n
			if keyOf(i).happens(0.25) {
				hits++
			}
		}
		for n, count := range append(counts[:], repeats) {
			checkShare(t, name, n, count, draws, 1.0/values)
		}
		checkShare(t, name, -1, hits, draws, 0.25)
	}
}

// checkShare allows five standard deviations.
func checkShare(t *testing.T, name string, value, count, of int, p float64) {
	t.Helper()
	mean, deviation := float64(of)*p, math.Sqrt(float64(of)*p*(1-p))
	if math.Abs(float64(count)-mean) > 5*deviation {
		t.Errorf("%s: the value %d occurred %d times in %d, expected %.0f", name, value, count, of, mean)
	}
}

// Different names yield different values.
func TestKeysDiffer(t *testing.T) {
	seed, other := int64(1), int64(2)
	k := newKey(&seed)
	keys := []key{
		k, newKey(&other), k.with(0), k.with(1), k.with(-1), k.with(0).with(0), k.with(0).with(1), k.with(1).with(0),
		k.named(""), k.named("a"), k.named("b"), k.named("ab"), k.named("a").named("b"), k.named("").named("ab"),
		k.named("ba"),
	}
	seen := map[uint64]int{}
	for i, key := range keys {
		if j, ok := seen[key.hash]; ok {
			t.Errorf("keys %d and %d are the same", j, i)
		}
		seen[key.hash] = i
	}
	if !k.happens(1) || k.happens(0) || newKey(nil).happens(1) {
		t.Error("a chance of 1 must always come true, a chance of 0 never, and without a seed none")
	}
}

// The same name and ordinal yield the same value, and others a different one. Without a seed, the
// value is the middle.
func TestDrawn(t *testing.T) {
	seed, d := int64(5), Draw{time.Second, time.Hour}
	first := d.Drawn(&seed, "pods.web.at", 0)
	if d.Drawn(&seed, "pods.web.at", 0) != first || d.Drawn(&seed, "pods.web.at", 1) == first ||
		d.Drawn(&seed, "pods.api.at", 0) == first {
		t.Error("random durations do not depend on the name and ordinal alone")
	}
	if got := d.Drawn(nil, "pods.web.at", 0); got != (time.Second+time.Hour)/2 {
		t.Errorf("the middle is %v", got)
	}
}

// The delays by kind are in the order of the fields, each has a default, and the narrowest scope
// wins.
func TestDelays(t *testing.T) {
	defaults := DefaultDelays()
	fields := reflect.ValueOf(defaults)
	named := map[string]DelayKind{
		"RunPodSandbox": DelayRunPodSandbox, "StopPodSandbox": DelayStopPodSandbox,
		"RemovePodSandbox": DelayRemovePodSandbox,
		"PodSandboxStatus": DelayPodSandboxStatus, "ListPodSandbox": DelayListPodSandbox,
		"CreateContainer": DelayCreateContainer,
		"StartContainer":  DelayStartContainer, "StopContainer": DelayStopContainer, "StopReturn": DelayStopReturn,
		"RemoveContainer": DelayRemoveContainer,
		"ListContainers":  DelayListContainers, "ContainerStatus": DelayContainerStatus,
		"ImageStatus": DelayImageStatus,
		"ImagePull":   DelayImagePull, "VolumeMount": DelayVolumeMount, "APIGet": DelayAPIGet,
		"APIPatch":  DelayAPIPatch,
		"APIDelete": DelayAPIDelete, "Exec": DelayExec, "HTTPGet": DelayHTTPGet, "TCPSocket": DelayTCPSocket,
		"GRPC": DelayGRPC,
	}
	if fields.NumField() != len(named) || len(named) != int(DelayKinds) {
		t.Fatalf("%d fields, %d kinds, %d names", fields.NumField(), DelayKinds, len(named))
	}
	for name, kind := range named {
		if got := defaults.fields()[kind]; got == nil || got != fields.FieldByName(name).Interface() {
			t.Errorf("%s is not the delay of kind %d, or has no default", name, kind)
		}
	}
	rt := New(Options{Delays: Delays{APIGet: exactly(2), APIPatch: exactly(3), APIDelete: exactly(4)}})
	rt.AddPod(Pod{UID: "u", Name: "p", Delays: Delays{APIPatch: exactly(5), APIDelete: exactly(6)},
		Containers: map[string]ContainerConfig{
			"c": {Delays: Delays{APIDelete: exactly(7)}},
		}})
	for _, c := range []struct {
		kind           DelayKind
		pod, container string
		want           time.Duration
	}{
		{DelayVolumeMount, "u", "c", 0}, {DelayExec, "u", "c", 20 * time.Millisecond}, {DelayAPIGet, "u", "c", 2},
		{DelayAPIPatch, "u", "c", 5},
		{DelayAPIDelete, "u", "c", 7}, {DelayAPIDelete, "u", "", 6}, {DelayAPIDelete, "", "", 4},
		{DelayAPIDelete, "u", "other", 6},
	} {
		if got := rt.Delay(0, c.kind, c.pod, c.container); got != c.want {
			t.Errorf("delay %d of %q %q is %v, want %v", c.kind, c.pod, c.container, got, c.want)
		}
	}
}

func exactly(d time.Duration) *Draw {
	e := Exactly(d)
	return &e
}

// Each mount of a pod takes the same time within its range, whenever it begins.
func TestMountDelay(t *testing.T) {
	rt := New(Options{Seed: new(int64(1)), Delays: Delays{VolumeMount: &Draw{Min: 1, Max: time.Hour}}})
	rt.AddPod(Pod{UID: "a", Name: "a"})
	rt.AddPod(Pod{UID: "b", Name: "b"})
	before := rt.MountDelay("a")
	rt.Submit(virtual.At(time.Minute), Call{Method: ListImages})
	if after := rt.MountDelay("a"); after != before || rt.MountDelay("b") == before {
		t.Errorf("mounts of a pod take %v and %v, of another %v", before, after, rt.MountDelay("b"))
	}
}
