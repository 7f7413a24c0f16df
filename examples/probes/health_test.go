package probes

import (
	"errors"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"

	"example.com/shop/health"
	"probesim.dev/kube/profile"
	. "probesim.dev/probetest"
	"probesim.dev/trace"
)

// The endpoints of the shop answer the probes of its Deployment.
var _ = Describe("health", func() {
	var (
		n        *Node
		database error // why the database is unreachable; nil: it is reachable
	)
	ping := func() error { return database }

	BeforeEach(func() {
		database = nil
		n = NewNode(GinkgoTB(), NodeOptions{})
	})

	// outage lets two minutes pass. The database is unreachable from 30 s to 60 s.
	outage := func() {
		n.AdvanceTo(30 * time.Second)
		database = errors.New("no route to host")
		n.AdvanceTo(60 * time.Second)
		database = nil
		n.AdvanceTo(2 * time.Minute)
	}

	It("is not ready during a database outage, and does not restart", func() {
		pods := n.AddWorkload(shop(), Behavior{"shop": {{Handler: health.Handler(ping)}}})
		outage()

		Expect(pods).To(HaveLen(3))
		Expect(pods).To(HaveReadyIntervals(
			ReadyInterval{From: BeNumerically("<", 10*time.Second),
				To: BeNumerically("~", 40*time.Second, 5*time.Second)},
			ReadyInterval{From: BeNumerically("~", 60*time.Second, 5*time.Second)},
		))
		Expect(pods).NotTo(HaveRestarted())
		Expect(pods[0]).To(HaveEvent("Unhealthy").OfType(v1.EventTypeWarning).
			WithMessage("Readiness probe failed: HTTP probe failed with statuscode: 503").AtLeast(6))
	})

	It("restarts all pods during a database outage if the liveness probe depends on the database", func() {
		deployment := shop()
		deployment.Spec.Template.Spec.Containers[0].LivenessProbe.HTTPGet.Path = "/readyz"
		pods := n.AddWorkload(deployment, Behavior{"shop": {{Handler: health.Handler(ping)}}})
		outage()

		Expect(pods).To(HaveBeenProbed(trace.Liveness).WithResult(trace.Failure).Times(3).Between(30*time.Second,
			60*time.Second))
		Expect(pods).To(HaveBeenKilledBecauseOf("LivenessProbe").Times(1).Within(70 * time.Second))
	})

	It("gets no probes after its pod is deleted", func() {
		pods := n.AddWorkload(shop(), Behavior{"shop": {{Handler: health.Handler(ping)}, {AfterSigterm: "2s", Exit: "0"}}})
		n.Advance(time.Minute)
		pods[1].Delete()
		n.Advance(time.Minute)

		// after its preStop hook
		Expect(pods[1]).To(HaveBeenKilledBecauseOf("Deleted").Between(69*time.Second, 71*time.Second))
		Expect(pods[1]).NotTo(HaveBeenProbed(trace.Liveness).After(62 * time.Second))
		Expect(pods[0]).To(HaveBeenProbed(trace.Liveness).After(62 * time.Second))
	})

	DescribeTable("gets requests for the paths in the manifest only", func(version string) {
		n := NewNode(GinkgoTB(), NodeOptions{Kubernetes: version})
		asked := map[string]int{}
		handler := health.Handler(ping)
		pods := n.AddWorkload(shop(), Behavior{"shop": {{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked[r.URL.Path]++
			handler.ServeHTTP(w, r)
		})}}})
		n.Advance(time.Hour)

		Expect(pods).To(HaveEach(And(
			HaveBecomeReady().Times(1).Within(15*time.Second),
			Not(HaveBeenReadyBeforeStarted()),
			HaveConditionTransitions(v1.PodReady, v1.ConditionFalse, v1.ConditionTrue),
			HaveContainerStatuses(trace.ContainerStatus{Name: "shop", State: "running", Started: true, Ready: true}),
		)))
		Expect(asked).To(HaveLen(2))
	}, versions())
})

// versions returns a table entry for each supported version of Kubernetes.
func versions() []TableEntry {
	var entries []TableEntry
	for _, name := range profile.Names() {
		entries = append(entries, Entry(name, name))
	}
	return entries
}
