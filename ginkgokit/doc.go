// Package ginkgokit brings simulated probes into suites of Ginkgo and Gomega: specs made of scenario files, a node to
// which real pods are added, and matchers for what became of them. All of it is in virtual time, which passes at once.
//
//	import . "probesim.dev/ginkgokit"
//
// # Scenario files
//
// One line makes a spec of each scenario below a folder:
//
//	var _ = DescribeScenarios("scenarios")
//
// # By program
//
// A spec makes a node, adds pods with the behavior of what runs in them, lets time pass and asserts about the pods and
// their containers:
//
//	n := NewNode(NodeOptions{})
//	DeferCleanup(n.Close)
//	web := n.AddPod(pod, Behavior{"app": {{For: "40s", Probes: "down"}}})
//	n.Advance(2 * time.Minute)
//	Expect(web).To(HaveBecomeReady().Between(40*time.Second, 50*time.Second))
//	Expect(web.Container("app")).NotTo(HaveRestarted())
//
// Matchers look at the run as far as it has come, so Eventually and Consistently have no use here: what they would wait
// for does not come by itself, and Within, Between and After are in virtual time. A matcher that is asked about something
// that is not there, a container of another name or a time that has not come, fails also with NotTo. When an assertion
// fails, the message has the records and the timeline of the pod around the moment.
//
// Nothing but DescribeScenarios needs Ginkgo: nodes and matchers work wherever Gomega does, as in a test with
// gomega.NewWithT after gomega.RegisterTestingT.
package ginkgokit
