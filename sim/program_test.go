package sim_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// Each run draws the same examples, unless -rapid.seed says otherwise.
var _ = flag.Set("rapid.seed", "1")

// program is a random program: processes that sleep, send, receive and reach preemption points, and
// callbacks that send. Only one process receives from each channel.
type program struct {
	Caps   []int   // of the channels
	Owner  []int   // the process that receives from each channel
	Procs  [][]op  // the operations of each process
	Timers []timed // the callbacks
	Serves bool    // processes receive through Serve instead of Recv and Select
}

type op struct {
	Kind  string // sleep, send, try, recv, select, preempt
	Chans []int
	For   time.Duration
}

// timed is a callback that sends to a channel.
type timed struct {
	At   virtual.Time
	Chan int
}

// programs draws programs with few channels and few instants, in which many events coincide.
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
		return timed{At: virtual.At(seconds(t)), Chan: rapid.IntRange(0, len(p.Caps)-1).Draw(t, "channel")}
	}), 0, 4).Draw(t, "callbacks")
	return p
})

func seconds(t *rapid.T) time.Duration {
	return time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second
}

// ops draws an operation of process i. The process receives only from its own channels.
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
			o.For = seconds(t)
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

// message is a value that was sent, with the times of its delivery.
type message struct {
	value      int // from 1: a zero value comes from no sender
	order      int // the number of notes before it
	sent       virtual.Time
	blocks     bool         // it was sent by Send
	returned   virtual.Time // when Send returned; 0 if it did not
	received   bool
	receivedAt virtual.Time
}

// run is a running program and the log of its events.
type run struct {
	*sim.Sim
	program
	t        *rapid.T
	chans    []*sim.Chan[int]
	messages [][]*message // by channel, in the order in which they were sent
	taken    []int        // by channel, how many messages were received
	waits    []*op        // the present operation of each process; nil before the first and after the last
	done     []bool
	notes    []string
}

// start returns a program that is ready to run.
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

// end runs the program until its last event.
func (r *run) end() *run {
	if err := r.RunUntil(virtual.At(time.Hour)); err != nil {
		r.t.Fatal(err)
	}
	return r
}

func (r *run) do(p *sim.Proc, o op) {
	before := p.Now()
	switch o.Kind {
	case "sleep":
		p.Sleep(o.For)
		r.same("sleep of "+p.Name()+" returns at", p.Now(), before.Add(o.For))
	case "send":
		m := r.note(p.Name(), o.Chans[0])
		m.blocks = true
		r.chans[o.Chans[0]].Send(p, m.value)
		m.returned = p.Now()
	case "try":
		r.trySend(p.Name(), o.Chans[0])
	case "preempt":
		p.Preempt("in between")
		r.same("preemption point passed at", p.Now(), before)
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

// note logs a message that is about to be sent.
func (r *run) note(who string, c int) *message {
	m := &message{value: 1 + len(r.notes), order: len(r.notes), sent: r.Now()}
	r.messages[c] = append(r.messages[c], m)
	r.log("%s sends %d to %d", who, m.value, c)
	return m
}

// trySend calls TrySend, which must succeed while the channel holds fewer values than its capacity.
func (r *run) trySend(who string, c int) {
	m := r.note(who, c)
	if r.chans[c].TrySend(m.value) {
		return
	}
	r.messages[c] = r.messages[c][:len(r.messages[c])-1]
	r.log("%s cannot send to %d", who, c)
	if held := len(r.messages[c]) - r.taken[c]; held < r.Caps[c] {
		r.t.Errorf("at %v: channel %d refuses a value although it holds %d of %d", r.Now(), c, held, r.Caps[c])
	}
}

// receive checks the value that a process received from the channel of case i: it must be the
// oldest value of the channel, received as soon as the process waited and the value was sent. The
// process has waited since a virtual time, at which the log had a number of notes. Of the values
// sent after that, the process must receive the first.
func (r *run) receive(p *sim.Proc, o op, notes int, since virtual.Time, i, value int) {
	c := o.Chans[i]
	r.log("%s receives %d from %d", p.Name(), value, c)
	if len(r.messages[c]) == r.taken[c] {
		r.t.Fatalf("at %v: %s receives %d from channel %d, which is empty", p.Now(), p.Name(), value, c)
	}
	m := r.messages[c][r.taken[c]]
	r.taken[c]++
	if value != m.value {
		r.t.Errorf("at %v: next from channel %d is %d, want %d", r.Now(), c, value, m.value)
	}
	r.same(fmt.Sprintf("%s receives %d at", p.Name(), value), p.Now(), max(since, m.sent))
	m.received, m.receivedAt = true, p.Now()
	if m.order < notes {
		return // the message was sent before the process began to wait
	}
	for _, other := range o.Chans {
		if rest := r.messages[other][r.taken[other]:]; len(rest) > 0 && rest[0].order < m.order {
			r.t.Errorf("%s waits and receives %d, but %d was sent earlier", p.Name(), value, rest[0].value)
		}
	}
}

func (r *run) same(what string, got, want virtual.Time) {
	if got != want {
		r.t.Errorf("at %v: %s %v, want %v", r.Now(), what, got, want)
	}
}

func (r *run) log(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf("%4v ", r.Now())+fmt.Sprintf(format, args...))
}

func (r *run) text() string { return strings.Join(r.notes, "\n") }
