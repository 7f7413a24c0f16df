// Package random generates random scenario files. The programs of their pods start slowly, fail,
// hang, crash and refuse to stop, while people delete the pods and nodes break. A seed determines
// each file, and package scenarios loads it without errors.
//
// The files serve to compare the simulator with the real kubelet. They resemble the files that
// people write, but rare situations occur often in them. Tables in the code have the weights of all
// choices. In short:
//
//   - Runs last 1 to 20 minutes. Scenarios have 1 to 3 pods with 1 to 4 containers, most often one
//     pod with one container.
//   - All eight combinations of probes occur. Each field of a probe is left out about half the
//     time. Otherwise it has a usual value, sometimes any valid value, sometimes an unusual one: a
//     period of up to an hour, a timeout longer than the period, a failureThreshold of 100.
//   - A program has up to 5 traits, such as a slow start, an outage, regular stalls, a crash loop
//     or a slow stop. Latencies are well below, just below, at, just above and well above the
//     timeout.
//   - Two of five pods are deleted: gracefully, with a short grace period, by force, or twice.
//   - One scenario in five overrides the latencies of calls.
//   - With the option Late, there are also static pods, resizes, rules with since and endpoints,
//     replicas, crowds of 20 to 60 pods that fail or exit at the same moment, and runs of up to an
//     hour.
//   - With the option Rollouts, there are one or two Deployments instead, most often behind a
//     Service with requests, of 1 to 10 pods and with any strategy. Users change their template,
//     restart, scale, pause, resume and undo them, and delete their pods.
//
// Scenarios differ in character, not only in detail, because each scenario first draws its shares
// of crashes, deletions, unusual values and so on. Some scenarios are quiet and others are full of
// trouble.
//
// Half of all times are whole seconds, as people write them. The others, and all latencies, avoid
// round numbers, down to the nanosecond: few events coincide by accident. For the same reason, most
// containers have a different latency for each probe.
package random
