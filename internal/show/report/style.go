package report

import (
	"io"
	"strings"
	"unicode/utf8"

	"probesim.dev/internal/printable"
)

// style is the appearance of text on a terminal with colors.
type style uint8

const (
	plain style = iota
	bold
	dim
	good
	bad
	warn
)

var escapes = map[style]string{bold: "\x1b[1m", dim: "\x1b[2m", good: "\x1b[32m", bad: "\x1b[31m", warn: "\x1b[33m"}

const reset = "\x1b[0m"

// paint returns s in a style if colors are on.
func (o Options) paint(st style, s string) string {
	if !o.Color || st == plain || s == "" {
		return s
	}
	return escapes[st] + s + reset
}

// write writes finished text. No part of it can be a command to a CI system, or control a terminal.
func (o Options) write(w io.Writer, text string) error {
	_, err := io.WriteString(&printable.Writer{To: w, Color: o.Color}, text)
	return err
}

// cell is one character of a row, with its style.
type cell struct {
	r  rune
	st style
}

// row is a line of the timeline. Zero cells are blank.
type row []cell

func (r row) set(i int, c rune, st style) {
	if i >= 0 && i < len(r) {
		r[i] = cell{c, st}
	}
}

func (r row) text(i int, s string, st style) {
	for _, c := range s {
		r.set(i, c, st)
		i++
	}
}

// render returns the text of the row without trailing spaces.
func (r row) render(o Options) string {
	end := len(r)
	for end > 0 && (r[end-1].r == 0 || r[end-1].r == ' ') {
		end--
	}
	var b strings.Builder
	for i := 0; i < end; {
		j := i
		var run strings.Builder
		for ; j < end && r[j].st == r[i].st; j++ {
			run.WriteRune(max(r[j].r, ' '))
		}
		b.WriteString(o.paint(r[i].st, run.String()))
		i = j
	}
	return b.String()
}

// shorten limits s to n characters, with an ellipsis in the middle.
func (o Options) shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes, mark := []rune(s), o.glyphs().ellipsis
	head := (n - utf8.RuneCountInString(mark)) / 2
	tail := n - utf8.RuneCountInString(mark) - head
	return string(runes[:head]) + mark + string(runes[len(runes)-tail:])
}
