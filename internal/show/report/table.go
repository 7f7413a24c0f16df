package report

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
)

// Style is the appearance of text on a terminal with colors.
type Style = style

// Styles of the cells of a Table.
const (
	Plain = plain
	Bold  = bold
	Dim   = dim
	Good  = good
	Bad   = bad
	Warn  = warn
)

// Table is text in aligned columns. If it is wider than the output, each row becomes a label with
// the other cells below it, each with the head of its column.
type Table struct {
	Left int // number of columns at the start that are aligned to the left; the others are aligned to the right

	rows []tableRow
}

// Cell is a text in a table. It may be empty.
type Cell struct {
	Text  string
	Style Style
}

type tableRow struct {
	cells []Cell
	head  bool
	line  bool // one cell across all columns
}

// Head adds a row with the heads of the columns.
func (t *Table) Head(texts ...string) {
	row := tableRow{head: true}
	for _, text := range texts {
		row.cells = append(row.cells, Cell{text, dim})
	}
	t.rows = append(t.rows, row)
}

// Row adds a row. Later cells may be missing.
func (t *Table) Row(cells ...Cell) { t.rows = append(t.rows, tableRow{cells: cells}) }

// Line adds a line across all columns, such as the title of the rows below it. It wraps, with the
// spaces at its start as margin.
func (t *Table) Line(text string, style Style) {
	t.rows = append(t.rows, tableRow{cells: []Cell{{text, style}}, line: true})
}

// WriteLine writes a line of text, wrapped to the width of the output, with a margin of spaces.
func WriteLine(w io.Writer, margin int, text string, style Style, o Options) error {
	var t Table
	t.Line(strings.Repeat(" ", margin)+text, style)
	return t.Write(w, o)
}

// Writer collects text of lines and tables.
type Writer struct {
	bytes.Buffer
	Options
}

// Line adds a line, as WriteLine does.
func (w *Writer) Line(margin int, text string, style Style) {
	WriteLine(&w.Buffer, margin, text, style, w.Options)
}

// Lead adds a paragraph that begins with a bold sentence.
func (w *Writer) Lead(sentence, rest string) {
	sentence = printable.Text(sentence)
	text, at := strings.TrimRight(sentence+" "+printable.Text(rest), " "), 0
	for _, line := range document.Wrap(text, w.width(), 20) {
		at += strings.Index(text[at:], line)
		n := min(max(len(sentence)-at, 0), len(line))
		w.write(&w.Buffer, w.paint(bold, line[:n])+line[n:]+"\n")
		at += len(line)
	}
}

// Item adds a text behind a head, with the margin of the head in its further lines, and an end at
// the right edge of the output. If the last line has no room for the end, it becomes a line of its
// own. Without a text, the end stands beside the head.
func (w *Writer) Item(head Cell, text, end string) {
	o := w.Options
	begin, text, end := printable.Text(head.Text), printable.Text(text), printable.Text(end)
	margin, width := utf8.RuneCountInString(begin), o.width()-o.Indent
	if text == "" {
		begin, text, margin = "", begin, 0
	}
	lines := document.Wrap(text, width-margin, 20)
	last, size := lines[len(lines)-1], utf8.RuneCountInString(end)
	below := ""
	switch free := width - margin - utf8.RuneCountInString(last) - size; {
	case end == "":
	case free >= columnGap:
		lines[len(lines)-1] = last + strings.Repeat(" ", free) + end
	case size > width-margin && size <= width: // it needs a part of the margin
		below = strings.Repeat(" ", o.Indent+width-size) + end + "\n"
	default:
		lines = append(lines, document.Wrap(end, width-margin, 20)...)
	}
	var b strings.Builder
	for i, line := range lines {
		switch {
		case margin == 0:
			line = o.paint(head.Style, line)
		case i == 0:
			line = o.paint(head.Style, begin) + line
		default:
			line = strings.Repeat(" ", margin) + line
		}
		b.WriteString(strings.TrimRight(strings.Repeat(" ", o.Indent)+line, " ") + "\n")
	}
	o.write(&w.Buffer, b.String()+below)
}

// Table adds a table.
func (w *Writer) Table(t *Table) { t.Write(&w.Buffer, w.Options) }

// Gap adds an empty line.
func (w *Writer) Gap() { w.WriteByte('\n') }

// columnGap is the space between two columns.
const columnGap = 2

// Write writes the table, indented by Options.Indent.
func (t *Table) Write(w io.Writer, o Options) error {
	var b strings.Builder
	margin := strings.Repeat(" ", o.Indent)
	widths := t.widths()
	total := o.Indent - columnGap
	for _, width := range widths {
		total += width + columnGap
	}
	var heads []Cell
	for i := range t.rows {
		row := &t.rows[i]
		switch {
		case row.line:
			t.across(&b, row.cells[0], o)
			continue
		case row.head:
			heads = row.cells
		}
		switch {
		case total <= o.width():
			b.WriteString(strings.TrimRight(margin+t.text(row, widths, o), " ") + "\n")
		case !row.head:
			t.item(&b, row, heads, o)
		}
	}
	return o.write(w, b.String())
}

func (t *Table) widths() []int {
	var widths []int
	for i := range t.rows {
		if t.rows[i].line {
			continue
		}
		for j, c := range t.rows[i].cells {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(printable.Text(c.Text)))
		}
	}
	return widths
}

func (t *Table) text(row *tableRow, widths []int, o Options) string {
	var b strings.Builder
	for i, c := range row.cells {
		text := printable.Text(c.Text)
		space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		if i > 0 {
			b.WriteString(strings.Repeat(" ", columnGap))
		}
		if i < t.Left {
			b.WriteString(o.paint(c.Style, text) + space)
		} else {
			b.WriteString(space + o.paint(c.Style, text))
		}
	}
	return b.String()
}

// across writes a line over all columns.
func (t *Table) across(b *strings.Builder, c Cell, o Options) {
	text := printable.Text(c.Text)
	start := text[:len(text)-len(strings.TrimLeft(text, " "))]
	margin := strings.Repeat(" ", o.Indent) + start
	for _, line := range document.Wrap(strings.TrimLeft(text, " "), o.width()-len(margin), 20) {
		b.WriteString(strings.TrimRight(margin+o.paint(c.Style, line), " ") + "\n")
	}
}

// item writes a row of output that is too narrow for the table.
func (t *Table) item(b *strings.Builder, row *tableRow, heads []Cell, o Options) {
	margin := strings.Repeat(" ", o.Indent)
	var left, rest []string
	for i, c := range row.cells {
		text := printable.Text(c.Text)
		switch {
		case strings.TrimSpace(text) == "":
		case i < t.Left:
			left = append(left, o.paint(c.Style, strings.TrimRight(text, " ")))
		case i < len(heads):
			rest = append(rest, heads[i].Text+" "+text)
		default:
			rest = append(rest, text)
		}
	}
	b.WriteString(margin + strings.Join(left, "  ") + "\n")
	if len(rest) == 0 {
		return
	}
	margin += "      "
	for _, line := range document.Wrap(strings.Join(rest, ", "), o.width()-len(margin), 20) {
		b.WriteString(margin + line + "\n")
	}
}
