package probetest

import "probesim.dev/scenarios"

// Behavior scripts the programs in the containers of a pod. The keys are container names. A container without rules runs
// forever and answers every probe with ok.
type Behavior = scenarios.Behavior

// Rule is one statement about a program: which instances it applies to, when, and what the program does then.
//
// If a rule has a Handler, the simulation calls it on another goroutine than the test, and waits for it. A handler that
// panics fails the test with the frames of the handler; a handler that exceeds NodeOptions.HandlerTimeout fails it with
// its stack. http.ErrAbortHandler closes the connection and is no failure.
type Rule = scenarios.BehaviorRule

// Workload is an API object that creates pods; see Node.AddWorkload.
type Workload = scenarios.Object
