// Package document is a report for people. A command builds it once, and it is written as text for
// a terminal, as Markdown and as a page.
//
// A [Document] has a [Body] of blocks, in order. The methods of a Body add them:
//
//	d := document.New("Deployment web: a rollout loses no request")
//	s := d.Section(document.Section{Title: "Deployment web", Facts: "Kubernetes v1.37"})
//	s.Text(document.Warn, "The pods restart.") // nothing for an empty text
//	s.Item(document.Item{Mark: "ok", Style: document.Good, Text: "lost<=0"})
//	s.Table(&table)
//	err := d.Write(w, "markdown", document.Options{})
//
// Texts are plain: no text of a manifest is markup, controls a terminal or is a command to a CI
// system. Only pictures and scripts are written as they are.
package document

import (
	"fmt"
	"io"
)

// Options control text output. The zero value means 80 columns, Unicode and no colors.
type Options struct {
	Width   int  // columns; 0 means 80, and the minimum is 40
	Color   bool // use ANSI colors
	ASCII   bool // draw with ASCII characters only
	Details bool // write the sections that are Details, too
	Margin  int  // spaces before each line, which count as columns
}

// Columns returns the number of columns for text, without the margin.
func (o Options) Columns() int {
	if o.Width == 0 {
		return 80 - o.Margin
	}
	return max(o.Width, 40) - o.Margin
}

// Paint returns a text in a style if colors are on.
func (o Options) Paint(s Style, text string) string {
	if !o.Color || s == Plain || text == "" {
		return text
	}
	return escapes[s] + text + "\x1b[0m"
}

var escapes = map[Style]string{Bold: "\x1b[1m", Dim: "\x1b[2m", Good: "\x1b[32m", Bad: "\x1b[31m", Warn: "\x1b[33m"}

// Style is the meaning of a text, which colors or badges show.
type Style uint8

// The styles.
const (
	Plain Style = iota
	Bold
	Dim
	Good
	Bad
	Warn
)

// Mark returns the mark and the style of a result: ok or FAIL.
func Mark(ok bool) (string, Style) {
	if ok {
		return "ok", Good
	}
	return "FAIL", Bad
}

// Document is a report.
type Document struct {
	Title    string
	Facts    string   // what the report is about, beside the title
	Headline bool     // the title is the first line of text and Markdown, too
	More     []string // what shows more; the last line of text has it
	Script   string   // JavaScript of the page, besides the shared one
	Nav      Body     // what only a page has: below the title, instead of links to the sections
	Body
}

// New returns a document with a title for its page.
func New(title string) *Document { return &Document{Title: title} }

// WriteText writes what a function adds to a document as text.
func WriteText(w io.Writer, o Options, add func(*Body)) error {
	var d Document
	add(&d.Body)
	return d.Write(w, "text", o)
}

// WriteLine writes a text, wrapped. The spaces at its start are the margin of all its lines.
func WriteLine(w io.Writer, style Style, text string, o Options) error {
	return WriteText(w, o, func(b *Body) { b.Text(style, text) })
}

// Formats are the formats of Write.
var Formats = []string{"text", "markdown", "html"}

// Write writes the document in a format. The options are those of text; table is another name of
// it.
func (d *Document) Write(w io.Writer, format string, o Options) error {
	switch format {
	case "text", "table":
		return d.writeText(w, o)
	case "markdown":
		return d.writeMarkdown(w)
	case "html":
		return d.writePage(w)
	}
	return fmt.Errorf("there is no format %q", format)
}

// Body is a list of blocks.
type Body struct{ blocks []block }

// block is one of the types below.
type block any

type (
	gap       struct{}
	paragraph struct {
		lead, text string
		style      Style
		indent     int
	}
	items struct{ list []Item }
	code  struct{ language, text string }
)

// Item is a line of a list: a mark such as ok, 1. or 12, a text, and a place. Zero fields are left
// out.
type Item struct {
	Mark    string
	Style   Style // of the mark
	Text    string
	Where   string
	Notes   []string // paragraphs below the text
	Command string   // a command line to copy, below the notes
	Body    *Body    // what else is below the text; nil: nothing
	Step    int64    // of a record: on a page, the mark shows it in the timeline of the section
}

// Section is a part with a title. Text can leave it out, and a page or Markdown can fold it.
type Section struct {
	Title   string
	Facts   string // beside the title
	Because string // goes on after the title
	ID      string // for links of a page; empty: a number
	Badge   string // beside the title on a page and in its contents
	Style   Style  // of the badge
	Fold    bool   // Markdown folds it up, and a page can
	Closed  bool   // a page folds it up at first
	Details bool   // text has it only with Options.Details
	Page    bool   // only a page has it
	Body
}

// Picture is drawn in characters for text and Markdown, and as a fragment of HTML for a page.
// Either may be nil.
type Picture struct {
	Text func(io.Writer, Options) error
	Page func(io.Writer) error
}

func add(b *Body, x block) { b.blocks = append(b.blocks, x) }

// Append adds what another body has, after a gap.
func (b *Body) Append(other *Body) {
	b.Gap()
	b.blocks = append(b.blocks, other.blocks...)
}

// Gap adds an empty line to text.
func (b *Body) Gap() { add(b, gap{}) }

// Text adds a paragraph.
func (b *Body) Text(style Style, text string) { b.paragraph("", text, style, 0) }

// Note adds a paragraph that text indents.
func (b *Body) Note(style Style, text string) { b.paragraph("", text, style, 2) }

// Lead adds a paragraph that begins with a bold sentence.
func (b *Body) Lead(sentence, rest string) { b.paragraph(sentence, rest, Plain, 0) }

// Label adds a paragraph that begins with a word such as "Fix:", and that text indents.
func (b *Body) Label(word, text string) { b.paragraph(word, text, Plain, 2) }

func (b *Body) paragraph(lead, text string, style Style, indent int) {
	if text != "" || lead != "" && indent == 0 {
		add(b, paragraph{lead, text, style, indent})
	}
}

// Item adds a line to the list at the end of the body, or to a new one.
func (b *Body) Item(x Item) {
	if n := len(b.blocks); n > 0 {
		if last, ok := b.blocks[n-1].(*items); ok {
			last.list = append(last.list, x)
			return
		}
	}
	add(b, &items{[]Item{x}})
}

// List begins a list of its own for the next item.
func (b *Body) List() { add(b, &items{}) }

// Command adds a command line to copy.
func (b *Body) Command(command string) {
	if command != "" {
		add(b, &items{[]Item{{Command: command}}})
	}
}

// Code adds lines as they are, such as a part of a file. Markdown has the name of their language.
func (b *Body) Code(language, text string) {
	if text != "" {
		add(b, code{language, text})
	}
}

// Table adds a table, unless it has no rows.
func (b *Body) Table(t *Table) {
	if len(t.rows) > 0 {
		add(b, t)
	}
}

// Section adds a part, and returns it. A part that stays empty is left out unless it has a title.
func (b *Body) Section(s Section) *Section {
	add(b, &s)
	return &s
}

// Picture adds a picture.
func (b *Body) Picture(p Picture) { add(b, p) }

// Table is text in columns. Without any text, a column is only for the bars of a page.
type Table struct {
	Left  int      // number of columns at the start that are aligned to the left; the others are aligned to the right
	Head  []string // of the columns
	Axis  []string // the labels of the axis of the bars, from 0 to its end
	Ruled bool     // text has a line below the heads
	// Legend explains the bars: the Class and the Title of each kind.
	Legend []Bar
	rows   []row
}

// Cell is a text in a table. It may be empty.
type Cell struct {
	Text  string
	Style Style
	// For a page: pictures, the place that the text leads to, and for each line of the text the
	// step of a record that it shows in the timeline of the section, or 0.
	Bars  []Bar
	Link  string
	Steps []int64
}

type row struct {
	cells []Cell
	group bool // one cell across all columns
}

// Row adds a row. Later cells may be missing.
func (t *Table) Row(cells ...Cell) { t.rows = append(t.rows, row{cells: cells}) }

// Texts adds a row of plain texts.
func (t *Table) Texts(texts ...string) {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i].Text = text
	}
	t.Row(cells...)
}

// Group adds the title of the rows below it.
func (t *Table) Group(text string) { t.Line(Plain, text) }

// Line adds a text across all columns.
func (t *Table) Line(style Style, text string) {
	t.rows = append(t.rows, row{[]Cell{{Text: text, Style: style}}, true})
}

// columns returns the number of columns.
func (t *Table) columns() int {
	n := len(t.Head)
	for _, r := range t.rows {
		n = max(n, len(r.cells))
	}
	return n
}

// written returns the numbers of the columns that have any text.
func (t *Table) written() (list []int) {
	for i := range t.columns() {
		if i < len(t.Head) && t.Head[i] != "" {
			list = append(list, i)
			continue
		}
		for _, r := range t.rows {
			if !r.group && i < len(r.cells) && r.cells[i].Text != "" {
				list = append(list, i)
				break
			}
		}
	}
	return list
}

// picture returns the number of the column with bars, or -1.
func (t *Table) picture() int {
	for _, r := range t.rows {
		for i, c := range r.cells {
			if c.Bars != nil {
				return i
			}
		}
	}
	return -1
}

func (r *row) cell(i int) (c Cell) {
	if i < len(r.cells) {
		c = r.cells[i]
	}
	return c
}

func (t *Table) head(i int) string {
	if i < len(t.Head) {
		return t.Head[i]
	}
	return ""
}
