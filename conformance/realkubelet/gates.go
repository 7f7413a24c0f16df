package realkubelet

import (
	"maps"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/kube/profile"
)

// supportedGates returns the feature gates that the release has, without those that it locks to
// another value.
func supportedGates(gates map[string]bool) map[string]bool {
	has, kept := utilfeature.DefaultMutableFeatureGate.GetAll(), maps.Clone(gates)
	maps.DeleteFunc(kept, func(name string, on bool) bool {
		spec, ok := has[featuregate.Feature(name)]
		return !ok || spec.LockToDefault && spec.Default != on
	})
	return kept
}

// setGates sets the feature gates that the release has. They are global, so setGates also returns a
// function that resets them. It returns the simulator's profile of the release with these gates,
// for the fake API server.
func setGates(gates map[string]bool) (p profile.Profile, restore func(), err error) {
	p, ok := profile.Named(release.Version)
	if !ok {
		p = profile.Newest()
	}
	before, set := map[string]bool{}, map[string]bool{}
	for name, on := range gates {
		if with, err := p.SetGate(name, on); err == nil {
			p, set[name], before[name] = with, on, utilfeature.DefaultFeatureGate.Enabled(featuregate.Feature(name))
		}
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(set); err != nil {
		return p, nil, err
	}
	return p, func() { _ = utilfeature.DefaultMutableFeatureGate.SetFromMap(before) }, nil
}
