// Package probesim is the root of the module; what there is to import and to run lies below it.
//
// probesim runs a Pod's liveness, readiness and startup probes through kubelet logic on a virtual
// clock, against a fake container runtime whose containers follow a script, and says what the kubelet
// does: when each probe runs, when the pod becomes Ready, when a container is killed, restarted and
// backed off. The same input gives the same trace, byte for byte, on every machine.
//
// The arrows of the module go one way:
//
//	cmd/probesim   the command
//	scenarios      the scenario file: loading, steps, expectations; scenarios/ginkgokit for suites of Ginkgo
//	sim/node       one simulated node, wired and runnable: the Go API to import
//	sim/kubelet    sync loop, pod workers, PLEG, container lifecycle
//	prober, status, fakeruntime
//	sim            the discrete-event kernel, with sim/trace and sim/profile beside it
//
// The tests of this package hold that and the other rules that keep runs the same everywhere.
package probesim
