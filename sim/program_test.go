package sim_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/sim"
)

// Each run draws the same examples, unless -rapid.seed says otherwise.
var _ = flag.Set("rapid.seed", "1")

// A program is some processes that sleep, send, receive and are interrupted, and callbacks that send. Each
// channel has one process that receives from it.
type program struct {
	Caps   []int   // of the channels
	Owner  []int   // the process that receives from each channel
	Procs  [][]op  // what each process does
	Timers []timed // what is sent by callbacks
	Serves bool    // processes receive through Serve instead of Recv and Select
}

type op struct {
	Kind  string // sleep, send, try, recv, select, preempt
	Chans []int
	For   time.Duration
}

type timed struct {
	At   time.Duration
	Chan int
}

// programs draws programs that are small enough to collide often: few channels, few instants.
var programs = rapid.Custom(func(t *rapid.T) program {
	n := rapid.IntRange(1, 4).Draw(t, "processes")
	p := program{Caps: rapid.SliceOfN(rapid.IntRange(1, 2), 1, 4).Draw(t, "capacities")}
	for range p.Caps {
		p.Owner = append(p.Owner, rapid.IntRange(0, n-1).Draw(t, "owner"))
	}
	for i := range n {
		p.Procs = append(p.Procs, rapid.SliceOfN(p.ops(i), 0, 12).Draw(t, "ops"))
	}
	p.Timers = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) timed {
		return timed{At: instant(t), Chan: rapid.IntRange(0, len(p.Caps)-1).Draw(t, "channel")}
	}), 0, 4).Draw(t, "callbacks")
	return p
})

func instant(t *rapid.T) time.Duration {
	return time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second
}

// ops draws what process i does; it receives from its own channels only.
func (p program) ops(i int) *rapid.Generator[op] {
	var own []int
	for c, owner := range p.Owner {
		if owner == i {
			own = append(own, c)
		}
	}
	kinds := []string{"sleep", "send", "try", "preempt"}
	if len(own) > 0 {
		kinds = append(kinds, "recv", "recv", "select", "select")
	}
	return rapid.Custom(func(t *rapid.T) op {
		o := op{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		switch o.Kind {
		case "sleep":
			o.For = instant(t)
		case "send", "try":
			o.Chans = []int{rapid.IntRange(0, len(p.Caps)-1).Draw(t, "channel")}
		case "recv":
			o.Chans = []int{rapid.SampledFrom(own).Draw(t, "channel")}
		case "select":
			o.Chans = slices.Clone(rapid.Permutation(own).Draw(t, "channels"))
			o.Chans = o.Chans[:rapid.IntRange(1, len(own)).Draw(t, "cases")]
		}
		return o
	})
}

// message is a value and what became of it.
type message struct {
	value    int // from 1: a zero value is one that nobody sent
	order    int // place among everything that was noted
	sent     time.Duration
	blocks   bool // by Send, which returned at
	returned time.Duration
	received bool
	at       time.Duration
}

// run is a program while it runs, and what was seen.
type run struct {
	*sim.Sim
	program
	t        *rapid.T
	chans    []*sim.Chan[int]
	messages [][]*message // by channel, in the order in which they were sent
	taken    []int        // how many of them were received
	waits    []*op        // what each process waits in
	done     []bool
	notes    []string
}

// start sets a program up in a world.
func start(t *rapid.T, p program, o sim.Options) *run {
	r := &run{
		Sim: sim.New(o), program: p, t: t, messages: make([][]*message, len(p.Caps)), taken: make([]int, len(p.Caps)),
		waits: make([]*op, len(p.Procs)), done: make([]bool, len(p.Procs)),
	}
	for c, capacity := range p.Caps {
		r.chans = append(r.chans, sim.NewChan[int](r.Sim, fmt.Sprint("channel ", c), capacity))
	}
	for _, timer := range p.Timers {
		r.At(timer.At, "callback", func() { r.trySend("callback", timer.Chan) })
	}
	for i, ops := range p.Procs {
		if p.Serves {
			r.Go(fmt.Sprint("process ", i), r.server(i, ops))
			continue
		}
		r.Go(fmt.Sprint("process ", i), func(p *sim.Proc) {
			for k := range ops {
				r.waits[i] = &ops[k]
				r.do(p, ops[k])
			}
			r.waits[i], r.done[i] = nil, true
		})
	}
	return r
}

// end runs the program until nothing happens any more.
func (r *run) end() *run {
	if err := r.RunUntil(time.Hour); err != nil {
		r.t.Fatal(err)
	}
	return r
}

func (r *run) do(p *sim.Proc, o op) {
	before := p.Now()
	switch o.Kind {
	case "sleep":
		p.Sleep(o.For)
		r.same("sleep of "+p.Name()+" returns at", p.Now(), before+o.For)
	case "send":
		m := r.note(p.Name(), o.Chans[0])
		m.blocks = true
		r.chans[o.Chans[0]].Send(p, m.value)
		m.returned = p.Now()
	case "try":
		r.trySend(p.Name(), o.Chans[0])
	case "preempt":
		p.Preempt("in between")
		r.same("preemption takes", p.Now(), before)
	case "recv":
		order := len(r.notes)
		r.receive(p, o, order, before, 0, r.chans[o.Chans[0]].Recv(p))
	case "select":
		order := len(r.notes)
		p.Select(r.cases(o, func(p *sim.Proc, i, v int) { r.receive(p, o, order, before, i, v) })...)
	}
}

// cases returns the cases of a select. The handler gets the index of the case too.
func (r *run) cases(o op, handle func(p *sim.Proc, i, v int)) []sim.Case {
	cases := make([]sim.Case, len(o.Chans))
	for i, c := range o.Chans {
		cases[i] = sim.On(r.chans[c], func(p *sim.Proc, v int) { handle(p, i, v) })
	}
	return cases
}

// note notes a message that is about to be sent.
func (r *run) note(who string, c int) *message {
	m := &message{value: 1 + len(r.notes), order: len(r.notes), sent: r.Now()}
	r.messages[c] = append(r.messages[c], m)
	r.log("%s sends %d to %d", who, m.value, c)
	return m
}

// trySend sends if it can; it must be able to as long as fewer messages than the capacity are on the way.
func (r *run) trySend(who string, c int) {
	m := r.note(who, c)
	if r.chans[c].TrySend(m.value) {
		return
	}
	r.messages[c] = r.messages[c][:len(r.messages[c])-1]
	r.log("%s cannot send to %d", who, c)
	if onTheWay := len(r.messages[c]) - r.taken[c]; onTheWay < r.Caps[c] {
		r.t.Errorf("at %v: channel %d refuses a value with %d of %d on the way", r.Now(), c, onTheWay, r.Caps[c])
	}
}

// receive checks the law of receiving: a process that began to wait when the notes had some length gets
// the first message of a channel that it has not got, as soon as it waits and the message is sent.
func (r *run) receive(p *sim.Proc, o op, began int, since time.Duration, i, value int) {
	c := o.Chans[i]
	r.log("%s receives %d from %d", p.Name(), value, c)
	if len(r.messages[c]) == r.taken[c] {
		r.t.Fatalf("at %v: %s receives %d from channel %d, where nothing was sent", p.Now(), p.Name(), value, c)
	}
	m := r.messages[c][r.taken[c]]
	r.taken[c]++
	r.same(fmt.Sprintf("next from channel %d", c), time.Duration(value), time.Duration(m.value))
	r.same(fmt.Sprintf("%s receives %d at", p.Name(), value), p.Now(), max(since, m.sent))
	m.received, m.at = true, p.Now()
	if m.order < began {
		return // it was there already
	}
	for _, other := range o.Chans {
		if rest := r.messages[other][r.taken[other]:]; len(rest) > 0 && rest[0].order < m.order {
			r.t.Errorf("%s waits and receives %d, but %d was sent before", p.Name(), value, rest[0].value)
		}
	}
}

func (r *run) same(what string, got, want time.Duration) {
	if got != want {
		r.t.Errorf("at %v: %s %v, want %v", r.Now(), what, got, want)
	}
}

func (r *run) log(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf("%4v ", r.Now())+fmt.Sprintf(format, args...))
}

func (r *run) text() string { return strings.Join(r.notes, "\n") }
