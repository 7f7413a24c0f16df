// Package choose defines the choices in a run of package sim and the policies that make them:
// [Seeded] draws choices from a seed, [Replay] repeats a list of choices, and [Recorder] records
// the choices of another policy. A run without a policy makes canonical choices.
package choose

import "strings"

// Kind is the kind of a choice.
type Kind string

const (
	Next       Kind = "next"       // which enabled timer or process goes first
	SelectCase Kind = "select"     // which ready case a select takes
	Preemption Kind = "preemption" // see sim.Proc.Preempt
	Order      Kind = "order"      // which item comes next in a walk without a defined order, such as one over a Go map
	Race       Kind = "race"       // how a race ends that the simulation does not model with processes
	Jitter     Kind = "jitter"     // a fraction from 0 to below 1
)

// Choice identifies a choice by its subject and by the number of earlier choices about the same
// subject. The identity stays the same when a run differs elsewhere.
type Choice struct {
	Kind    Kind
	Key     string // a process, a timer, a preemption point, …
	Ordinal int64  // the number of earlier choices of this kind and key; for Next, the number of earlier turns of Key
}

// JitterSource is a place in the program that draws a jitter, such as "start of ". The key of the
// choice is the source followed by the drawer, which is the name of the process or object that
// draws.
type JitterSource string

// Drawer returns the drawer in the key of a choice, and false if the choice is not a jitter of this
// source.
func (s JitterSource) Drawer(c Choice) (string, bool) {
	drawer, ok := strings.CutPrefix(c.Key, string(s))
	return drawer, ok && c.Kind == Jitter
}

// Chooser makes choices. It must be deterministic: the same questions in the same order give the
// same answers.
type Chooser interface {
	// Choose picks one of n alternatives, from 0 to n-1; n is at least 2. The canonical alternative
	// is 0.
	Choose(c Choice, n int) int
	// Next picks the candidate that goes first and returns its index. The canonical candidate is 0.
	// The slice is valid only during the call.
	Next(candidates []Choice) int
	// Fraction picks a number from 0 to below 1. The canonical number is 0.5.
	Fraction(c Choice) float64
}
