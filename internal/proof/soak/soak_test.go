package main

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"

	"probesim.dev/internal/long"
	"probesim.dev/sim/choose"
)

func TestSoakFindsNothing(t *testing.T) {
	runs, more := strconv.Itoa(long.Sample(80, 200)), strconv.Itoa(long.Sample(80, 400))
	for _, args := range [][]string{{"--runs", runs}, {"--runs", "40", "--long", "--first", "77"},
		{"--runs", runs, "--kubernetes", "v1.38-preview"},
		{"--runs", more, "--change-probes"},
		{"--runs", "40", "--first", "487"}, // it evicts a pod again while the first eviction waits
	} {
		var out bytes.Buffer
		if code := execute(t.Context(), args, &out); code != 0 || !strings.Contains(out.String(), "Nothing was found") {
			t.Errorf("soak %v exits with %d:\n%s", args, code, &out)
		}
	}
}

func TestSoakStopsOnRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	code := execute(ctx, []string{"--runs", "1000000000"}, &out)
	if code != exitInterrupted || !strings.Contains(out.String(), "Interrupted; nothing was found so far") {
		t.Errorf("soak exits with %d:\n%s", code, &out)
	}
}

func TestSoakRejectsFlags(t *testing.T) {
	for _, args := range [][]string{{"--runs", "0"}, {"--parallel", "0"}, {"--first", "-1"}, {"scenario.yaml"},
		{"--kubernetes", "v1.0.0"}} {
		if code := execute(t.Context(), args, &bytes.Buffer{}); code != exitUsage {
			t.Errorf("soak %v exits with %d", args, code)
		}
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
