// Package scenarios loads and runs scenario files. A scenario file contains ordinary Kubernetes
// manifests and Scenario documents, which script what the containers do, what happens to the pods
// and the node, and what must hold. See docs/format.md for the format.
//
// A file goes through these packages. Each imports only those above it:
//
//   - [probesim.dev/scenarios/format] has the types of the format, such as a rule, a step and an
//     expectation.
//   - [probesim.dev/scenarios/program] compiles the rules of a container to a program for package
//     fakeruntime.
//   - [probesim.dev/scenarios/manifests] finds the workloads in manifests, and decodes them as the
//     API server does.
//   - [probesim.dev/scenarios/plan] has the scenario with its pods and programs. A plan is one run,
//     for a Kubernetes version and a seed.
//   - [probesim.dev/scenarios/validation] checks every name, reference, time and expectation, and
//     makes the pods and programs. Invalid files are rejected before anything runs, with all errors
//     listed; see [Errors].
//   - [Load] reads files, and expands the variants and ranges in them.
//
// Package scenarios/drive executes a plan in a world: it adds the pods and takes the steps at their
// times. Package scenarios/simulate drives a simulated node, and package conformance/realkubelet
// drives the real kubelet.
//
// All times are virtual. Unless its comment says otherwise, a time counts from t=0, when the run
// starts.
package scenarios
