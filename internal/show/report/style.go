package report

import (
	"strings"
	"unicode/utf8"

	"probesim.dev/internal/show/document"
)

// The styles of characters.
const (
	plain = document.Plain
	bold  = document.Bold
	dim   = document.Dim
	good  = document.Good
	bad   = document.Bad
	warn  = document.Warn
)

// cell is one character of a row, with its style.
type cell struct {
	r  rune
	st document.Style
}

// row is a line of the timeline. Zero cells are blank.
type row []cell

func (r row) set(i int, c rune, st document.Style) {
	if i >= 0 && i < len(r) {
		r[i] = cell{c, st}
	}
}

func (r row) text(i int, s string, st document.Style) {
	for _, c := range s {
		r.set(i, c, st)
		i++
	}
}

// render returns the text of the row without trailing spaces.
func (r row) render(o document.Options) string {
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
		b.WriteString(o.Paint(r[i].st, run.String()))
		i = j
	}
	return b.String()
}

// Shorten limits s to n characters, with an ellipsis in the middle.
func Shorten(s string, n int, ellipsis string) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	head := (n - utf8.RuneCountInString(ellipsis)) / 2
	tail := n - utf8.RuneCountInString(ellipsis) - head
	return string(runes[:head]) + ellipsis + string(runes[len(runes)-tail:])
}
