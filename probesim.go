// Package probesim is the root of the module. The packages to import and to run lie below it.
//
// probesim runs a Pod's liveness, readiness and startup probes through kubelet logic on a virtual
// clock, against a fake container runtime whose containers follow a script, and shows the actions
// of the kubelet: when each probe runs, when the pod becomes Ready, when a container is killed,
// restarted and backed off. The same input gives the same trace, byte for byte, on every machine.
//
// Users import these packages; docs/api.md says what is stable:
//
//	probetest    nodes with typed behavior and Gomega matchers, for Go tests
//	ginkgokit    scenario files as specs of a Ginkgo suite
//	explore      the outcomes that a scenario can have
//	scenarios    the scenario file, and the library of scenarios
//	node         one simulated node, wired and runnable
//	kubelet      sync loop, pod workers, PLEG, container lifecycle
//	prober       the probe manager and its workers
//	status       the status manager
//	fakeruntime  the container runtime and the programs in it
//	trace        the records of a run
//	kube         facts of Kubernetes: versions and gates, kubelet configuration
//	sim          the discrete-event kernel: processes, channels, time, choices
//
// The command is cmd/probesim. Everything else is below internal, in rooms: world is around the
// kubelet, answers has a package for each question, show has the reports, and proof serves proofs
// only. conformance, which has the real kubelet, and examples are modules of their own.
// docs/architecture.md describes them all.
//
// The tests in internal/repotest check that imports point only down, and the other rules that keep
// runs the same everywhere.
package probesim
