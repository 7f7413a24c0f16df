// Package probesim is the root of the module; what there is to import and to run lies below it.
//
// probesim runs a Pod's liveness, readiness and startup probes through kubelet logic on a virtual
// clock, against a fake container runtime whose containers follow a script, and says what the kubelet
// does: when each probe runs, when the pod becomes Ready, when a container is killed, restarted and
// backed off. The same input gives the same trace, byte for byte, on every machine.
//
// From the top down, and imports point only down:
//
//	cmd/probesim    the command
//	explore         search over choices; shrink makes a failing scenario small
//	ginkgokit       Ginkgo specs from scenario files, nodes by program, Gomega matchers
//	scenarios       the scenario file: load, check, plan, drive, expect; the library
//	node            one simulated node, wired and runnable: the Go API to import
//	kubelet         sync loop, pod workers, PLEG, container lifecycle
//	prober          the probe manager and its workers
//	status          the status manager
//	apiserver       the pods API, with admission
//	fakeruntime     the container runtime and the programs in it
//	report          timelines, events, HTML, Perfetto, JUnit; why and diff
//	trace           the records of a run
//	kube            facts of Kubernetes: versions and gates, pod helpers, kubelet configuration
//	sim             the discrete-event kernel: processes, channels, time, choices
//
// The tests in internal/repotest check these and the other rules that keep runs the same everywhere.
package probesim
