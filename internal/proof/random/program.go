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
				pick(&g.rng, traits)(b)
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
