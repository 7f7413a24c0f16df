package ginkgokit_test

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/ginkgokit"
	. "probesim.dev/probetest"
)

// The settings of a manifest, and of an object that a program builds, must meet requirements.
func ExampleSatisfy() {
	_ = Describe("the probe settings", func() {
		It("are enough for a start of 70 s", func() {
			Expect(ginkgokit.Manifest("deploy.yaml")).To(ginkgokit.Satisfy("start>=70s, stall>=15s, detect<=45s"))
		})
		It("are enough on slow nodes, in each version that we run", func() {
			Expect(deployment()).To(ginkgokit.Satisfy("start>=70s").OnKubernetes("v1.34", "v1.37").WithDelays("slow"))
		})
	})
}

func deployment() *appsv1.Deployment { return &appsv1.Deployment{} }

// A spec that asserts over all outcomes of a scenario.
func ExampleExplore() {
	_ = Describe("the app", func() {
		It("is not restarted by a pause of a second, whenever it comes", func(ctx SpecContext) {
			found := ginkgokit.Explore(ctx, "scenarios/pause.yaml", "pause", ginkgokit.ExploreOptions{})
			Expect(found).To(ginkgokit.Never(ginkgokit.Stop("app", "LivenessProbe")))
			Expect(found).To(ginkgokit.Always(ginkgokit.BecomeReady("web")))
			Expect(found).NotTo(ginkgokit.Sometimes(ginkgokit.BreakInvariant("")))
		})
	})
}

// A suite with a spec for each scenario file below scenarios, and a spec in Go.
func Example() {
	_ = ginkgokit.DescribeScenarios("scenarios", Label("probes"))

	_ = Describe("the pod web", func() {
		It("restarts once after a crash", func() {
			n := NewNode(GinkgoTB(), NodeOptions{})
			pod := n.AddPod(&v1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "web"},
				Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "app", Image: "example.com/web:1.4"}}},
			}, Behavior{"app": {{Instance: "0", After: "30s", Exit: "1"}}})
			n.Advance(time.Minute)
			Expect(pod).To(HaveRestarted().Times(1))
		})
	})

	_ = func(t *testing.T) { // func TestProbes
		RegisterFailHandler(Fail)
		RunSpecs(t, "Probes")
	}
}
