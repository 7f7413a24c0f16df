// Package plan has scenarios as they run: the pods of each workload with the programs in their
// containers, and the runs of a scenario, one for each version of Kubernetes and seed.
package plan
