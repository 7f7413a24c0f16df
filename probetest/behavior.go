package probetest

import (
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/scenarios/format"
)

// Behavior says what the programs in the containers of a pod do. The keys are names of containers.
// A container without rules runs forever and answers every probe with ok.
type Behavior = format.Behavior

// Rule is one statement about a program: which instances it applies to, when, and what the program
// does then. See format.RuleText for the fields; they have the notation of behavior in a scenario
// file (docs/format.md). If several rules apply, the last one wins. A request that no rule covers
// gets the answer ok.
//
//	{For: "40s", Probes: "down"}                    // nothing listens in the first 40 s of each instance
//	{After: "60s", For: "6s", Liveness: "stall"}    // a garbage collection pauses the program for 6 s
//	{Instance: "0", After: "2m", Exit: "1"}         // the first instance crashes after two minutes
//	{AfterSigterm: "8s", Exit: "0"}                 // the program takes 8 s to shut down
//
// If a rule has a Handler, the simulation calls the handler on a separate goroutine and waits for
// it. A handler that panics fails the test, and the failure shows the frames of the handler. A
// handler that exceeds NodeOptions.HandlerTimeout fails the test, and the failure shows its stack.
// A panic with http.ErrAbortHandler is not a failure: it closes the connection.
type Rule = format.RuleText

// Workload is an API object that creates pods: a Pod, Deployment, StatefulSet, DaemonSet,
// ReplicaSet, Job or CronJob. See Node.AddWorkload.
type Workload = manifests.APIObject
