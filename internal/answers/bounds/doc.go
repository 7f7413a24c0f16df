// Package bounds computes the limits of a container's probe settings: how long its start may take,
// how long a stall it survives, how long the kubelet needs to act. Each figure is a range over
// everything that varies from run to run: the latencies of the node, the phases of the ticks of the
// probes and of the relists, and the order of events at one instant.
//
// Every end is arithmetic on the settings, the version of Kubernetes and the ranges of the node's
// delays. Nothing is simulated, so a figure takes microseconds. No run passes an end; the tests of
// this package draw runs to show it. An end can be looser than the closest run by some
// milliseconds, and in rare cases by a second or more.
//
//	b, err := bounds.Of(bounds.Settings{Pod: pod, Container: "app", Profile: profile.Newest(), Delays: typical})
//	...
//	limit := b.Start(bounds.FirstInstance)
//	// A start of up to 54.9s always succeeds, and one of over 59.9s never does.
//	fmt.Println(limit.Least, limit.Greatest)
//
// The files build on those before: a container, its probes and the latencies of its node
// (container.go), the sync that starts it, the time until a sync shows the start, and the limits of
// a start (start.go), failures of a healthy container, and the time until it is ready, or is again
// (ready.go).
// docs/limits.md derives the main formulas.
package bounds
