package document

import (
	"cmp"
	"io"
	"strings"

	"probesim.dev/internal/printable"
)

// markdownWriter writes Markdown as GitHub reads it.
type markdownWriter struct {
	strings.Builder
	err error
}

func (d *Document) writeMarkdown(w io.Writer) error {
	var m markdownWriter
	if d.Headline {
		m.block("## " + Escape(d.Title))
		m.block(Escape(d.Facts))
	}
	m.body(&d.Body, 3)
	if m.err != nil {
		return m.err
	}
	_, err := io.WriteString(&printable.Writer{To: w}, strings.TrimRight(m.String(), "\n")+"\n")
	return err
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	"<", "&lt;", ">", "&gt;", "|", `\|`, "#", `\#`, "@", "&#64;", "~", `\~`,
)

// Escape returns a text on one line in which nothing has a meaning in Markdown.
func Escape(text string) string {
	return markdownEscapes.Replace(printable.Text(strings.Join(strings.Fields(text), " ")))
}

// Fenced returns a code block of Markdown that no text can end.
func Fenced(language, text string) string {
	text = strings.TrimRight(strings.ReplaceAll(printable.Lines(text), "```", "` ` `"), "\n")
	return "```" + language + "\n" + text + "\n```"
}

// block writes text, and an empty line after it.
func (m *markdownWriter) block(text string) {
	if text != "" {
		m.WriteString(text + "\n\n")
	}
}

func (m *markdownWriter) body(b *Body, level int) {
	for _, x := range b.blocks {
		switch x := x.(type) {
		case paragraph:
			m.block(strings.TrimSpace(emphasized(x.lead) + " " + Escape(x.text)))
		case *items:
			m.items(x.list)
		case code:
			m.block(Fenced(x.language, x.text))
		case *Table:
			m.table(x)
		case *Section:
			m.section(x, level)
		case Picture:
			m.picture(&x)
		}
	}
}

func emphasized(text string) string {
	if text == "" {
		return ""
	}
	return "**" + Escape(text) + "**"
}

func (m *markdownWriter) section(s *Section, level int) {
	switch {
	case s.Page:
		return
	case s.Fold:
		m.block("<details><summary>" + Escape(s.Title) + "</summary>")
	case s.Title != "":
		m.block(strings.Repeat("#", level) + " " + Escape(s.Title))
	}
	m.block(Escape(s.Because))
	m.block(Escape(s.Facts))
	m.body(&s.Body, min(level+1, 6))
	if s.Fold {
		m.block("</details>")
	}
}

func (m *markdownWriter) picture(p *Picture) {
	if p.Text == nil {
		return
	}
	var b strings.Builder
	if err := p.Text(&b, Options{}); m.err == nil {
		m.err = err
	}
	m.block(Fenced("text", b.String()))
}

func (m *markdownWriter) items(list []Item) {
	var lines []string
	for i := range list {
		x := &list[i]
		if x.Mark == "" && x.Text == "" {
			m.block(Fenced("sh", printable.Text(x.Command)))
			continue
		}
		mark, text := "- ", Escape(x.Text)
		switch {
		case isNumber(x.Mark):
			mark = x.Mark + " "
		case x.Mark != "":
			text = strings.TrimRight(emphasized(x.Mark)+" "+text, " ")
		}
		if x.Where != "" {
			text += " (" + Escape(x.Where) + ")"
		}
		below := Body{}
		for _, note := range x.Notes {
			below.Text(Plain, note)
		}
		below.Command(x.Command)
		if x.Body != nil {
			below.Append(x.Body)
		}
		lines = append(lines, mark+text+m.nested(&below, len(mark)))
	}
	m.block(strings.Join(lines, "\n"))
}

// nested returns what is below the text of an item, with a margin. A list follows the text at once.
func (m *markdownWriter) nested(b *Body, margin int) string {
	var n markdownWriter
	n.body(b, 6)
	m.err = cmp.Or(m.err, n.err)
	text := strings.TrimRight(n.String(), "\n")
	if text == "" {
		return ""
	}
	if !strings.HasPrefix(text, "- ") {
		text = "\n" + text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = strings.Repeat(" ", margin) + line
		}
	}
	return "\n" + strings.Join(lines, "\n")
}

func (m *markdownWriter) table(x *Table) {
	columns := x.written()
	var head, line []string
	for _, column := range columns {
		head = append(head, Escape(x.head(column)))
		line = append(line, map[bool]string{true: "---", false: "--:"}[column < x.Left])
	}
	m.WriteString("| " + strings.Join(head, " | ") + " |\n|" + strings.Join(line, "|") + "|\n")
	for i := range x.rows {
		var cells []string
		for _, column := range columns {
			c := x.rows[i].cell(column)
			text := Escape(c.Text)
			if c.Style == Bad || x.rows[i].group && c.Style != Dim && column == 0 {
				text = emphasized(c.Text)
			}
			cells = append(cells, text)
		}
		m.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	m.WriteString("\n")
}
