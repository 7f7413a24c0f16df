// Package probesim is the root of the module. The packages to import and to run lie below it.
//
// probesim runs a Pod's liveness, readiness and startup probes through kubelet logic on a virtual
// clock, against a fake container runtime whose containers follow a script, and says what the
// kubelet does: when each probe runs, when the pod becomes Ready, when a container is killed,
// restarted and backed off. The same input gives the same trace, byte for byte, on every machine.
//
// From the top down; imports point only down:
//
//	cmd              the command probesim, and soak, which runs random scenarios
//	ginkgokit        scenario files as specs of a Ginkgo suite
//	internal/runner  the engine of the command: many runs, in parallel, and their output
//	explore          search over choices; shrink makes a failing scenario small
//	probetest        nodes with typed behavior and Gomega matchers, for Go tests
//	incident         recordings of clusters, and the scenarios that yield them
//	check            reports on probe settings; compare and tune
//	bounds           the limits of probe settings, as arithmetic
//	scenarios        the scenario file: load, check, plan, drive, expect; the library
//	node             one simulated node, wired and runnable
//	kubelet          sync loop, pod workers, PLEG, container lifecycle
//	prober           the probe manager and its workers
//	status           the status manager
//	apiserver        the pods API, with admission
//	fakeruntime      the container runtime and the programs in it
//	report           timelines, events, HTML, Perfetto, JUnit; why and diff
//	trace            the records of a run
//	kube             facts of Kubernetes: versions and gates, pod helpers, kubelet configuration
//	sim              the discrete-event kernel: processes, channels, time, choices
//
// conformance, which has the real kubelet, and examples are modules of their own.
// docs/architecture.md has the packages below these.
//
// The tests in internal/repotest check these and the other rules that keep runs the same
// everywhere.
package probesim
