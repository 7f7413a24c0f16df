package probetest

import "probesim.dev/scenarios"

// Behavior scripts the programs in the containers of a pod, by container name. A container without an entry runs
// forever and answers every probe with success.
type Behavior = scenarios.Behavior

// Rule scripts what a program does and when, in the notation of docs/format.md.
type Rule = scenarios.BehaviorRule

// Workload is an API object that creates pods; see Node.AddWorkload.
type Workload = scenarios.Object
