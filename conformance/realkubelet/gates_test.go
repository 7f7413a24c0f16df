package realkubelet

import (
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/kube/profile"
)

// TestGateTable checks that the simulator's feature gates for this release match the feature gates
// of the release.
func TestGateTable(t *testing.T) {
	p, ok := profile.Named(release.Version)
	if !ok {
		t.Fatalf("the simulator has no profile of %s", release.Version)
	}
	known, inRelease := map[string]bool{}, utilfeature.DefaultMutableFeatureGate.GetAll()
	for _, g := range p.Gates() {
		known[g.Name] = true
		spec, ok := inRelease[featuregate.Feature(g.Name)]
		if !ok || spec.Default != g.Default || spec.LockToDefault != g.Locked ||
			string(spec.PreRelease) != string(g.Stage) {
			t.Errorf("%s: the table has %+v, the release %+v, %t", g.Name, g, spec, ok)
		}
	}
	for _, g := range profile.Newest().Gates() {
		if _, ok := inRelease[featuregate.Feature(g.Name)]; ok && !known[g.Name] {
			t.Errorf("the table does not have %s", g.Name)
		}
	}
}
