// Package probetest simulates Kubernetes nodes in Go tests. A test creates a node, adds pods, says
// what the programs in their containers do, lets virtual time pass, and checks the pods with the
// matchers of this package, which work with Gomega:
//
//	func TestSlowStart(t *testing.T) {
//		Expect := NewWithT(t).Expect
//		n := NewNode(t, NodeOptions{})
//		web := n.AddPod(pod, Behavior{"app": {{For: "40s", Probes: "down"}}})
//		n.Advance(2 * time.Minute)
//		Expect(web).To(HaveBecomeReady().Between(40*time.Second, 50*time.Second))
//		Expect(web.Container("app")).NotTo(HaveRestarted())
//	}
//
// A node with NodeOptions.ControlPlane also has controllers that roll Deployments out, and requests
// to their pods:
//
//	web := n.AddDeployment(deployment)
//	service := n.AddService(service, Requests{Rate: 200})
//	n.Advance(time.Minute)
//	web.Restart()
//	n.Advance(5 * time.Minute)
//	Expect(service).To(HaveLostRequests(0))
//
// MeetRequirements asserts that the probe settings of a manifest or an object are enough, without a
// node:
//
//	Expect(Manifest("deploy.yaml")).To(MeetRequirements("start>=70s, stall>=15s, detect<=45s"))
//
// In a Ginkgo spec, pass GinkgoTB() as the test. RunScenarios runs scenario files as subtests;
// package ginkgokit turns them into Ginkgo specs. This package does not depend on Ginkgo.
//
// # Time
//
// Time is virtual: a minute passes in milliseconds, and only Advance and AdvanceTo let time pass.
// All durations and times in this package are virtual, except NodeOptions.HandlerTimeout.
//
// The methods of a Node count virtual time from t=0, the creation of the node. Matchers count
// virtual time from the addition of the pod: the windows of Within, Between and After, the times of
// At, and the ends of a ReadyInterval. Both ends of a window are inclusive.
//
// # Matchers
//
// Matchers examine the run up to the current virtual time, also after the test has closed the node.
// They refuse Eventually and Consistently, since real time does not change a run. Matchers return
// an error, which fails both To and NotTo, for assertions that cannot fail or cannot hold: about a
// container or a probe the pod does not have, a reason no event has, a window that ends in the
// future, or before an action such as Kill has happened. The message of a failed assertion contains
// the records and the timeline around the relevant moment.
package probetest
