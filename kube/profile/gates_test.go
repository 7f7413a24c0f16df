package profile

import (
	"slices"
	"strings"
	"testing"
)

// TestSetGate turns every gate of every release off and on.
func TestSetGate(t *testing.T) {
	for _, p := range profiles {
		for _, g := range gates {
			field := func(p *Profile) bool { return *g.field(&p.FeatureGates) }
			if !slices.Contains(p.settable(), g.name) {
				if changed, err := p.SetGate(g.name, !field(&p)); err == nil || changed != p {
					t.Errorf("%s: %s changes, error %v", p.Version, g.name, err)
				}
				continue
			}
			def := field(&p)
			same, err := p.SetGate(g.name, def)
			if err != nil || same != p {
				t.Errorf("%s: setting %s to its default %t changes the profile, error %v", p.Version, g.name, def, err)
			}
			other, _ := p.SetGate(g.name, !def)
			if other == p || field(&other) == def {
				t.Errorf("%s: setting %s to %t changes nothing", p.Version, g.name, !def)
			}
			if back, _ := other.SetGate(g.name, def); back != p {
				t.Errorf("%s: %s cannot be set back to %t", p.Version, g.name, def)
			}
		}
		if on, off := p.CheckGates(); on != "" {
			t.Errorf("%s: %s needs %s", p.Version, on, off)
		}
	}
}

func TestSetGateUnknown(t *testing.T) {
	if _, err := V1_37.SetGate("X", true); err == nil || !strings.Contains(err.Error(), "ContainerRestartRules, ") {
		t.Errorf("error of an unknown gate: %v", err)
	}
	if _, err := (Profile{}).SetGate("ContainerRestartRules", true); err == nil {
		t.Error("the zero Profile has gates")
	}
}

func TestGates(t *testing.T) {
	for _, p := range profiles {
		list := p.Gates()
		if !slices.IsSortedFunc(list, func(a, b Gate) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s: the gates are not sorted: %+v", p.Version, list)
		}
		has := slices.ContainsFunc(list, func(g Gate) bool { return g.Name == "RestartAllContainersOnContainerExits" })
		if has == (p.Version == "v1.33" || p.Version == "v1.34") {
			t.Errorf("%s has the gates %+v", p.Version, list)
		}
	}
	for _, want := range []Gate{
		{Name: "PLEGOnDemandRelist", Stage: GA, Default: true, Locked: true},
		{Name: "KubeletEnsureSecretPulledImages", Stage: Beta, Default: true},
		{Name: "ContainerStopSignals", Stage: Alpha, Settable: true},
	} {
		if !slices.Contains(V1_37.Gates(), want) {
			t.Errorf("v1.37 does not have %+v: %+v", want, V1_37.Gates())
		}
	}
}

func TestCheckGates(t *testing.T) {
	p, _ := V1_37.SetGate("ContainerRestartRules", false)
	if on, off := p.CheckGates(); on != "RestartAllContainersOnContainerExits" || off != "ContainerRestartRules" {
		t.Errorf("%q needs %q", on, off)
	}
}
