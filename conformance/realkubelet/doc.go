// Package realkubelet runs the unmodified kubelet of a Kubernetes release under virtual time: in a
// bubble of testing/synctest, over package fakeruntime and a fake API server. It writes the
// observable records of the same trace that the simulator writes for the scenario.
//
// # What is real
//
// Everything behind kubelet.NewMainKubelet and Run is real: the sync loop, the pod workers, the
// PLEG, the prober, the status manager and the rest, with their goroutines, tickers and channels.
// The kubelet's own CRI clients reach the container runtime (criclient.go).
// kubelet.go replaces the node: that runtime (cri.go), the API server (podapi.go,
// client.go, podsource.go), the recorder of events (events.go), cAdvisor, cgroups, mounts and the
// file system of containers.
//
// # Virtual time
//
// The clock of a bubble advances when all its goroutines are durably blocked: on a channel made in
// the bubble, a timer or a condition variable. A goroutine that waits for a mutex, a file or a
// channel from outside the bubble stops the clock. bubble.go, kubelet.go and node.go replace such
// waits in the kubelet. If the clock stops, send SIGQUIT to the process and look for goroutines of
// the bubble whose state lacks "durable".
//
// # What repeats
//
// At each instant the driver (driver.go) releases one event after the other, and waits for all
// consequences of an event before it releases the next. With Procs set to 1, goroutines do not
// overtake each other. Go itself randomizes the rest: which ready case a select takes, the order of
// a map, and the order of timers that are due at one instant. Pods with distinct periods and
// latencies are rarely affected. Two pods, or the sync and housekeeping ticks of the sync loop,
// often are. A trace is therefore one of several that the kubelet can produce.
package realkubelet
