package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// asker is a chooser that logs the choices of one kind and gives the answers of a list, then
// canonical answers.
type asker struct {
	only    choose.Kind // choices of other kinds are not logged and get the canonical answer
	asked   []string
	answers []int
}

func (a *asker) answer(kind choose.Kind, question string) int {
	if kind != a.only {
		return 0
	}
	a.asked = append(a.asked, question)
	if len(a.answers) == 0 {
		return 0
	}
	v := a.answers[0]
	a.answers = a.answers[1:]
	return v
}

func name(c choose.Choice) string { return fmt.Sprintf("%s#%d", c.Key, c.Ordinal) }

func (a *asker) Choose(c choose.Choice, n int) int {
	return a.answer(c.Kind, fmt.Sprintf("%s of %d", name(c), n))
}

func (a *asker) Next(candidates []choose.Choice) int {
	var names []string
	for _, c := range candidates {
		names = append(names, name(c))
	}
	return a.answer(choose.Next, fmt.Sprint(names))
}

func (a *asker) Fraction(c choose.Choice) float64 { return float64(a.answer(c.Kind, name(c))) / 4 }

// The kernel asks which candidate goes next whenever several can: first the due timers, then the
// processes in the order in which they were enabled, each with the number of its earlier turns.
func TestNextAsksWithStableKeys(t *testing.T) {
	a := &asker{only: choose.Next, answers: []int{1, 0, 2}}
	s := sim.New(sim.Options{Chooser: a})
	var got []string
	for _, name := range []string{"a", "b"} {
		s.Go(name, func(p *sim.Proc) {
			got = append(got, name)
			p.Sleep(time.Second)
			got = append(got, name)
		})
	}
	s.At(virtual.At(time.Second), "callback", func() { got = append(got, "callback") })
	s.At(virtual.At(time.Second), "callback", func() { got = append(got, "second callback") })
	runAndClose(t, s, time.Second)
	wantAsked := []string{
		"[a#0 b#0]", // b
		"[callback#0 callback#1 sleep of b#1 sleep of a#1]", // callback
		"[callback#1 sleep of b#1 sleep of a#1]",            // sleep of a
		"[callback#1 sleep of b#1 a#1]",                     // from here on, the canonical answer
		"[sleep of b#1 a#1]",
		"[b#1 a#1]",
	}
	if diff := cmp.Diff(wantAsked, a.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if want := "[b a callback second callback b a]"; fmt.Sprint(got) != want {
		t.Errorf("ran %v, want %v", got, want)
	}
}

// Processes with the same name share a counter, because a choice must identify one turn of one
// process.
func TestNextCountsTurnsAcrossProcessesOfOneName(t *testing.T) {
	a := &asker{only: choose.Next}
	s := sim.New(sim.Options{Chooser: a})
	for at := range 2 {
		s.At(virtual.At(time.Duration(at)*time.Second), "start", func() {
			s.Go("worker", func(*sim.Proc) {})
			s.Go("other", func(*sim.Proc) {})
		})
	}
	runAndClose(t, s, time.Minute)
	if want := "[[worker#0 other#0] [worker#1 other#1]]"; fmt.Sprint(a.asked) != want {
		t.Errorf("asked %v, want %v", a.asked, want)
	}
}

// At a preemption point, the process continues immediately, after everything that is enabled now,
// after everything else at this instant, or after one enabled process.
func TestPreempt(t *testing.T) {
	for answer, want := range []string{
		"[p goes on, other, third, child of other, later]",
		"[other, third, p goes on, child of other, later]",
		"[other, third, child of other, p goes on, later]",
		"[other, p goes on, third, child of other, later]",
		"[third, p goes on, other, child of other, later]",
	} {
		a := &asker{only: choose.Preemption, answers: []int{answer}}
		s := sim.New(sim.Options{Chooser: a})
		var got []string
		note := func(what string) { got = append(got, what) }
		s.Go("p", func(p *sim.Proc) {
			p.Preempt("status read")
			note("p goes on")
			p.Sleep(time.Second)
			p.Preempt("status read") // nothing else is enabled, so there is no choice
			note("later")
		})
		s.Go("other", func(p *sim.Proc) {
			note("other")
			s.Go("child of other", func(*sim.Proc) { note("child of other") })
		})
		s.Go("third", func(*sim.Proc) { note("third") })
		runAndClose(t, s, time.Minute)
		if diff := cmp.Diff([]string{"status read p#0 of 5"}, a.asked); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		if joined := "[" + strings.Join(got, ", ") + "]"; joined != want {
			t.Errorf("answer %d: %s, want %s", answer, joined, want)
		}
	}
}

// Without a chooser, no process is preempted, a select takes the first ready case, jitters are a
// half, and a shuffle keeps the order.
func TestCanonicalChoices(t *testing.T) {
	s := sim.New(sim.Options{})
	a, b := sim.NewChan[int](s, "a", 1), sim.NewChan[int](s, "b", 1)
	var got []string
	s.Go("p", func(p *sim.Proc) {
		a.TrySend(1)
		b.TrySend(2)
		p.Preempt("point")
		receive := func(_ *sim.Proc, v int) { got = append(got, fmt.Sprint("received ", v)) }
		p.Select(sim.On(b, receive), sim.On(a, receive))
		got = append(got, fmt.Sprint("jitter ", s.Fraction("requeue of ", "p")))
		items := []int{1, 2, 3}
		choose.Shuffle(s, "batch", items)
		got = append(got, fmt.Sprint(items))
	})
	s.Go("other", func(*sim.Proc) { got = append(got, "other") })
	runAndClose(t, s, 0)
	if want := "[received 2 jitter 0.5 [1 2 3] other]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A select asks which of several ready cases it takes. With one ready case there is no choice.
func TestSelectAsksAmongReadyCases(t *testing.T) {
	a := &asker{only: choose.SelectCase, answers: []int{1, 1}}
	s := sim.New(sim.Options{Chooser: a})
	var chans []*sim.Chan[int]
	for i := range 3 {
		chans = append(chans, sim.NewChan[int](s, fmt.Sprint(i), 2))
	}
	chans[0].TrySend(1)
	chans[2].TrySend(2)
	chans[2].TrySend(3)
	var got []int
	var cases []sim.Case
	for _, c := range chans {
		cases = append(cases, sim.On(c, func(_ *sim.Proc, v int) { got = append(got, v) }))
	}
	s.Go("sync loop", func(p *sim.Proc) {
		for range 3 {
			p.Select(cases...)
		}
	})
	runAndClose(t, s, 0)
	if want := "[2 3 1]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if diff := cmp.Diff([]string{"sync loop#0 of 2", "sync loop#1 of 2"}, a.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

// Each order of a shuffle has exactly one list of answers.
func TestShuffleReachesEveryOrder(t *testing.T) {
	seen := map[string]bool{}
	for first := range 3 {
		for second := range 2 {
			a := &asker{only: choose.Order, answers: []int{first, second}}
			s := sim.New(sim.Options{Chooser: a})
			items := []string{"x", "y", "z"}
			choose.Shuffle(s, "relist", items)
			seen[fmt.Sprint(items)] = true
			if want := []string{"relist#0 of 3", "relist#1 of 2"}; !slices.Equal(a.asked, want) {
				t.Errorf("asked %v, want %v", a.asked, want)
			}
		}
	}
	if len(seen) != 6 {
		t.Errorf("orders %v, want all six", seen)
	}
}

func TestFractionAsks(t *testing.T) {
	a := &asker{only: choose.Jitter, answers: []int{3, 1}}
	s := sim.New(sim.Options{Chooser: a})
	got := []float64{s.Fraction("start of ", "a"), s.Fraction("start of ", "a"), s.Fraction("requeue of ", "a")}
	if !slices.Equal(got, []float64{0.75, 0.25, 0}) ||
		fmt.Sprint(a.asked) != "[start of a#0 start of a#1 requeue of a#0]" {
		t.Errorf("got %v after being asked %v", got, a.asked)
	}
}

// guide gives the points a place by their names, in reverse order, and notes the turns.
type guide struct {
	asker
	turns []string
}

func (g *guide) Place(_, point string) (int, bool)            { return -int(point[0]), point != "?" }
func (g *guide) Walk(string, string, string) ([]string, bool) { return nil, false }
func (g *guide) Turn(process, point string)                   { g.turns = append(g.turns, process+" "+point) }

// A Guide changes the canonical order of items and of the ready cases of a select. Items that it
// does not know come last.
func TestGuide(t *testing.T) {
	g := &guide{}
	s := sim.New(sim.Options{Chooser: g})
	items := []string{"?", "a", "c", "b"}
	choose.Guided(&s.Asker, "relist", items, func(i string) string { return i })
	var got []string
	a, b := sim.NewChan[int](s, "a", 1), sim.NewChan[int](s, "b", 1)
	note := func(name string) func(*sim.Proc, int) { return func(*sim.Proc, int) { got = append(got, name) } }
	s.Go("sync loop", func(p *sim.Proc) {
		a.TrySend(1)
		b.TrySend(2)
		s.Turn("sync loop", "begin")
		p.Select(sim.On(a, note("a")), sim.On(b, note("b")))
	})
	runAndClose(t, s, 0)
	if want := "[c b a ?] [b] [sync loop begin]"; fmt.Sprint(items, got, g.turns) != want {
		t.Errorf("got %v %v %v, want %s", items, got, g.turns, want)
	}
	plain := sim.New(sim.Options{})
	choose.Guided(&plain.Asker, "relist", items, func(i string) string { return i })
	plain.Turn("sync loop", "begin")
	if want := "[c b a ?]"; fmt.Sprint(items) != want {
		t.Errorf("without a Guide the items are %v, want %s", items, want)
	}
}

// With a Guide that knows the next turn of a process, the turns decide who goes first at a
// preemption point. Without one, the chooser does.
func TestPreemptBefore(t *testing.T) {
	for turn, want := range map[string]string{"known": "[begin worker end]", "?": "[begin end worker]"} {
		s := sim.New(sim.Options{Chooser: &guide{}})
		var got []string
		s.Go("sync loop", func(p *sim.Proc) {
			s.Go("pod worker", func(*sim.Proc) { got = append(got, "worker") })
			got = append(got, "begin")
			p.PreemptBefore("point", turn)
			got = append(got, "end")
		})
		runAndClose(t, s, 0)
		if fmt.Sprint(got) != want {
			t.Errorf("before the turn %q: %v, want %s", turn, got, want)
		}
	}
}

// A process that yields goes on after one other process has gone, or at once if there are only
// processes that yield themselves.
func TestYieldToOne(t *testing.T) {
	s := sim.New(sim.Options{})
	var got []string
	note := func(name string) func(*sim.Proc) { return func(*sim.Proc) { got = append(got, name) } }
	yields := func(name string) func(*sim.Proc) {
		return func(p *sim.Proc) {
			for p.YieldToOne() {
				got = append(got, name)
			}
			got = append(got, name+" ends")
		}
	}
	s.Go("status manager", func(*sim.Proc) {
		s.Go("worker", yields("worker"))
		s.Go("other", yields("other"))
		s.Go("a", note("a"))
		s.Go("b", note("b"))
	})
	runAndClose(t, s, 0)
	if want := "[a other b other other ends worker worker ends]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
