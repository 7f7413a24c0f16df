package ginkgokit

import "probesim.dev/probetest"

// Manifest is the path of a file with manifests, for Satisfy. It is relative to the directory of
// the suite.
type Manifest = probetest.Manifest

// Satisfy succeeds if the probe settings of a workload meet requirements on every node and in every
// phase, as 'probesim check --require' does. The actual value is a Manifest or an API object that
// creates pods:
//
//	Expect(ginkgokit.Manifest("deploy.yaml")).To(ginkgokit.Satisfy("start>=70s, stall>=15s, detect<=45s"))
//
// It is MeetRequirements of package probetest, which cannot have this name: Gomega has a matcher
// Satisfy too.
func Satisfy(requirements string) *probetest.MeetRequirementsMatcher {
	return probetest.MeetRequirements(requirements)
}
