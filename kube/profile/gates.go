package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Stage is the maturity of a feature gate in a release, in the words of
// k8s.io/component-base/featuregate.
type Stage string

// The stages of feature gates.
const (
	Alpha      Stage = "ALPHA"
	Beta       Stage = "BETA"
	GA         Stage = ""
	Deprecated Stage = "DEPRECATED"
)

// Gate is a feature gate as one release has it.
type Gate struct {
	Name    string
	Stage   Stage
	Default bool
	// Locked means that the release does not let you change the gate.
	Locked bool
	// Settable means that SetGate changes the gate: the release allows it and the simulator models
	// both states.
	Settable bool
}

// gate is a row of the table of feature gates.
type gate struct {
	name   string
	field  func(*FeatureGates) *bool
	needs  string // the gate that must be on for this one to be on, in releases that have it
	before bool   // how releases without the gate behave
	fixed  bool   // the simulator models only the default of each release
	stages []stage
}

// stage is the state of a gate from a release on.
type stage struct {
	from   string
	stage  Stage
	on     bool
	locked bool
	fixed  bool // the simulator models only the default
}

// gates are all feature gates whose effect is modeled, by name, with the stages in
// pkg/features/kube_features.go at v1.37.0. The table leaves out the stages that this file lists
// for releases without the gate. They are the same at v1.38.0-beta.0, and those of v1.38-preview
// are what kubernetes/kubernetes#140704 and other pull requests plan.
var gates = []gate{
	{
		name:   "ChangeContainerStatusOnKubeletRestart",
		field:  func(f *FeatureGates) *bool { return &f.ChangeContainerStatusOnKubeletRestart },
		before: true,
		stages: []stage{{from: "v1.35", stage: Deprecated}},
	},
	{
		name:   "ContainerRestartRules",
		field:  func(f *FeatureGates) *bool { return &f.ContainerRestartRules },
		stages: []stage{{from: "v1.34", stage: Alpha}, {from: "v1.35", stage: Beta, on: true}},
	},
	{
		name:   "ContainerScopedProbes",
		field:  func(f *FeatureGates) *bool { return &f.ContainerScopedProbes },
		stages: []stage{{from: "v1.38-preview", stage: Beta, on: true}},
	},
	{
		name:   "ContainerStopSignals",
		field:  func(f *FeatureGates) *bool { return &f.ContainerStopSignals },
		stages: []stage{{from: "v1.33", stage: Alpha}},
	},
	{
		name:   "DeploymentReplicaSetTerminatingReplicas",
		field:  func(f *FeatureGates) *bool { return &f.DeploymentReplicaSetTerminatingReplicas },
		fixed:  true,
		stages: []stage{{from: "v1.33", stage: Alpha}, {from: "v1.35", stage: Beta, on: true}},
	},
	{
		name:   "GRPCContainerProbeTLS",
		field:  func(f *FeatureGates) *bool { return &f.GRPCContainerProbeTLS },
		stages: []stage{{from: "v1.37", stage: Alpha}, {from: "v1.38-preview", stage: Beta, on: true}},
	},
	{
		name:   "H2CContainerProbe",
		field:  func(f *FeatureGates) *bool { return &f.H2CContainerProbe },
		stages: []stage{{from: "v1.37", stage: Alpha}, {from: "v1.38-preview", stage: Beta, on: true}},
	},
	{
		name:   "InPlacePodLevelResourcesVerticalScaling",
		field:  func(f *FeatureGates) *bool { return &f.InPlacePodLevelResourcesVerticalScaling },
		fixed:  true,
		stages: []stage{{from: "v1.35", stage: Alpha}, {from: "v1.36", stage: Beta, on: true}},
	},
	{
		name:   "InPlacePodVerticalScalingInitContainers",
		field:  func(f *FeatureGates) *bool { return &f.InPlacePodVerticalScalingInitContainers },
		fixed:  true,
		stages: []stage{{from: "v1.36", stage: Beta, on: true}, {from: "v1.37", stage: GA, on: true, locked: true}},
	},
	{
		name:   "KubeletCrashLoopBackOffMax",
		field:  func(f *FeatureGates) *bool { return &f.KubeletCrashLoopBackOffMax },
		stages: []stage{{from: "v1.32", stage: Alpha}, {from: "v1.35", stage: Beta, on: true}},
	},
	{
		name:   "KubeletEnsureSecretPulledImages",
		field:  func(f *FeatureGates) *bool { return &f.KubeletEnsureSecretPulledImages },
		fixed:  true,
		stages: []stage{{from: "v1.33", stage: Alpha}, {from: "v1.35", stage: Beta, on: true}},
	},
	{
		name:   "MutableContainerProbes",
		field:  func(f *FeatureGates) *bool { return &f.MutableContainerProbes },
		stages: []stage{{from: "v1.38-preview", stage: Alpha}},
	},
	{
		name:   "PLEGOnDemandRelist",
		field:  func(f *FeatureGates) *bool { return &f.PLEGOnDemandRelist },
		stages: []stage{{from: "v1.36", stage: Beta, on: true}, {from: "v1.37", stage: GA, on: true, locked: true}},
	},
	{
		name:  "PodObservedGenerationTracking",
		field: func(f *FeatureGates) *bool { return &f.PodObservedGenerationTracking },
		stages: []stage{{from: "v1.33", stage: Alpha}, {from: "v1.34", stage: Beta, on: true},
			{from: "v1.35", stage: GA, on: true, locked: true}},
	},
	{
		name:   "ReduceDefaultCrashLoopBackOffDecay",
		field:  func(f *FeatureGates) *bool { return &f.ReduceDefaultCrashLoopBackOffDecay },
		stages: []stage{{from: "v1.33", stage: Alpha}},
	},
	{
		name:  "RestartAllContainersOnContainerExits",
		field: func(f *FeatureGates) *bool { return &f.RestartAllContainersOnContainerExits },
		needs: "ContainerRestartRules",
		// in v1.35 it needs NodeDeclaredFeatures
		stages: []stage{{from: "v1.35", stage: Alpha, fixed: true}, {from: "v1.36", stage: Beta, on: true}},
	},
	{
		name:   "StaleControllerConsistencyReplicaSet",
		field:  func(f *FeatureGates) *bool { return &f.StaleControllerConsistencyReplicaSet },
		fixed:  true,
		stages: []stage{{from: "v1.36", stage: Beta, on: true}},
	},
}

// at returns the stage of the gate in a release, nil if the release does not have the gate.
func (g *gate) at(v release) *stage {
	var found *stage
	for i := range g.stages {
		if v.atLeast(g.stages[i].from) {
			found = &g.stages[i]
		}
	}
	return found
}

// Gates returns the feature gates that the release has and whose effect is modeled, by name.
func (p Profile) Gates() []Gate {
	var all []Gate
	v, ok := parseRelease(cmp.Or(p.Patch, p.Version))
	if !ok {
		return nil // no release
	}
	for _, g := range gates {
		if s := g.at(v); s != nil {
			all = append(all, Gate{Name: g.name, Stage: s.stage, Default: s.on, Locked: s.locked, Settable: !s.locked &&
				!g.fixed && !s.fixed})
		}
	}
	return all
}

// settable returns the names of the gates that SetGate changes.
func (p Profile) settable() []string {
	var names []string
	for _, g := range p.Gates() {
		if g.Settable {
			names = append(names, g.Name)
		}
	}
	return names
}

// SetGate returns the profile with a feature gate turned on or off. It returns an error if the
// release does not have the gate or does not let you change it, or if the simulator models only one
// of its states.
func (p Profile) SetGate(name string, on bool) (Profile, error) {
	settable := p.settable()
	if !slices.Contains(settable, name) {
		return p, fmt.Errorf("is not a feature gate that can be set in %s; you can set %s", p.Version,
			strings.Join(settable, ", "))
	}
	for _, g := range gates {
		if g.name == name {
			*g.field(&p.FeatureGates) = on
		}
	}
	return p, nil
}

// CheckGates returns the names of a gate that is on and of a gate that it needs but that is off. A
// kubelet does not start with such gates. If there are none, both names are empty.
func (p Profile) CheckGates() (on, off string) {
	v, ok := parseRelease(cmp.Or(p.Patch, p.Version))
	if !ok {
		return "", ""
	}
	for _, g := range gates {
		for _, needed := range gates {
			if g.needs == needed.name && g.at(v) != nil && *g.field(&p.FeatureGates) &&
				!*needed.field(&p.FeatureGates) {
				return g.name, needed.name
			}
		}
	}
	return "", ""
}
