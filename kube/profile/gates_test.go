package profile

import (
	"slices"
	"strings"
	"testing"
)

// TestSetGate: every gate of every version can be turned on and off, which is another behaviour, and back to what it was.
func TestSetGate(t *testing.T) {
	for _, p := range profiles {
		for _, g := range gates {
			if !g.in(p.Version) {
				if _, err := p.SetGate(g.name, true); err == nil {
					t.Errorf("%s has %s", p.Version, g.name)
				}
				continue
			}
			was := g.on(&p)
			same, err := p.SetGate(g.name, was)
			if err != nil || same != p {
				t.Errorf("%s: %s is %t, and setting it so makes it other: %v", p.Version, g.name, was, err)
			}
			other, _ := p.SetGate(g.name, !was)
			if other == p || g.on(&other) == was {
				t.Errorf("%s: setting %s to %t changes nothing", p.Version, g.name, !was)
			}
			if back, _ := other.SetGate(g.name, was); back != p {
				t.Errorf("%s: %s cannot be set back to %t", p.Version, g.name, was)
			}
		}
		if on, off := p.CheckGates(); on != "" {
			t.Errorf("%s: %s needs %s", p.Version, on, off)
		}
	}
}

func TestGates(t *testing.T) {
	for _, p := range profiles {
		if names := p.Gates(); !slices.IsSorted(names) || slices.Contains(names, "RestartAllContainersOnContainerExits") != (p.Version != "v1.34.4") {
			t.Errorf("%s has the gates %q", p.Version, names)
		}
	}
	if _, err := V1_37_0.SetGate("X", true); err == nil || !strings.Contains(err.Error(), "ContainerRestartRules, ") {
		t.Errorf("of an unknown gate: %v", err)
	}
	p, _ := V1_37_0.SetGate("ContainerRestartRules", false)
	if on, off := p.CheckGates(); on != "RestartAllContainersOnContainerExits" || off != "ContainerRestartRules" {
		t.Errorf("%q needs %q", on, off)
	}
}
