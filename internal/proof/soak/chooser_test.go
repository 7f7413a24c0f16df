package soak

import (
	"fmt"
	"strings"
	"testing"

	"probesim.dev/sim/choose"
)

// chooser passes the questions of the kernel on and checks them: a choice has alternatives, and its
// identity is unique in the run, because a replay finds it again by its identity.
type chooser struct {
	of    choose.Chooser
	asked map[choose.Choice]bool // all choices but Next, which asks about the same turn again until the turn comes
	turns map[choose.Choice]bool // the turns of Next that were taken
	err   error                  // the first broken rule
}

func (c *chooser) Choose(asked choose.Choice, n int) int {
	c.once(asked)
	if n < 2 {
		c.broken("the kernel asks for one of %d alternatives of %v", n, asked)
	}
	got := c.of.Choose(asked, n)
	if got < 0 || got >= n {
		c.broken("the choice is %d of %d alternatives of %v", got, n, asked)
	}
	return got
}

func (c *chooser) Fraction(asked choose.Choice) float64 {
	c.once(asked)
	return c.of.Fraction(asked)
}

func (c *chooser) Next(candidates []choose.Choice) int {
	if len(candidates) < 2 {
		c.broken("the kernel asks which of %d candidates is next", len(candidates))
	}
	for i, a := range candidates {
		if c.turns[a] {
			c.broken("the turn %v comes twice", a)
		}
		for _, b := range candidates[:i] {
			if a == b {
				c.broken("two candidates have the identity %v", a)
			}
		}
	}
	i := c.of.Next(candidates)
	if c.turns == nil {
		c.turns = map[choose.Choice]bool{}
	}
	c.turns[candidates[i]] = true
	return i
}

func (c *chooser) once(asked choose.Choice) {
	if c.asked[asked] {
		c.broken("the kernel asks twice about %v", asked)
	}
	if c.asked == nil {
		c.asked = map[choose.Choice]bool{}
	}
	c.asked[asked] = true
}

func (c *chooser) broken(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("broken rule: "+format, args...)
	}
}

// fixed answers every question of the kernel with the same number.
type fixed int

func (f fixed) Choose(choose.Choice, int) int  { return int(f) }
func (f fixed) Next([]choose.Choice) int       { return int(f) }
func (f fixed) Fraction(choose.Choice) float64 { return 0.5 }

func TestChooserChecksTheKernel(t *testing.T) {
	a, b := choose.Choice{Kind: choose.Next, Key: "a"}, choose.Choice{Kind: choose.Next, Key: "b"}
	race := choose.Choice{Kind: choose.Race, Key: "r"}
	for _, test := range []struct {
		want string // "": the questions are correct
		ask  func(*chooser)
	}{
		{"", func(c *chooser) {
			c.Next([]choose.Choice{a, b})
			c.Choose(race, 2)
			c.Choose(choose.Choice{Kind: choose.Race, Key: "r", Ordinal: 1}, 2)
		}},
		{"asks which of 1 candidates", func(c *chooser) { c.Next([]choose.Choice{a}) }},
		{"two candidates have the identity", func(c *chooser) { c.Next([]choose.Choice{a, a}) }},
		{"comes twice", func(c *chooser) { c.Next([]choose.Choice{a, b}); c.Next([]choose.Choice{b, a}) }},
		{"asks twice about", func(c *chooser) { c.Choose(race, 2); c.Choose(race, 2) }},
		{"asks twice about", func(c *chooser) { c.Fraction(race); c.Fraction(race) }},
		{"asks for one of 1 alternatives", func(c *chooser) { c.Choose(race, 1) }},
		{"the choice is 2 of 2", func(c *chooser) { c.of = fixed(2); c.Choose(race, 2) }},
	} {
		c := &chooser{of: fixed(0)}
		test.ask(c)
		switch {
		case test.want == "" && c.err != nil:
			t.Errorf("correct questions give %v", c.err)
		case test.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), test.want)):
			t.Errorf("the error is %v, want one with %q", c.err, test.want)
		}
	}
}
