package choose_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"probesim.dev/sim/choose"
)

// Each run draws the same examples, unless -rapid.seed says otherwise.
var _ = flag.Set("rapid.seed", "1")

var choices = rapid.Custom(func(t *rapid.T) choose.Choice {
	return choose.Choice{
		Kind: rapid.SampledFrom([]choose.Kind{
			choose.Next, choose.SelectCase, choose.Preemption, choose.Order, choose.Jitter,
		}).Draw(t, "kind"),
		Key:     rapid.String().Draw(t, "key"),
		Ordinal: rapid.Int64Min(0).Draw(t, "ordinal"),
	}
})

// Results are in range and depend only on the seed and the choice, not on earlier choices.
func TestSeededDependsOnSeedAndChoiceOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := choose.Seeded(rapid.Uint64().Draw(t, "seed"))
		c, n := choices.Draw(t, "choice"), rapid.IntRange(2, 300).Draw(t, "alternatives")
		v, f := s.Choose(c, n), s.Fraction(c)
		if v < 0 || v >= n || f < 0 || f >= 1 {
			t.Errorf("Choose gives %d of %d, Fraction %v", v, n, f)
		}
		other := choices.Draw(t, "another")
		s.Choose(other, n)
		s.Fraction(other)
		if s.Choose(c, n) != v || s.Fraction(c) != f {
			t.Error("the same choice has another result the second time")
		}
		candidates := []choose.Choice{c, other, choices.Draw(t, "third")}
		first := candidates[s.Next(candidates)]
		slices.Reverse(candidates)
		if got := candidates[s.Next(candidates)]; got != first {
			t.Errorf("in the reverse order %v goes first instead of %v", got, first)
		}
	})
}

// Over many choices, all alternatives are equally frequent, and one preemption point in four
// interrupts.
func TestSeededIsEven(t *testing.T) {
	const questions = 20000
	for _, c := range []struct {
		kind choose.Kind
		want []float64
	}{
		{choose.SelectCase, []float64{1. / 3, 1. / 3, 1. / 3}},
		{choose.Preemption, []float64{3./4 + 1./12, 1. / 12, 1. / 12}},
	} {
		count := make([]float64, 3)
		for i := range int64(questions) {
			count[choose.Seeded(1).Choose(choose.Choice{Kind: c.kind, Key: "k", Ordinal: i}, 3)]++
		}
		for v, want := range c.want {
			if got := count[v] / questions; math.Abs(got-want) > 0.02 {
				t.Errorf("%s: alternative %d is the result of %.3f of the choices, want %.3f", c.kind, v, got, want)
			}
		}
	}
	sum := 0.0
	for i := range int64(questions) {
		sum += choose.Seeded(1).Fraction(choose.Choice{Kind: choose.Jitter, Key: "k", Ordinal: i})
	}
	if mean := sum / questions; math.Abs(mean-0.5) > 0.01 {
		t.Errorf("fractions have a mean of %.3f", mean)
	}
}

// The seed and every part of the choice change the result.
func TestSeededUsesAllOfTheChoice(t *testing.T) {
	base := choose.Choice{Kind: choose.Jitter, Key: "requeue of pod a/b", Ordinal: 7}
	others := map[string]float64{
		"seed":    choose.Seeded(2).Fraction(base),
		"kind":    choose.Seeded(1).Fraction(choose.Choice{Kind: choose.Order, Key: base.Key, Ordinal: 7}),
		"key":     choose.Seeded(1).Fraction(choose.Choice{Kind: choose.Jitter, Key: "requeue of pod a/c", Ordinal: 7}),
		"ordinal": choose.Seeded(1).Fraction(choose.Choice{Kind: choose.Jitter, Key: base.Key, Ordinal: 8}),
	}
	for what, f := range others {
		if f == choose.Seeded(1).Fraction(base) {
			t.Errorf("another %s gives the same fraction %v", what, f)
		}
	}
}

func next(key string) choose.Choice { return choose.Choice{Kind: choose.Next, Key: key} }

func jitter(key string) choose.Choice       { return choose.Choice{Kind: choose.Jitter, Key: key} }
func interruption(key string) choose.Choice { return choose.Choice{Kind: choose.Preemption, Key: key} }

// fixed gives every choice the same result.
type fixed struct {
	value    int
	fraction float64
}

func (f fixed) Choose(choose.Choice, int) int  { return f.value }
func (f fixed) Next([]choose.Choice) int       { return f.value }
func (f fixed) Fraction(choose.Choice) float64 { return f.fraction }

// ask asks a policy for a preemption and a jitter of each key, and which key goes first. It returns
// the answers as text.
func ask(c choose.Chooser, keys ...string) []string {
	var answers []string
	var candidates []choose.Choice
	for _, k := range keys {
		answers = append(answers, fmt.Sprint(k, " ", c.Choose(interruption(k), 3), " ", c.Fraction(jitter(k))))
		candidates = append(candidates, next(k))
	}
	return append(answers, candidates[c.Next(candidates)].Key+" goes first")
}

// The recorder returns the answers of its policy and keeps those that are not canonical, in order.
func TestRecorder(t *testing.T) {
	canonical := &choose.Recorder{Of: fixed{0, 0.5}}
	ask(canonical, "a", "b")
	if len(canonical.Made) > 0 {
		t.Errorf("kept canonical choices: %v", canonical.Made)
	}
	r := &choose.Recorder{Of: fixed{1, 0.25}}
	got := ask(r, "a", "b")
	if diff := cmp.Diff([]string{"a 1 0.25", "b 1 0.25", "b goes first"}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	want := []choose.Made{
		{Choice: interruption("a"), Value: 1}, {Choice: jitter("a"), Fraction: 0.25},
		{Choice: interruption("b"), Value: 1}, {Choice: jitter("b"), Fraction: 0.25},
		{Choice: next("b"), Before: next("a")},
	}
	if diff := cmp.Diff(want, r.Made); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
}

// A replay repeats the choices of its list, limited to the number of alternatives. Other choices
// are canonical.
func TestReplay(t *testing.T) {
	r := choose.NewReplay([]choose.Made{
		{Choice: interruption("a"), Value: 2},
		{Choice: interruption("b"), Value: 7},
		{Choice: jitter("a"), Fraction: 0},
	})
	want := []string{"a 2 0", "b 2 0.5", "c 0 0.5", "a goes first"}
	if diff := cmp.Diff(want, ask(r, "a", "b", "c")); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// Of several candidates that overtake, the first in the list goes first. A candidate overtakes only
// the canonical candidate that its entry names, or any if the entry names none.
func TestReplayOfNext(t *testing.T) {
	r := choose.NewReplay([]choose.Made{
		{Choice: next("c"), Before: next("b")},
		{Choice: next("d"), Before: next("a")},
		{Choice: next("e")},
		{Choice: next("b"), Before: next("a")},
	})
	for _, c := range []struct {
		candidates []string
		want       string
	}{
		{[]string{"a", "x"}, "a"},
		{[]string{"a", "b", "c"}, "b"}, // c overtakes b only
		{[]string{"a", "b", "c", "d"}, "d"},
		{[]string{"b", "c"}, "c"},
		{[]string{"x", "c", "e"}, "e"}, // e overtakes anyone
		{[]string{"a", "b", "d", "e"}, "d"},
	} {
		if got := c.candidates[r.Next(nexts(c.candidates))]; got != c.want {
			t.Errorf("of %v %s goes first, want %s", c.candidates, got, c.want)
		}
	}
}

// A candidate with an entry Last goes only when no other candidate can, unless another entry makes
// it overtake.
func TestReplayOfLast(t *testing.T) {
	r := choose.NewReplay([]choose.Made{
		{Choice: next("a"), Last: true}, {Choice: next("b"), Last: true}, {Choice: next("b"), Before: next("x")},
	})
	for _, c := range []struct {
		candidates []string
		want       string
	}{
		{[]string{"a", "c", "d"}, "c"},
		{[]string{"a", "b", "d"}, "d"},
		{[]string{"a", "b"}, "a"},
		{[]string{"c", "a"}, "c"},
		{[]string{"x", "a", "b"}, "b"},
	} {
		if got := c.candidates[r.Next(nexts(c.candidates))]; got != c.want {
			t.Errorf("of %v %s goes first, want %s", c.candidates, got, c.want)
		}
	}
}

func nexts(keys []string) []choose.Choice {
	var list []choose.Choice
	for _, k := range keys {
		list = append(list, next(k))
	}
	return list
}
