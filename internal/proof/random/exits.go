package random

import "time"

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

// crash adds a rule with fields by which the program exits with any code.
func (b *program) crash(fields ...any) {
	b.add(append(fields, "exit", pick(&b.rng, exitCodes))...)
}

// after returns a time from the start of the instance, at most the duration of the run.
func (b *program) after(lo, hi time.Duration) string { return b.draw(b.within(b.time(lo, hi))) }

// within returns t, or the time between the start of the pod and the end of the run if it is
// shorter.
func (b *program) within(t time.Duration) time.Duration { return min(t, b.duration-b.pod.at) }

func (b *program) crashesOnce() {
	b.crash("instance", b.between(0, 1), "after", b.after(50*time.Millisecond, b.duration/2))
}

// crashesAlways makes a crash loop, sometimes a slow one.
func (b *program) crashesAlways() {
	b.crash("after", b.after(10*time.Millisecond, one(&b.rng, time.Second, 20*time.Second, b.duration/2)))
}

func (b *program) crashesAtFirst() {
	first := literal(one(&b.rng, "..1", "..2", "0..3"))
	b.crash("instance", first, "after", b.after(50*time.Millisecond, 20*time.Second))
}

// crashesAt makes the program crash once, at a time of the scenario.
func (b *program) crashesAt() { b.crash("at", b.draw(b.time(time.Second, b.duration*9/10))) }

func (b *program) isDone() { b.add("after", b.after(time.Second, b.duration), "exit", 0) }

// stops are the reactions of a program to the stop signal, except an immediate exit.
var stops = []weighted[func(*program)]{
	{60, (*program).stopsLate},
	{25, (*program).stopsNever},
	{10, (*program).stopsAtGrace},
	{5, (*program).stopsNeverAtFirst},
}

func (b *program) stopsLate() {
	b.add("afterSigterm", b.after(time.Millisecond, 45*time.Second), "exit", one(&b.rng, 0, 1, 143))
}

func (b *program) stopsNever() { b.add("afterSigterm", "0s", "exit", "never") }

// stopsAtGrace makes the program stop within a second of the end of the pod's grace period.
func (b *program) stopsAtGrace() {
	grace := time.Duration(max(2, b.pod.grace)) * time.Second
	stop := b.within(b.odd(grace-time.Second, grace+time.Second))
	b.add("afterSigterm", b.draw(stop), "exit", one(&b.rng, 0, 143))
}

// stopsNeverAtFirst makes the first instance ignore the stop signal. Later instances stop.
func (b *program) stopsNeverAtFirst() {
	b.stopsLate()
	b.add("afterSigterm", "0s", "exit", "never", "instance", 0)
}
