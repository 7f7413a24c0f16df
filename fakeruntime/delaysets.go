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
			RunPodSandbox: between(100, 250), StopPodSandbox: between(20, 100), RemovePodSandbox: between(10, 50),
			CreateContainer: between(12, 30), StartContainer: between(40, 80), StopContainer: between(1, 10), RemoveContainer: between(5, 30),
			ListPodSandbox: between(0.4, 2), ListContainers: between(0.4, 2), PodSandboxStatus: between(0.3, 1.5), ContainerStatus: between(0.3, 1.5),
			ImageStatus: between(0.3, 1), ImagePull: between(250, 500), VolumeMount: between(0, 20),
			APIGet: between(1, 5), APIPatch: between(2, 10), APIDelete: between(2, 10),
			Exec: between(20, 60), HTTPGet: between(0.1, 2), TCPSocket: between(0.1, 1), GRPC: between(0.5, 5),
		}
	}},
	// A node in ordinary use.
	{"typical", func() Delays {
		return Delays{
			RunPodSandbox: between(100, 1500), StopPodSandbox: between(20, 500), RemovePodSandbox: between(10, 200),
			CreateContainer: between(12, 500), StartContainer: between(40, 300), StopContainer: between(1, 50), RemoveContainer: between(5, 100),
			ListPodSandbox: between(0.4, 10), ListContainers: between(0.4, 10), PodSandboxStatus: between(0.3, 10), ContainerStatus: between(0.3, 10),
			ImageStatus: between(0.3, 5), ImagePull: between(250, 5000), VolumeMount: between(0, 300),
			APIGet: between(1, 40), APIPatch: between(2, 50), APIDelete: between(2, 50),
			Exec: between(20, 200), HTTPGet: between(0.1, 20), TCPSocket: between(0.1, 5), GRPC: between(0.5, 20),
		}
	}},
	// A node whose disk, CPU or network plugin is at its limit: after a boot, or while many pods start.
	{"slow", func() Delays {
		return Delays{
			RunPodSandbox: between(1000, 6000), StopPodSandbox: between(200, 3000), RemovePodSandbox: between(50, 1000),
			CreateContainer: between(100, 2000), StartContainer: between(150, 2000), StopContainer: between(10, 500), RemoveContainer: between(20, 1000),
			ListPodSandbox: between(5, 50), ListContainers: between(5, 50), PodSandboxStatus: between(3, 50), ContainerStatus: between(3, 50),
			ImageStatus: between(1, 20), ImagePull: between(2000, 30000), VolumeMount: between(100, 10000),
			APIGet: between(10, 500), APIPatch: between(20, 1000), APIDelete: between(20, 1000),
			Exec: between(100, 800), HTTPGet: between(1, 200), TCPSocket: between(0.5, 50), GRPC: between(1, 200),
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
