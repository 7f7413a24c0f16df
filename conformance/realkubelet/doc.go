// Package realkubelet runs the kubelet of a Kubernetes release, unmodified, under virtual time: in a bubble
// of testing/synctest, over package fakeruntime and a fake API server. It writes the trace that the
// simulator writes of the same scenario, as far as records are observable.
//
// # What is real
//
// Everything below kubelet.NewMainKubelet and Run: sync loop, pod workers, PLEG, prober, status manager and
// the rest, with their own goroutines, tickers and channels. What stands in for the node is in kubelet.go:
// the container runtime (cri*.go), the API server (podapi.go, client.go, podsource.go), the recorder of
// events (events.go), cAdvisor, cgroups, mounts and the file system of containers.
//
// # Virtual time
//
// The clock of a bubble moves when all its goroutines are blocked for good: in a channel made in the bubble,
// a timer, a condition variable. A goroutine that waits for a mutex, a file or a channel from outside keeps it
// from moving. bubble.go, patches.go and node.go have what the kubelet needs for that. If the clock ever stops,
// send the process SIGQUIT and look for goroutines of the bubble whose state does not say "durable".
//
// # What repeats and what does not
//
// The driver (driver.go) lets what is due at one instant happen one by one, each when the one before has had
// all its consequences, and Procs of 1 keeps goroutines from overtaking each other. What is left is Go's own
// randomness: which ready case a select takes, in which order a map is walked, in which order timers fire
// that are due at one instant. Pods with distinct periods and latencies rarely meet it; two pods or the
// sync and housekeeping ticks of the sync loop do. So a trace is one that the kubelet can produce, of several.
package realkubelet
