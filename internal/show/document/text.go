package document

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
)

// textWriter writes text for a terminal.
type textWriter struct {
	Options
	strings.Builder
	gap    bool // before the next line
	top    bool // the last line is the title of a section
	hidden bool // a section was left out
	below  int  // the margin of code and of a command, which are below a paragraph
	err    error
}

// columnGap is the space between two columns.
const columnGap = 2

func (d *Document) writeText(w io.Writer, o Options) error {
	t := &textWriter{Options: o}
	if d.Headline {
		t.title(d.Title, d.Facts)
	}
	t.body(&d.Body)
	if more := d.More; t.hidden || len(more) > 0 {
		if t.hidden {
			more = append([]string{"--details for all tables"}, more...)
		}
		t.gap = true
		t.wrapped(0, "More: "+strings.Join(more, ", "), Dim)
	}
	if t.err != nil {
		return t.err
	}
	_, err := io.WriteString(&printable.Writer{To: w, Color: o.Color}, t.String())
	return err
}

func (t *textWriter) body(b *Body) {
	for i, x := range b.blocks {
		t.below = 2
		if i > 0 {
			if p, ok := b.blocks[i-1].(paragraph); ok {
				t.below += p.indent
			}
		}
		switch x := x.(type) {
		case gap:
			t.gap = true
		case paragraph:
			t.paragraph(&x)
		case *items:
			t.items(x.list)
		case code:
			for line := range strings.Lines(x.text) {
				t.wrapped(t.below, strings.TrimSuffix(line, "\n"), Dim)
			}
		case *Table:
			t.gap = t.gap || !t.top && len(x.Head) > 0
			t.table(x)
		case *Section:
			t.section(x)
		case Picture:
			t.gap = t.gap || !t.top
			t.picture(&x)
		}
	}
}

// line writes a finished line.
func (t *textWriter) line(text string) {
	if t.gap && t.Len() > 0 {
		t.WriteByte('\n')
	}
	t.gap, t.top = false, false
	t.WriteString(strings.TrimRight(strings.Repeat(" ", t.Margin)+text, " ") + "\n")
}

// wrapped writes a text with a margin, which the text may begin with, too.
func (t *textWriter) wrapped(margin int, text string, style Style) {
	text = printable.Text(text)
	words := strings.TrimLeft(text, " ")
	margin += len(text) - len(words)
	for _, line := range Wrap(words, t.Columns()-margin, 20) {
		t.line(strings.Repeat(" ", margin) + t.Paint(style, line))
	}
}

func (t *textWriter) paragraph(p *paragraph) {
	switch {
	case p.indent > 0:
		t.wrapped(p.indent, strings.TrimLeft(p.lead+" "+p.text, " "), p.style)
	case p.lead != "":
		t.lead(p.lead, p.text)
	default:
		t.wrapped(0, p.text, p.style)
	}
}

// lead writes a paragraph that begins with a bold sentence.
func (t *textWriter) lead(sentence, rest string) {
	sentence = printable.Text(sentence)
	text, at := strings.TrimRight(sentence+" "+printable.Text(rest), " "), 0
	for _, line := range Wrap(text, t.Columns(), 20) {
		at += strings.Index(text[at:], line)
		n := min(max(len(sentence)-at, 0), len(line))
		t.line(t.Paint(Bold, line[:n]) + line[n:])
		at += len(line)
	}
}

// title writes a title with facts at the right edge.
func (t *textWriter) title(title, facts string) { t.hanging("", title, facts, Plain, Bold) }

func (t *textWriter) section(s *Section) {
	if s.Page || s.Details && !t.Details {
		t.hidden = t.hidden || !s.Page && s.Title != ""
		return
	}
	t.gap = t.gap || s.Title != "" || !t.top
	switch {
	case s.Because != "":
		t.lead(s.Title, s.Because)
	case s.Title != "":
		t.title(s.Title, s.Facts)
	}
	t.top = s.Title != ""
	t.body(&s.Body)
}

func (t *textWriter) picture(p *Picture) {
	if p.Text == nil {
		return
	}
	var b strings.Builder
	o := t.Options
	o.Width, o.Margin = t.Columns(), 0
	if err := p.Text(&b, o); t.err == nil {
		t.err = err
	}
	for line := range strings.Lines(b.String()) {
		t.line(strings.TrimSuffix(line, "\n"))
	}
}

// hanging writes a text behind a mark, with the margin of the mark in its further lines, and an end
// at the right edge. If the last line has no room for the end, it becomes a line of its own.
func (t *textWriter) hanging(mark, text, end string, markStyle, style Style) {
	text, end = printable.Text(text), printable.Text(end)
	margin, width, size := length(mark), t.Columns(), length(end)
	lines := Wrap(text, width-margin, 20)
	last := len(lines) - 1
	for i, line := range lines {
		before := strings.Repeat(" ", margin)
		if i == 0 {
			before = t.Paint(markStyle, mark)
		}
		free := width - margin - length(line) - size
		if i == last && end != "" && free >= columnGap {
			line = t.Paint(style, line) + strings.Repeat(" ", free) + end
			end = ""
		} else {
			line = t.Paint(style, line)
		}
		t.line(before + line)
	}
	switch {
	case end == "":
	case size > width-margin && size <= width: // it needs a part of the margin
		t.line(strings.Repeat(" ", width-size) + end)
	default:
		t.wrapped(margin, end, Plain)
	}
}

// items writes a list. Its texts are aligned from the first mark on.
func (t *textWriter) items(list []Item) {
	widest := 0
	for i := range list {
		if mark := list[i].Mark; mark != "" && !isNumber(mark) {
			widest = max(widest, length(printable.Text(mark)), 4)
		}
	}
	aligned := 0
	for i := range list {
		if list[i].Mark != "" {
			aligned = widest
		}
		t.item(&list[i], aligned)
	}
}

// isNumber reports whether a mark is the number of an item, such as 1.
func isNumber(mark string) bool { return strings.HasSuffix(mark, ".") }

func (t *textWriter) item(x *Item, widest int) {
	mark := printable.Text(x.Mark)
	below := 2
	switch {
	case mark == "" && widest == 0 && x.Text == "":
		mark = strings.Repeat(" ", t.below)
	case mark == "" && widest == 0:
		mark = "  "
	case isNumber(mark):
		mark += " "
		below = length(mark)
	case mark != "" && strings.Trim(mark, "<,0123456789") == "": // numbers end below each other
		mark = fmt.Sprintf("%*s  ", widest, mark)
	default:
		mark += strings.Repeat(" ", widest-length(mark)+columnGap)
	}
	switch {
	case x.Text != "":
		t.hanging(mark, x.Text, x.Where, x.Style, Plain)
	case len(x.Notes) == 0 && x.Where == "" && x.Body == nil:
		t.command(mark, x.Command, x.Style)
		return
	default:
		t.hanging("", strings.TrimRight(mark, " "), x.Where, Plain, x.Style)
	}
	for _, note := range x.Notes {
		t.wrapped(below, note, Plain)
	}
	if x.Command != "" {
		t.command(strings.Repeat(" ", below), x.Command, Dim)
	}
	if x.Body != nil {
		t.Margin += below
		t.body(x.Body)
		t.Margin -= below
	}
}

// command writes a command line that a shell reads as one, even if it has several lines.
func (t *textWriter) command(mark, command string, style Style) {
	margin, words := length(mark), mark
	line := ""
	for i, part := range strings.Split(printable.Text(command), " --") {
		switch {
		case i == 0:
			line = part
		case margin+length(line)+len(" --")+length(part)+len(` \`) > t.Columns() && strings.Count(line, "'")%2 == 0:
			t.line(t.Paint(style, words+line+` \`))
			words, line = strings.Repeat(" ", margin), "--"+part
		default:
			line += " --" + part
		}
	}
	t.line(t.Paint(style, words+line))
}

// table writes a table. If it is too wide, each row becomes a label with the other cells below it,
// each with the head of its column.
func (t *textWriter) table(x *Table) {
	columns := x.written()
	rows := x.rows
	if strings.Join(x.Head, "") != "" {
		head := row{}
		for _, text := range x.Head {
			head.cells = append(head.cells, Cell{Text: text, Style: Dim})
		}
		rows = append([]row{head}, rows...)
		if x.Ruled {
			rows = slices.Insert(rows, 1, ruler(&head))
		}
	}
	widths, total := make([]int, len(columns)), -columnGap
	for i, column := range columns {
		for k := range rows {
			if !rows[k].group {
				widths[i] = max(widths[i], length(printable.Text(rows[k].cell(column).Text)))
			}
		}
		total += widths[i] + columnGap
	}
	last := len(columns) - 1
	if last < 0 { // it has only lines across all columns
		last, columns, widths = 0, []int{0}, []int{0}
	}
	wraps, room := columns[last] < x.Left, t.Columns()-total+widths[last] // of the last column, if it is text
	for k := range rows {
		switch r := &rows[k]; {
		case r.group:
			t.wrapped(0, r.cells[0].Text, r.cells[0].Style)
		case total <= t.Columns() || wraps && room >= leastText:
			t.row(x, r, columns, widths)
		case k >= len(rows)-len(x.rows):
			t.narrow(x, r, columns)
		}
	}
}

var dashes = regexp.MustCompile(`\S`)

// ruler returns a row with a line of dashes below each head.
func ruler(head *row) (r row) {
	for _, c := range head.cells {
		r.cells = append(r.cells, Cell{Text: dashes.ReplaceAllString(c.Text, "-"), Style: c.Style})
	}
	return r
}

// leastText is the minimum width of a column of text that wraps.
const leastText = 20

func (t *textWriter) row(x *Table, r *row, columns, widths []int) {
	var b strings.Builder
	margin := 0
	for i, column := range columns {
		c := r.cell(column)
		text := printable.Text(c.Text)
		space := strings.Repeat(" ", widths[i]-length(text))
		switch {
		case column >= x.Left:
			b.WriteString(space + t.Paint(c.Style, text))
		case i < len(columns)-1:
			b.WriteString(t.Paint(c.Style, text) + space)
		default:
			for k, line := range Wrap(text, t.Columns()-margin, leastText) {
				if k > 0 {
					b.WriteString("\n" + strings.Repeat(" ", t.Margin+margin))
				}
				b.WriteString(t.Paint(c.Style, line))
			}
		}
		b.WriteString(strings.Repeat(" ", columnGap))
		margin += widths[i] + columnGap
	}
	t.line(b.String())
}

// narrow writes a row without columns: texts one after the other, and the other cells below them,
// each with its head.
func (t *textWriter) narrow(x *Table, r *row, columns []int) {
	var left, rest []string
	for _, column := range columns {
		text := strings.TrimRight(printable.Text(r.cell(column).Text), " ")
		switch {
		case strings.TrimSpace(text) == "":
		case column < x.Left:
			left = append(left, text)
		default:
			rest = append(rest, strings.TrimLeft(x.head(column)+" "+strings.TrimSpace(text), " "))
		}
	}
	text := strings.Join(left, "  ")
	words := strings.TrimLeft(text, " ")
	margin := strings.Repeat(" ", len(text)-len(words))
	for i, line := range Wrap(words, t.Columns()-len(margin)-2, leastText) {
		if i == 1 {
			margin += "  "
		}
		t.line(margin + t.Paint(r.cell(columns[0]).Style, line))
	}
	separator := ", "
	if slices.ContainsFunc(rest, func(text string) bool { return strings.Contains(text, separator) }) {
		separator = "; "
	}
	if len(rest) > 0 {
		t.wrapped(6, strings.Join(rest, separator), Plain)
	}
}
