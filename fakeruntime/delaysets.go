package fakeruntime

import (
	"reflect"
	"time"
)

// DelaySet returns the delays of a kind of node: fast, typical or slow. It sets all of them, as the ranges in which the
// latencies of such nodes lie. docs/nodes.md describes how they were measured. It returns false for other names.
func DelaySet(name string) (Delays, bool) {
	for _, set := range delaySets {
		if set.name == name {
			return set.delays(), true
		}
	}
	return Delays{}, false
}

// DelaySets returns the names of the sets, the fastest first.
func DelaySets() []string {
	var names []string
	for _, set := range delaySets {
		names = append(names, set.name)
	}
	return names
}

var delaySets = []struct {
	name   string
	delays func() Delays
}{
	// An idle node with local disks and a simple network plugin.
	{"fast", func() Delays {
		return Delays{
			RunPodSandbox: between(100, 350), StopPodSandbox: between(20, 100), RemovePodSandbox: between(10, 50),
			CreateContainer: between(12, 60), StartContainer: between(40, 120), RemoveContainer: between(5, 30),
			StopContainer: between(1, 10), StopReturn: between(10, 50),
			ListPodSandbox: between(0.4, 3), ListContainers: between(0.4, 3), PodSandboxStatus: between(0.3, 2), ContainerStatus: between(0.3, 2),
			ImageStatus: between(0.3, 2), ImagePull: between(250, 500), VolumeMount: between(0, 20),
			APIGet: between(1, 8), APIPatch: between(2, 8), APIDelete: between(4, 16),
			Exec: between(20, 60), HTTPGet: between(0.1, 2), TCPSocket: between(0.1, 1), GRPC: between(0.5, 5),
		}
	}},
	// A node in ordinary use.
	{"typical", func() Delays {
		return Delays{
			RunPodSandbox: between(100, 1500), StopPodSandbox: between(20, 600), RemovePodSandbox: between(10, 200),
			CreateContainer: between(12, 300), StartContainer: between(40, 300), RemoveContainer: between(5, 200),
			StopContainer: between(1, 20), StopReturn: between(10, 150),
			ListPodSandbox: between(0.4, 30), ListContainers: between(0.4, 30), PodSandboxStatus: between(0.3, 30), ContainerStatus: between(0.3, 30),
			ImageStatus: between(0.3, 10), ImagePull: between(250, 5000), VolumeMount: between(0, 300),
			APIGet: between(1, 30), APIPatch: between(2, 50), APIDelete: between(4, 50),
			Exec: between(20, 200), HTTPGet: between(0.1, 20), TCPSocket: between(0.1, 5), GRPC: between(0.5, 20),
		}
	}},
	// A node whose disk, CPU or network plugin is at its limit: after a boot, or while many pods start.
	{"slow", func() Delays {
		return Delays{
			RunPodSandbox: between(1000, 8000), StopPodSandbox: between(200, 3000), RemovePodSandbox: between(50, 1000),
			CreateContainer: between(100, 5000), StartContainer: between(150, 2500), RemoveContainer: between(20, 1000),
			StopContainer: between(5, 200), StopReturn: between(50, 1000),
			ListPodSandbox: between(10, 80), ListContainers: between(10, 80), PodSandboxStatus: between(5, 200), ContainerStatus: between(5, 200),
			ImageStatus: between(2, 80), ImagePull: between(2000, 20000), VolumeMount: between(100, 10000),
			APIGet: between(20, 1000), APIPatch: between(20, 1000), APIDelete: between(20, 1000),
			Exec: between(100, 500), HTTPGet: between(1, 200), TCPSocket: between(0.5, 50), GRPC: between(1, 200),
		}
	}},
}

// between returns the range between two latencies in milliseconds.
func between(low, high float64) *Draw {
	ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
	return &Draw{Min: ms(low), Max: ms(high)}
}

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
