package random

import (
	"fmt"
	"time"
)

// program generates the behavior of one container.
type program struct {
	*generator
	pod       *pod
	container *container
	rules     []tree
}

// traitCounts are the numbers of traits of a program that has traits.
var traitCounts = []weighted[int]{{40, 1}, {30, 2}, {18, 3}, {8, 4}, {4, 5}}

// containerBehavior returns the entry of a container in the Scenario. It has at least the name.
func (g *generator) containerBehavior(p *pod, c *container) tree {
	b := &program{generator: g, pod: p, container: c}
	n := block("name", c.name, "delays", g.delays(containerDelays, false))
	if len(c.probes) > 0 {
		if g.percent(65) {
			b.takeOwnTimes()
		}
		if g.percent(g.temper.bad) {
			for range pick(&g.rng, traitCounts) {
				trait := pick(&g.rng, traits)
				b.put(b.rule(), trait)
			}
		}
	}
	b.answersHooks()
	switch {
	case c.kind == initOnce && g.percent(50):
		pick(&g.rng, ends)(b)
	case c.kind != initOnce && g.percent(g.temper.crashes):
		pick(&g.rng, crashes)(b)
	}
	if g.percent(50) {
		pick(&g.rng, stops)(b)
	}
	return put(n, "answers", c.answers, "behavior", b.rules)
}

// add adds a rule with fields to the program and returns it.
func (b *program) add(fields ...any) tree {
	b.rules = append(b.rules, inline(fields...))
	return b.rules[len(b.rules)-1]
}

// rule adds a rule to the program. One in five applies only to some instances.
func (b *program) rule() tree {
	return b.add("instance", b.maybe(20, func() any {
		return literal(one(&b.rng, "0", "0", "1", "1..", "..1", "0..2", "2.."))
	}))
}

// clock sets the time at which the window of a rule opens, from the start of the run or of the
// instance.
func (b *program) clock(r tree) {
	if b.percent(50) {
		put(r, "after", b.draw(b.time(100*time.Millisecond, b.duration/2)))
		return
	}
	put(r, "at", b.draw(b.time(time.Second, b.duration*9/10)))
}

// window sets the length of a rule's window, up to a third of the run.
func (b *program) window(r tree) {
	put(r, "for", b.draw(b.time(500*time.Millisecond, b.duration/3)))
}

// chance sets the chance of some rules, if the scenario has seeds.
func (b *program) chance(r tree) {
	if b.options.Seeds > 0 && b.percent(25) {
		put(r, "chance", fmt.Sprintf("%d%%", b.between(1, 90)))
	}
}

// target returns the key of a rule: all probes or one of them.
func (b *program) target() string {
	if b.percent(40) {
		return "probes"
	}
	return one(&b.rng, b.container.probes...).key
}

// takeOwnTimes gives each probe its own latency.
func (b *program) takeOwnTimes() {
	r := b.add()
	for _, p := range b.container.probes {
		put(r, p.key, "ok in "+b.draw(b.odd(2*time.Millisecond, 90*time.Millisecond)))
	}
}

// part adds a part to a rule.
type part = func(*program, tree)

// traits are behaviors that make probes fail, or almost fail: each is a rule with these parts.
var traits = []weighted[[]part]{
	{22, []part{(*program).startsSlowly}},
	{25, []part{(*program).clock, (*program).window, (*program).chance, (*program).fail, often(15, (*program).fail)}},
	{15, []part{(*program).clock, (*program).fail}}, // breaks down for good
	{12, []part{often(70, (*program).clock), (*program).stalls, (*program).chance, (*program).fail}},
	{13, []part{often(50, (*program).clock), often(30, (*program).window), (*program).chance, (*program).isFlaky}},
	{8, []part{often(60, (*program).clock, (*program).window), (*program).isSlow}},
	{5, []part{(*program).drains, (*program).fail}},
}

// often adds parts with a probability of p percent.
func often(p int, parts ...part) part {
	return func(b *program, r tree) {
		if b.percent(p) {
			b.put(r, parts)
		}
	}
}

func (b *program) put(r tree, parts []part) {
	for _, add := range parts {
		add(b, r)
	}
}

// startsSlowly makes probes fail after the start of each instance. Sometimes the startup probe
// fails for longer than its failureThreshold allows.
func (b *program) startsSlowly(r tree) {
	target, longest := b.target(), 90*time.Second
	if startup := b.container.probe("startup"); startup != nil && b.percent(50) {
		target, longest = "startup", b.duration/2
	}
	put(r, "for", b.draw(b.time(200*time.Millisecond, longest)))
	b.failAt(r, target)
}

// stalls gives a rule regular windows, each shorter than half the time between two openings.
func (b *program) stalls(r tree) {
	every := b.time(2*time.Second, 2*time.Minute)
	put(r, "every", b.draw(every), "for", b.draw(b.time(100*time.Millisecond, every/2)))
}

// isFlaky sets a series with an answer for each attempt.
func (b *program) isFlaky(r tree) {
	key := b.target()
	put(r, key, b.series(key, has(r, "for")))
}

// isSlow makes answers slow, often slower than the timeout.
func (b *program) isSlow(r tree) {
	key := b.target()
	put(r, key, "ok in "+b.draw(b.lateness(key)))
}

// drains opens the window of a rule at the stop signal.
func (b *program) drains(r tree) {
	put(r, "afterSigterm", b.draw(b.within(one(&b.rng, 0, b.time(time.Millisecond, 5*time.Second)))))
}

// fail adds a bad answer to a rule.
func (b *program) fail(r tree) { b.failAt(r, b.target()) }

// failAt adds a bad answer of a key to a rule, sometimes a series of answers.
func (b *program) failAt(r tree, key string) {
	switch {
	case has(r, key):
	case b.percent(15):
		put(r, key, b.series(key, has(r, "for")))
	default:
		put(r, key, answer(b.bad(key, has(r, "for"))))
	}
}

// crashes are the ways in which a program exits by itself.
var crashes = []weighted[func(*program)]{
	{20, (*program).crashesOnce},
	{25, (*program).crashesAlways},
	{15, func(b *program) { // at first
		first := literal(one(&b.rng, "..1", "..2", "0..3"))
		b.crash("instance", first, "after", b.after(50*time.Millisecond, 20*time.Second))
	}},
	{20, func(b *program) { b.crash("at", b.draw(b.time(time.Second, b.duration*9/10))) }},
	{20, func(b *program) { b.add("after", b.after(time.Second, b.duration), "exit", 0) }},
}

// ends are the ways in which a regular init container exits, except the default: with code 0 after
// a second.
var ends = []weighted[func(*program)]{
	{35, func(b *program) { b.add("after", b.after(10*time.Millisecond, 40*time.Second), "exit", 0) }},
	{35, func(b *program) { // succeeds after some instances have failed
		b.add("instance", literal(one(&b.rng, "0", "..1", "..2", "..3")), "after",
			b.after(10*time.Millisecond, 10*time.Second), "exit", one(&b.rng, 1, 1, 2, 137))
	}},
	{15, (*program).crashesOnce},
	{15, (*program).crashesAlways},
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

// stops are the reactions of a program to the stop signal, except an immediate exit.
var stops = []weighted[func(*program)]{
	{60, (*program).stopsLate},
	{25, func(b *program) { b.add("afterSigterm", "0s", "exit", "never") }},
	{10, func(b *program) { // within a second of the end of the pod's grace period
		grace := time.Duration(max(2, b.pod.grace)) * time.Second
		stop := b.within(b.odd(grace-time.Second, grace+time.Second))
		b.add("afterSigterm", b.draw(stop), "exit", one(&b.rng, 0, 143))
	}},
	{5, func(b *program) { // the first instance never, later ones late
		b.stopsLate()
		b.add("afterSigterm", "0s", "exit", "never", "instance", 0)
	}},
}

func (b *program) stopsLate() {
	b.add("afterSigterm", b.after(time.Millisecond, 45*time.Second), "exit", one(&b.rng, 0, 1, 143))
}
