// Package ginkgokit turns scenario files into specs of a Ginkgo suite. One line makes a spec of
// each scenario in the files below a directory:
//
//	var _ = ginkgokit.DescribeScenarios("scenarios")
//
// [Satisfy] asserts that the probe settings of a manifest are enough, without a scenario:
//
//	Expect(ginkgokit.Manifest("deploy.yaml")).To(ginkgokit.Satisfy("start>=70s, stall>=15s, detect<=45s"))
//
// [Explore] finds all outcomes that a scenario can have, and [Always], [Sometimes] and [Never]
// assert over them.
//
// Package probetest has the nodes, pods and matchers for specs that you write in Go.
package ginkgokit
