package random

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// answers are kinds of answers; the words stand for themselves.
const (
	anyCode = "code" // an exit code
	late    = "late" // ok, when it may be too late
	named   = "name" // a named answer
)

var badAnswers = []weighted[string]{
	{32, "fail"}, {10, "down"}, {12, "hang"}, {10, "stall"}, {9, "error"}, {8, anyCode}, {10, late}, {9, named},
}

var goodAnswers = []weighted[string]{
	{60, "ok"}, {5, "0"}, {25, late}, {10, named},
}

// bad returns an answer that mostly fails a probe. A stall needs a window that closes.
func (b *program) bad(key string, window bool) string {
	kind := pick(&b.rng, badAnswers)
	if kind == "stall" && !window {
		kind = "hang"
	}
	return b.word(kind, key)
}

// word turns a kind of answer into an answer.
func (b *program) word(kind, key string) string {
	switch kind {
	case anyCode:
		return strconv.Itoa(one(&b.rng, 1, 2, 3, 126, 127, 255))
	case late:
		return "ok in " + b.draw(b.lateness(key))
	case named:
		return b.named(key)
	}
	return kind
}

// answer returns an answer as YAML has it: a code is a number.
func (b *program) answer(a string) *yaml.Node {
	if _, err := strconv.Atoi(a); err == nil {
		return literal(a)
	}
	return text(a)
}

// lateness returns a time to answer that has to do with the timeout of a probe: a part of it, just below
// or above it, exactly that, or up to three times as long.
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

// series returns two to five answers; each but the last of an endless list up to six times.
func (b *program) series(key string, window bool) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	repeat := b.percent(35)
	count := b.between(2, 5)
	for i := range count {
		answer := b.bad(key, window)
		if b.percent(50) {
			answer = b.word(pick(&b.rng, goodAnswers), key)
		}
		if (repeat || i < count-1) && b.percent(60) {
			answer += " x" + strconv.Itoa(b.between(1, 6))
		}
		n.Content = append(n.Content, b.answer(answer))
	}
	if repeat {
		n.Content = append(n.Content, text("repeat"))
	}
	return n
}

// namedAnswers are the names of answers with more than a word says.
var namedAnswers = []string{"sick", "busy", "stubborn"}

// named returns a named answer of the container, a new one unless it has all.
func (b *program) named(key string) string {
	list := b.container.answers
	i := b.between(0, len(namedAnswers)-1)
	if i >= len(list.Content) {
		i = len(list.Content)
		list.Content = append(list.Content, b.namedAnswer(namedAnswers[i]))
	}
	name := namedAnswers[i]
	if !has(list.Content[i], "ignoreTimeout") {
		return name
	}
	if b.percent(35) {
		return name + " in " + b.draw(b.time(100*time.Second, 150*time.Second)) // the kubelet gives up 2m after the timeout
	}
	return name + " in " + b.draw(b.lateness(key))
}

func (b *program) namedAnswer(name string) *yaml.Node {
	n := inline()
	put(n, "name", text(name))
	if b.percent(75) {
		put(n, "code", number(one(&b.rng, 0, 1, 1, 2, 255)))
	}
	if b.percent(45) {
		put(n, "ignoreTimeout", literal("true"))
	}
	put(n, "body", text(b.body()))
	return n
}

// body returns what a command writes: mostly a line; sometimes text of several bytes a letter; sometimes
// more than the 10 KiB that the kubelet takes.
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
