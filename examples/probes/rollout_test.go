package probes

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "probesim.dev/probetest"
)

// A new version of the shop under 200 requests a second. The program closes its listener at
// SIGTERM, and ends 3 s later.
var _ = Describe("a rollout", func() {
	var (
		n       *Node
		service *Service
	)

	// rollOut rolls a new image of a Deployment out.
	rollOut := func(d *appsv1.Deployment) *Deployment {
		n = NewNode(GinkgoTB(), NodeOptions{ControlPlane: &ControlPlane{}})
		shop := n.AddDeployment(d, Behavior{"shop": {
			{For: "8s", Probes: "down"},
			{AfterSigterm: "0s", Refuse: true},
			{AfterSigterm: "3s", Exit: "0"},
		}})
		service = n.AddService(&v1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "shop"},
			Spec:       v1.ServiceSpec{Selector: d.Spec.Selector.MatchLabels, Ports: []v1.ServicePort{{Port: 80}}},
		}, Requests{Rate: 200, Least: 20 * time.Millisecond, Most: 80 * time.Millisecond})
		n.AdvanceTo(time.Minute)
		shop.Update(func(spec *appsv1.DeploymentSpec) {
			spec.Template.Spec.Containers[0].Image = "registry.example.com/shop:2.7.2"
		})
		n.Advance(5 * time.Minute)
		AddReportEntry("node", n, ReportEntryVisibilityFailureOrVerbose)
		return shop
	}

	It("loses no request, since preStop sleeps", func() {
		shop := rollOut(shop())
		Expect(service).To(HaveLostRequests(0))
		Expect(shop).To(HaveRolledOutWithin(2 * time.Minute))
		Expect(shop).To(HaveKeptReady(3))
		Expect(shop.Pods()).NotTo(HaveRestarted())
	})

	It("loses many without the sleep, and few with minReadySeconds", func() {
		deployment := shop()
		deployment.Spec.Template.Spec.Containers[0].Lifecycle = nil
		rollOut(deployment)
		Expect(service).To(HaveLostRequests(BeNumerically(">", 100)))

		deployment.Spec.MinReadySeconds = 2
		rollOut(deployment)
		Expect(service).To(HaveLostRequests(BeNumerically("<", 50)))
	})
})
