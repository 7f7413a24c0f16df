package random

import "time"

// traits are behaviors that make probes fail, or almost fail.
var traits = []weighted[func(*program)]{
	{22, (*program).startsSlowly},
	{25, (*program).hasAnOutage},
	{15, (*program).breaksDown},
	{12, (*program).stallsRegularly},
	{13, (*program).isFlaky},
	{8, (*program).isSlow},
	{5, (*program).drains},
}

// startsSlowly makes probes fail after the start of each instance. Sometimes the startup probe
// fails for longer than its failureThreshold allows.
func (b *program) startsSlowly() {
	r := b.rule()
	target, longest := b.target(), 90*time.Second
	if startup := b.container.probe("startup"); startup != nil && b.percent(50) {
		target, longest = "startup", b.duration/2
	}
	put(r, "for", b.draw(b.time(200*time.Millisecond, longest)))
	b.fail(r, target)
}

// hasAnOutage makes probes fail for some time.
func (b *program) hasAnOutage() {
	r := b.rule()
	b.clock(r)
	b.window(r)
	b.chance(r)
	b.fail(r, b.target())
	if b.percent(15) {
		b.fail(r, b.target())
	}
}

// breaksDown makes probes fail permanently from some time on.
func (b *program) breaksDown() {
	r := b.rule()
	b.clock(r)
	b.fail(r, b.target())
}

// stallsRegularly makes probes fail in regular windows, each shorter than half the time between two
// openings.
func (b *program) stallsRegularly() {
	r := b.rule()
	if b.percent(70) {
		b.clock(r)
	}
	every := b.time(2*time.Second, 2*time.Minute)
	put(r, "every", b.draw(every), "for", b.draw(b.time(100*time.Millisecond, every/2)))
	b.chance(r)
	b.fail(r, b.target())
}

// isFlaky sets a series with an answer for each attempt.
func (b *program) isFlaky() {
	r := b.rule()
	if b.percent(50) {
		b.clock(r)
	}
	if b.percent(30) {
		b.window(r)
	}
	b.chance(r)
	key := b.target()
	put(r, key, b.series(key, has(r, "for")))
}

// isSlow makes answers slow, often slower than the timeout.
func (b *program) isSlow() {
	r := b.rule()
	if b.percent(60) {
		b.clock(r)
		b.window(r)
	}
	key := b.target()
	put(r, key, "ok in "+b.draw(b.lateness(key)))
}

// drains makes probes fail from the stop signal on.
func (b *program) drains() {
	r := put(b.rule(), "afterSigterm", b.draw(b.within(one(&b.rng, 0, b.time(time.Millisecond, 5*time.Second)))))
	b.fail(r, b.target())
}

// fail adds a bad answer to a rule, sometimes a series of answers.
func (b *program) fail(r tree, key string) {
	switch {
	case has(r, key):
	case b.percent(15):
		put(r, key, b.series(key, has(r, "for")))
	default:
		put(r, key, answer(b.bad(key, has(r, "for"))))
	}
}
