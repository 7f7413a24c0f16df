package random

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// crashes are the ways in which a program exits by itself.
var crashes = []weighted[func(*program)]{
	{20, (*program).crashesOnce},
	{25, (*program).crashesAlways},
	{15, (*program).crashesAtFirst},
	{20, (*program).crashesAt},
	{20, (*program).isDone},
}

// exitCodes are the exit codes of programs that exit by themselves.
var exitCodes = []weighted[int]{{45, 1}, {15, 0}, {10, 2}, {10, 137}, {10, 143}, {5, 127}, {5, 255}}

// exit adds a rule by which the program exits when the window of the rule opens.
func (b *program) exit(r *yaml.Node, code int) {
	put(r, "exit", number(code))
	b.rules = append(b.rules, r)
}

// after sets the time from the start of the instance to the opening of a rule's window, at most the
// duration of the run.
func (b *program) after(r *yaml.Node, lo, hi time.Duration) {
	put(r, "after", text(b.draw(b.within(b.time(lo, hi)))))
}

// within returns t, or the time between the start of the pod and the end of the run if it is
// shorter.
func (b *program) within(t time.Duration) time.Duration { return min(t, b.duration-b.pod.at) }

func (b *program) crashesOnce() {
	r := inline()
	put(r, "instance", number(b.between(0, 1)))
	b.after(r, 50*time.Millisecond, b.duration/2)
	b.exit(r, pick(&b.rng, exitCodes))
}

// crashesAlways makes a crash loop, sometimes a slow one.
func (b *program) crashesAlways() {
	r := inline()
	b.after(r, 10*time.Millisecond, one(&b.rng, time.Second, 20*time.Second, b.duration/2))
	b.exit(r, pick(&b.rng, exitCodes))
}

func (b *program) crashesAtFirst() {
	r := inline()
	put(r, "instance", literal(one(&b.rng, "..1", "..2", "0..3")))
	b.after(r, 50*time.Millisecond, 20*time.Second)
	b.exit(r, pick(&b.rng, exitCodes))
}

// crashesAt makes the program crash once, at a time of the scenario.
func (b *program) crashesAt() {
	r := inline()
	put(r, "at", text(b.draw(b.time(time.Second, b.duration*9/10))))
	b.exit(r, pick(&b.rng, exitCodes))
}

func (b *program) isDone() {
	r := inline()
	b.after(r, time.Second, b.duration)
	b.exit(r, 0)
}

// stops are the reactions of a program to the stop signal, except an immediate exit.
var stops = []weighted[func(*program)]{
	{60, (*program).stopsLate},
	{25, (*program).stopsNever},
	{10, (*program).stopsAtGrace},
	{5, (*program).stopsNeverAtFirst},
}

func (b *program) stopsLate() {
	r := inline()
	put(r, "afterSigterm", text(b.draw(b.within(b.time(time.Millisecond, 45*time.Second)))))
	b.exit(r, one(&b.rng, 0, 1, 143))
}

func (b *program) stopsNever() {
	r := inline()
	put(r, "afterSigterm", text("0s"))
	put(r, "exit", text("never"))
	b.rules = append(b.rules, r)
}

// stopsAtGrace makes the program stop within a second of the end of the pod's grace period.
func (b *program) stopsAtGrace() {
	grace := time.Duration(max(2, b.pod.grace)) * time.Second
	r := inline()
	put(r, "afterSigterm", text(b.draw(b.within(b.odd(grace-time.Second, grace+time.Second)))))
	b.exit(r, one(&b.rng, 0, 143))
}

// stopsNeverAtFirst makes the first instance ignore the stop signal. Later instances stop.
func (b *program) stopsNeverAtFirst() {
	b.stopsLate()
	b.stopsNever()
	last := b.rules[len(b.rules)-1]
	put(last, "instance", number(0))
}
