package fakeruntime

import (
	"reflect"
	"slices"
	"time"
)

// DelaySet returns the delays of a kind of node: fast, typical or slow. It sets all of them, as the
// ranges in which the latencies of such nodes lie. fakeruntime/README.md says how they were
// measured. It returns false for other names.
func DelaySet(name string) (Delays, bool) {
	set := slices.Index(delaySets, name)
	if set < 0 {
		return Delays{}, false
	}
	// The bounds are in milliseconds, for each kind of node.
	between := func(bounds ...[2]float64) *Draw {
		ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
		return &Draw{Min: ms(bounds[set][0]), Max: ms(bounds[set][1])}
	}
	type ms = [2]float64
	return Delays{
		RunPodSandbox:    between(ms{100, 350}, ms{100, 1500}, ms{1000, 8000}),
		StopPodSandbox:   between(ms{20, 100}, ms{20, 600}, ms{200, 3000}),
		RemovePodSandbox: between(ms{10, 50}, ms{10, 200}, ms{50, 1000}),
		CreateContainer:  between(ms{12, 60}, ms{12, 300}, ms{100, 5000}),
		StartContainer:   between(ms{40, 120}, ms{40, 300}, ms{150, 2500}),
		RemoveContainer:  between(ms{5, 30}, ms{5, 200}, ms{20, 1000}),
		StopContainer:    between(ms{1, 10}, ms{1, 20}, ms{5, 200}),
		StopReturn:       between(ms{10, 50}, ms{10, 150}, ms{50, 1000}),
		ListPodSandbox:   between(ms{0.4, 3}, ms{0.4, 30}, ms{10, 80}),
		ListContainers:   between(ms{0.4, 3}, ms{0.4, 30}, ms{10, 80}),
		PodSandboxStatus: between(ms{0.3, 2}, ms{0.3, 30}, ms{5, 200}),
		ContainerStatus:  between(ms{0.3, 2}, ms{0.3, 30}, ms{5, 200}),
		ImageStatus:      between(ms{0.3, 2}, ms{0.3, 10}, ms{2, 80}),
		ImagePull:        between(ms{250, 500}, ms{250, 5000}, ms{2000, 20000}),
		VolumeMount:      between(ms{0, 20}, ms{0, 300}, ms{100, 10000}),
		APIGet:           between(ms{1, 8}, ms{1, 30}, ms{20, 1000}),
		APIPatch:         between(ms{2, 8}, ms{2, 50}, ms{20, 1000}),
		APIDelete:        between(ms{4, 16}, ms{4, 50}, ms{20, 1000}),
		Exec:             between(ms{20, 60}, ms{20, 200}, ms{100, 500}),
		HTTPGet:          between(ms{0.1, 2}, ms{0.1, 20}, ms{1, 200}),
		TCPSocket:        between(ms{0.1, 1}, ms{0.1, 5}, ms{0.5, 50}),
		GRPC:             between(ms{0.5, 5}, ms{0.5, 20}, ms{1, 200}),
	}, true
}

// DelaySets returns the names of the sets, the fastest first.
func DelaySets() []string { return slices.Clone(delaySets) }

// A fast node is idle, with local disks and a simple network plugin. A typical one is in ordinary
// use. The disk, the CPU or the network plugin of a slow one is at its limit: after a boot, or
// while many pods start.
var delaySets = []string{"fast", "typical", "slow"}

// Over returns the delays of d, and those of base that d leaves nil.
func (d Delays) Over(base Delays) Delays {
	own, under := reflect.ValueOf(&d).Elem(), reflect.ValueOf(base)
	for i := range own.NumField() {
		if own.Field(i).IsNil() {
			own.Field(i).Set(under.Field(i))
		}
	}
	return d
}
