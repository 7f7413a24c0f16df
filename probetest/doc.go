// Package probetest simulates nodes in Go tests: you add real pods to a node, let virtual time pass and assert about the
// pods with the matchers of this package, which work with Gomega.
//
// Package ginkgokit turns scenario files into Ginkgo specs.
package probetest
