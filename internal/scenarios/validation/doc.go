// Package validation checks a decoded scenario and adds its workloads: the pods of each entry of
// spec.pods, with their programs. It reports every name, reference, time and expectation that is
// wrong.
package validation
