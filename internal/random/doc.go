// Package random makes random scenario files: pods with exec probes and programs that start slowly, fail,
// hang, crash and refuse to stop, and people who delete the pods meanwhile. Each file is a function of a
// seed, and is one that package scenarios loads.
//
// The files are for finding out where two engines differ, so they are like what people write, with
// what is rare on a node made common. Weights stand in tables beside what they weigh. In short:
//
//   - Runs last 1 to 20 minutes. There are 1 to 3 pods with 1 to 4 containers, most often one with one.
//   - Each of the eight combinations of probes occurs. Every field of a probe is left out about half the
//     time; else it is one of the usual values, sometimes any valid one, sometimes an odd one: a
//     period of up to an hour, a timeout beyond the period, a failureThreshold of 100.
//   - A program has up to 5 traits, such as a slow start, an outage, regular stalls, a crash loop, a
//     slow stop. Latencies lie well below, just beside, at and above the timeout.
//   - Two of five pods are deleted: gracefully, in a short time, by force, or twice.
//   - The calls of one scenario in five have other latencies than the usual ones.
//
// Scenarios differ in kind and not only in detail: each draws first how much it has of crashes,
// deletions, odd values and so on, so that some are calm and others wild.
//
// Half of all times are whole seconds, as people write them. The others, and all latencies, lie off round
// numbers, down to the nanosecond, so that few things fall on one instant by accident. For the same
// reason most containers take their own time to answer each probe.
package random
