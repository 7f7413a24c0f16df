package random

import (
	"strconv"
	"strings"
	"time"
)

// Kinds of answers, in addition to the words of the format.
const (
	anyCode = "code" // an exit code
	late    = "late" // ok, perhaps after the timeout
	named   = "name" // a named answer
	zero    = "0"    // success, written as an exit code
)

var badAnswers = []weighted[string]{
	{29, "fail"}, {10, "down"}, {12, "hang"}, {10, "stall"}, {9, "error"}, {3, "warn"}, {8, anyCode}, {10, late},
	{12, named},
}

var goodAnswers = []weighted[string]{
	{60, "ok"}, {5, zero}, {25, late}, {10, named},
}

// bad returns an answer that usually fails a probe. A stall needs a window that closes.
func (b *program) bad(key string, window bool) string {
	kind := pick(&b.rng, badAnswers)
	if kind == "stall" && !window {
		kind = "hang"
	}
	return b.word(kind, key)
}

// word returns an answer of a kind.
func (b *program) word(kind, key string) string {
	switch kind = b.fit(kind, key); kind {
	case anyCode:
		return b.code(key)
	case late:
		return "ok in " + b.draw(b.lateness(key))
	case named:
		return b.named(key)
	}
	return kind
}

// code returns a code for the handler of a key's probes, which must have the same handler.
func (b *program) code(key string) string {
	switch b.handlers(key)[0] {
	case "grpc":
		return one(&b.rng, grpcCodes...)
	case "httpGet":
		return strconv.Itoa(one(&b.rng, 200, 204, 302, 304, 399, 400, 404, 500, 503, 599))
	}
	return strconv.Itoa(one(&b.rng, 1, 2, 3, 126, 127, 255))
}

// answer returns an answer in YAML, where a code is a number.
func answer(a string) any {
	if code, err := strconv.Atoi(a); err == nil {
		return code
	}
	return a
}

// lateness returns a latency relative to the timeout of a probe: a part of it, just below or above
// it, exactly the timeout, or up to three times as long.
func (b *program) lateness(key string) time.Duration {
	timeout := b.timeoutOf(key)
	beside := 50 * time.Millisecond
	switch n := b.between(1, 100); {
	case n <= 35:
		return b.odd(time.Millisecond, timeout*9/10)
	case n <= 50:
		return b.odd(timeout-beside, timeout)
	case n <= 65:
		return b.odd(timeout, timeout+beside)
	case n <= 72:
		return timeout
	}
	return b.time(timeout, 3*timeout)
}

func (b *program) timeoutOf(key string) time.Duration {
	if p := b.container.probe(key); p != nil {
		return p.timeout
	}
	return one(&b.rng, b.container.probes...).timeout
}

// series returns two to five answers. Each can have a count of up to six, except the last one
// without repeat.
func (b *program) series(key string, window bool) tree {
	var all []any
	repeat := b.percent(35)
	count := b.between(2, 5)
	for i := range count {
		next := b.bad(key, window)
		if b.percent(50) {
			next = b.word(pick(&b.rng, goodAnswers), key)
		}
		if (repeat || i < count-1) && b.percent(60) {
			next += " x" + strconv.Itoa(b.between(1, 6))
		}
		all = append(all, answer(next))
	}
	if repeat {
		all = append(all, "repeat")
	}
	return items(all...)
}

// namedAnswers are the names of named answers, by handler.
var namedAnswers = map[string][]string{
	"exec": {"sick", "busy", "stubborn"}, "httpGet": {"moved", "moved", "away", "odd", "reset"},
	"grpc": {"draining", "garbled"},
}

// named returns a named answer of the container for the handler of a key's probes, which must have
// the same handler.
func (b *program) named(key string) string {
	handler := b.handlers(key)[0]
	name := one(&b.rng, namedAnswers[handler]...)
	known := itemNamed(b.container.answers, name)
	if known == nil {
		known = b.namedAnswer(handler, name)
		b.container.answers = append(b.container.answers, known)
	}
	if !has(known, "ignoreTimeout") {
		return name
	}
	if b.percent(45) {
		// the kubelet gives up 2m after the timeout
		return name + " in " + b.draw(b.time(110*time.Second, 200*time.Second))
	}
	return name + " in " + b.draw(b.lateness(key))
}

func (b *program) namedAnswer(handler, name string) tree {
	switch handler {
	case "httpGet":
		return b.namedHTTP(name)
	case "grpc":
		return b.namedGRPC(name)
	}
	code := b.maybe(75, func() any { return one(&b.rng, 0, 1, 1, 2, 255) })
	return inline("name", name, "code", code, "ignoreTimeout", b.maybe(70, true), "body", b.body())
}

// body returns the output of a command: usually a line, sometimes text in a multi-byte script,
// sometimes more than the 10 KiB that the kubelet reads.
func (b *program) body() string {
	switch n := b.between(1, 100); {
	case n <= 45:
		return one(&b.rng, "not ready", "connection refused", "database is locked", "err=5")
	case n <= 60:
		return "first line\nsecond line\n\ttabbed, \"quoted\"\n"
	case n <= 70:
		return "Größe überschritten: 10 ≥ 9 🚧"
	case n <= 85:
		return strings.Repeat("busy ", b.between(40, 400))
	case n <= 93:
		return strings.Repeat("0123456789abcdef", b.between(630, 660))
	}
	return "-" + strings.Repeat("é", b.between(5100, 5200))
}
