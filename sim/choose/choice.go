// Package choose says what a choice in a run of package sim is, and holds the policies that make them: drawn
// from a seed, replayed from a list, and recorded. No policy at all is the canonical one.
package choose

import "strings"

// Kind says what is chosen.
type Kind string

const (
	Next       Kind = "next"       // this timer or process goes first among the enabled
	SelectCase Kind = "select"     // which of the ready cases of a select
	Preemption Kind = "preemption" // 1: what is enabled goes first; 2: all else of the instant does; from 3: one that is enabled
	Order      Kind = "order"      // which item of a walk without an order comes next
	Race       Kind = "race"       // how a race ends that is not worth processes of its own
	Jitter     Kind = "jitter"     // a fraction from 0 to below 1
)

// Choice identifies a decision by what it is about and how often that was decided before, not by its
// place in a list, so that it still means the same in a run that differs elsewhere.
type Choice struct {
	Kind    Kind
	Key     string // a process, a timer, a preemption point, …
	Ordinal int64  // how many choices of this kind and key came before; for Next: how often Key ran before
}

// JitterSource is a reason to draw a jitter, as "start of ". The key of the choice is the source followed by its
// drawer: the name of the process or object that draws.
type JitterSource string

// Drawer returns the drawer in the key of a choice, and false if the choice is no jitter of this source.
func (s JitterSource) Drawer(c Choice) (string, bool) {
	drawer, ok := strings.CutPrefix(c.Key, string(s))
	return drawer, ok && c.Kind == Jitter
}

// Chooser decides. It must be a function of what it is asked, in order, alone.
type Chooser interface {
	// Choose picks one of n alternatives, n at least 2. 0 is the canonical one.
	Choose(c Choice, n int) int
	// Next picks which of the candidates goes first; 0 is the canonical one. The slice is valid only
	// during the call.
	Next(candidates []Choice) int
	// Fraction picks a number from 0 to below 1. 0.5 is the canonical one.
	Fraction(c Choice) float64
}
