// Package check answers whether the probe settings of manifests are enough: how long a start may
// take, which stalls a container survives, how long the kubelet needs to act on a failure, and what
// is wrong with the settings.
//
// Package bounds computes the figures from the rules of the kubelet. Short runs show the rest:
// whether a probe can run at all, when a container that never comes up starts again, and what
// happens after the deletion of the pod. A limit has two values. What stays below Always goes well
// on every node and in every phase; what exceeds Never always fails; in between, the outcome
// depends on timing. docs/limits.md derives the formulas.
//
// A Checker splits its work into tasks, which can run in parallel. Report does those that are left:
//
//	c, err := check.New([]check.File{{Name: "web.yaml", Data: data}}, check.Options{})
//	...
//	report := c.Report()
package check
