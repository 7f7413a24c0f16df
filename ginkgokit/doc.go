// Package ginkgokit turns scenario files into specs of a Ginkgo suite. One line makes a spec of each scenario
// in the files below a directory:
//
//	var _ = ginkgokit.DescribeScenarios("scenarios")
//
// Package probetest has the nodes, pods and matchers for specs that you write in Go.
package ginkgokit
