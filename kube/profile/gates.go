package profile

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// gate is a feature gate of Kubernetes (pkg/features/kube_features.go), and what is set with it.
type gate struct {
	name     string
	from, to string // the oldest and the newest release that has it and lets it be set; empty: as far as is known
	needs    string // the gate that must be on for this one to be, where the release has that too
	on       func(*Profile) bool
	set      func(*Profile, bool)
}

// gates are all that can be set, by name.
var gates = []gate{
	{
		name: "ChangeContainerStatusOnKubeletRestart", from: "v1.36.3",
		on:  func(p *Profile) bool { return !p.KeptOnKubeletRestart },
		set: func(p *Profile, on bool) { p.KeptOnKubeletRestart, p.StartedCarriedOver = !on, !on },
	},
	{
		name: "ContainerRestartRules",
		on:   func(p *Profile) bool { return p.ContainerRestartRules },
		set:  func(p *Profile, on bool) { p.ContainerRestartRules, p.WorkerEndsWithLastExit = on, on },
	},
	{
		name: "ContainerStopSignals",
		on:   func(p *Profile) bool { return p.StopSignals },
		set:  func(p *Profile, on bool) { p.StopSignals = on },
	},
	{
		name: "GRPCContainerProbeTLS", from: "v1.37.0",
		on:  func(p *Profile) bool { return p.GRPCProbeTLS },
		set: func(p *Profile, on bool) { p.GRPCProbeTLS = on },
	},
	{
		name: "H2CContainerProbe", from: "v1.37.0",
		on:  func(p *Profile) bool { return p.H2CProbe },
		set: func(p *Profile, on bool) { p.H2CProbe = on },
	},
	{
		name: "KubeletCrashLoopBackOffMax",
		on:   func(p *Profile) bool { return p.CrashLoopBackOffMaxInConfig },
		set:  func(p *Profile, on bool) { p.CrashLoopBackOffMaxInConfig = on },
	},
	{
		name: "PLEGOnDemandRelist", from: "v1.36.3", to: "v1.36.3",
		on:  func(p *Profile) bool { return p.OnDemandRelist },
		set: func(p *Profile, on bool) { p.OnDemandRelist = on },
	},
	{
		name: "ReduceDefaultCrashLoopBackOffDecay",
		on:   func(p *Profile) bool { return p.CrashLoopBackOffInitial == time.Second },
		set: func(p *Profile, on bool) {
			p.CrashLoopBackOffInitial, p.CrashLoopBackOffMax = 10*time.Second, 300*time.Second
			if on {
				p.CrashLoopBackOffInitial, p.CrashLoopBackOffMax = time.Second, time.Minute
			}
		},
	},
	{
		name: "RestartAllContainersOnContainerExits", from: "v1.36.3", needs: "ContainerRestartRules",
		on: func(p *Profile) bool { return p.RestartAllContainers },
		set: func(p *Profile, on bool) {
			p.RestartAllContainers, p.RemovedInstanceKept, p.InitializedKept = on, on, on
		},
	},
}

// in reports whether a release has the gate.
func (g *gate) in(version string) bool {
	names := Names()
	i := slices.Index(names, version)
	if i < 0 {
		i = len(names) - 1
	}
	return (g.from == "" || i >= slices.Index(names, g.from)) && (g.to == "" || i <= slices.Index(names, g.to))
}

// Gates returns the names of the feature gates of the version that SetGate knows, in order.
func (p Profile) Gates() []string {
	var names []string
	for _, g := range gates {
		if g.in(p.Version) {
			names = append(names, g.name)
		}
	}
	return names
}

// SetGate returns the behaviour with a feature gate turned on or off. It fails if the version does not have the gate, or if
// the simulator cannot do without what it does, or with it.
func (p Profile) SetGate(name string, on bool) (Profile, error) {
	if !slices.Contains(p.Gates(), name) {
		return p, fmt.Errorf("is no feature gate of %s that is known here: known are %s", p.Version, strings.Join(p.Gates(), ", "))
	}
	for _, g := range gates {
		if g.name == name {
			g.set(&p, on)
		}
	}
	return p, nil
}

// CheckGates returns the gate that is on and the one that is off although the first needs it, if there are two such: a
// kubelet does not start with them.
func (p Profile) CheckGates() (on, off string) {
	for _, g := range gates {
		for _, needed := range gates {
			if g.needs == needed.name && g.in(p.Version) && g.on(&p) && !needed.on(&p) {
				return g.name, needed.name
			}
		}
	}
	return "", ""
}
