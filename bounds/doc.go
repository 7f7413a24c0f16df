// Package bounds finds the limits of a container's probe settings: how long its start may take, how long a stall it survives,
// how long the kubelet needs to act. Each limit is the least or the greatest over everything that varies from run to run.
//
// A limit is read from a run, not computed from a formula. In this run the misfortune, such as a stall, lasts for ever. The
// probe run that reaches the failure threshold decides; a misfortune that ends before that run changes nothing up to then. So
// one run gives the exact limit for one environment, and a search over environments gives the range.
package bounds
