package report

import (
	"strings"

	"probesim.dev/internal/show/document"
)

// legend explains the characters that the timeline contains.
func (d *drawing) legend() string {
	g := d.g
	entries := []struct {
		glyph rune
		st    document.Style
		text  string
	}{
		{g.success, good, "success"}, {g.successes, good, "several successes"},
		{g.failed, bad, "failure"}, {g.someFailed, bad, "failures and successes"},
		{g.broken, warn, "probe error"}, {g.warning, warn, "warning"},
		{g.running, good, "running, numbered by restarts"},
		{g.killing, warn, "stop pending: preStop hook, or other containers first"}, {g.stopping, warn, "stopping"},
		{g.busy, warn, "hook, image pull, or wait for volumes"},
		{g.window, warn, "rule of the behavior"},
		{g.levels[len(g.levels)-1], bad, "requests lost"},
		{g.exit, bad, "exit"}, {g.done, dim, "exit code 0"}, {g.waiting, dim, "waiting"},
		{g.yes, good, "true"}, {g.no, dim, "false"}, {g.both, warn, "several changes"},
		{g.unknown, dim, "not recorded"},
		{g.gap, dim, "compressed"},
	}
	d.drawn[cell{g.gap, dim}] = len(d.scale.gaps) > 0
	var b strings.Builder
	column := 0
	for _, e := range entries {
		if !d.drawn[cell{e.glyph, e.st}] {
			continue
		}
		width := 2 + len(e.text)
		if column > 0 && column+3+width > d.o.Columns() {
			b.WriteString("\n")
			column = 0
		}
		if column > 0 {
			b.WriteString("   ")
			column += 3
		}
		b.WriteString(d.o.Paint(e.st, string(e.glyph)) + " " + d.o.Paint(dim, e.text))
		column += width
	}
	if column > 0 {
		b.WriteString("\n")
	}
	return b.String()
}
