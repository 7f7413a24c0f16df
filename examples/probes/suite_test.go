// Package probes tests that the probes of the shop fit its behavior. No test needs a cluster or
// waits in real time.
package probes

import (
	"os"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"probesim.dev/ginkgokit"
)

func TestProbes(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Probes")
}

// One spec for each scenario in the files below the directory.
var _ = ginkgokit.DescribeScenarios("scenarios")

// shop returns the Deployment from the manifest of the team.
func shop() *appsv1.Deployment {
	GinkgoHelper()
	text, err := os.ReadFile("../deploy/shop.yaml")
	Expect(err).NotTo(HaveOccurred())
	var deployment appsv1.Deployment
	Expect(yaml.UnmarshalStrict(text, &deployment)).To(Succeed())
	return &deployment
}
