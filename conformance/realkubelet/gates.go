package realkubelet

import (
	"maps"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/kube/profile"
)

// ofRelease returns those feature gates that the release has.
func ofRelease(gates map[string]bool) map[string]bool {
	has, kept := utilfeature.DefaultMutableFeatureGate.GetAll(), maps.Clone(gates)
	maps.DeleteFunc(kept, func(name string, _ bool) bool {
		_, ok := has[featuregate.Feature(name)]
		return !ok
	})
	return kept
}

// setGates sets those feature gates that the release has, which belong to the process, and returns what sets them back. It
// also returns the behaviour of the release with them, for what there is no API server.
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
