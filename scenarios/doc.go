// Package scenarios loads and runs scenario files. A scenario file contains ordinary Kubernetes manifests and Scenario
// documents, which script what the containers do, what happens to the pods and the node, and what must hold. See
// docs/format.md for the format.
//
// A file goes through four steps. The names of this package's source files begin with their step:
//
//   - load: [Load] reads files, finds manifests and scenarios in them, and decodes both.
//   - check: every name, reference, time and expectation is checked. Invalid files are rejected before anything runs,
//     with all errors listed; see [Errors].
//   - plan: [Scenario.Plans] compiles a scenario to its runs, one for each Kubernetes version and seed. A [Plan] holds
//     the pods as the API server stores them, and the programs that package fakeruntime runs in their containers.
//   - drive: [Plan.Drive] executes a plan in a [World]: it adds the pods and takes the steps at their times. Package
//     scenarios/simulate drives a simulated node, and package conformance/realkubelet drives the real kubelet.
//
// The files that begin with format declare the types of the format, such as [Spec], [Step] and [Expect].
//
// All times are virtual. Unless its comment says otherwise, a time counts from t=0, when the run starts.
package scenarios
