package terminal

import (
	"strings"
	"testing"
)

// TestLine checks that a terminal shows one line that changes, and other outputs get separate
// lines, if any.
func TestLine(t *testing.T) {
	for _, test := range []struct {
		terminal, logs bool
		want           string
	}{
		{false, false, ""},
		{false, true, "probesim: 1 of 2\nprobesim: 2 of 2\n"},
		{true, false, "\r\x1b[K1 of 2\r\x1b[K\r\x1b[K2 of 2\r\x1b[K"},
	} {
		var b strings.Builder
		text := "1 of 2"
		l := NewLine(&b, test.logs, func() string { return text })
		l.terminal = test.terminal
		l.show()
		text = "2 of 2"
		l.Hide()
		l.show() // hidden while output is written
		l.Resume()
		l.show()
		l.Stop()
		l.show()
		if b.String() != test.want {
			t.Errorf("terminal %v, logs %v: %q, want %q", test.terminal, test.logs, b.String(), test.want)
		}
	}
}

// TestLineIsErased checks that nothing of the line is left when the process ends early.
func TestLineIsErased(t *testing.T) {
	var b strings.Builder
	l := NewLine(&b, false, func() string { return "half" })
	defer l.Stop()
	l.terminal = true
	l.show()
	l.erase()
	if got := b.String(); got != "\r\x1b[Khalf\r\x1b[K" {
		t.Errorf("the terminal has %q", got)
	}
}

// TestCounter checks the text of a counter.
func TestCounter(t *testing.T) {
	c := NewCounter(&strings.Builder{}, 3, "pods")
	defer c.Stop()
	if c.Step(); c.text() != "1 of 3 pods" {
		t.Errorf("the counter shows %q after a step", c.text())
	}
}
