package document

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"

	"probesim.dev/internal/printable"
)

//go:embed assets
var assets embed.FS

// PictureStyle is the style sheet of pictures, which pages have, too.
var PictureStyle = asset("picture.css")

func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the file is embedded
	}
	return string(text)
}

// policy returns a content security policy that allows only a style and a script, and forbids
// loading anything.
func policy(style, script string) string {
	digest := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; img-src data:; style-src " + digest(style) + "; script-src " + digest(script)
}

// pageWriter writes a self-contained page.
type pageWriter struct {
	strings.Builder
	numbered bool // whether sections without an ID have numbers
	sections int  // with links in the contents
	parts    int
	err      error
}

const pageHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="probesim">
<title>%s</title>
<link rel="icon" href="data:,">
<style>%s</style>
</head>
<body class="document">
`

func (d *Document) writePage(w io.Writer) error {
	p := pageWriter{numbered: true}
	var several []*Section
	for _, x := range d.blocks {
		if s, ok := x.(*Section); ok && s.Title != "" && s.Badge != "" {
			several = append(several, s)
		}
	}
	style, script := PictureStyle+asset("page.css")+asset("document.css"), d.Script+asset("copy.js")
	fmt.Fprintf(&p, pageHead, policy(style, script), text(d.Title), style)
	if d.Headline || len(several) > 1 {
		p.WriteString("<nav>\n")
		p.element("h1", "", d.Title)
		p.facts(d.Facts)
		if p.body(&d.Nav, 3); len(d.Nav.blocks) == 0 {
			p.contents(several)
		}
		p.WriteString("</nav>\n")
	}
	p.WriteString("<main>\n")
	p.body(&d.Body, 2)
	p.WriteString("</main>\n<script>" + script + "</script>\n</body>\n</html>\n")
	return p.to(w)
}

// WritePart writes the blocks as a part of a page that is written later.
func (b *Body) WritePart(w io.Writer) error {
	var p pageWriter
	p.body(b, 3)
	return p.to(w)
}

func (p *pageWriter) to(w io.Writer) error {
	if p.err != nil {
		return p.err
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// text returns a text without markup.
func text(s string) string { return html.EscapeString(printable.Text(s)) }

// contents writes links to sections, if there are several.
func (p *pageWriter) contents(list []*Section) {
	if len(list) < 2 {
		return
	}
	p.WriteString("<ul class=\"items contents\">\n")
	for i, s := range list {
		p.WriteString("<li>" + badge(s.Badge, s.Style) + fmt.Sprintf(`<a href="#s%d">%s</a>`, i+1, text(s.Title)) +
			where(s.Facts) + "</li>\n")
	}
	p.WriteString("</ul>\n")
}

// element writes an element with a text, unless the text is empty.
func (p *pageWriter) element(name, class, s string) {
	if s != "" {
		p.WriteString("<" + name + attribute("class", class) + ">" + text(s) + "</" + name + ">\n")
	}
}

func attribute(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + text(value) + `"`
}

func (p *pageWriter) facts(facts string) { p.element("p", "facts", facts) }

var classes = map[Style]string{Bold: "bold", Dim: "dim", Good: "good", Bad: "bad", Warn: "warn"}

func badge(s string, style Style) string {
	switch {
	case s == "":
		return ""
	case style == Plain:
		return "<b>" + text(s) + "</b> "
	}
	return `<span class="badge ` + classes[style] + `">` + text(s) + "</span> "
}

func where(s string) string {
	if s == "" {
		return ""
	}
	return ` <span class="where">` + text(s) + "</span>"
}

func command(s string) string {
	if s == "" {
		return ""
	}
	return `<p class="command"><button type="button" hidden>Copy</button><code>` + text(s) + "</code></p>\n"
}

func (p *pageWriter) body(b *Body, level int) {
	for _, x := range b.blocks {
		switch x := x.(type) {
		case paragraph:
			lead := ""
			if x.lead != "" {
				lead = "<b>" + text(x.lead) + "</b> "
			}
			p.WriteString("<p" + attribute("class", classes[x.style]) + ">" + lead + text(x.text) + "</p>\n")
		case *items:
			p.items(x.list)
		case code:
			p.WriteString("<pre" + attribute("class", x.language) + ">" + html.EscapeString(printable.Lines(x.text)) +
				"</pre>\n")
		case *Table:
			p.table(x)
		case *Section:
			p.section(x, level)
		case Picture:
			if x.Page != nil && p.err == nil {
				p.err = x.Page(p)
			}
		}
	}
}

func (p *pageWriter) section(s *Section, level int) {
	id, heading := s.ID, fmt.Sprintf("h%d", level)
	switch {
	case id != "" || !p.numbered:
	case level == 2 && s.Badge != "":
		p.sections++
		id = fmt.Sprintf("s%d", p.sections)
	default:
		p.parts++
		id = fmt.Sprintf("p%d", p.parts)
	}
	begin, end := "<section"+attribute("id", id)+">\n", "</section>\n"
	title := "<" + heading + attribute("class", classes[s.Style]) + ">" + badge(s.Badge, s.Style) + text(s.Title) +
		"</" + heading + ">\n"
	if s.Fold || s.Closed {
		open := " open"
		if s.Closed {
			open = ""
		}
		begin, end = "<details"+attribute("id", id)+open+">", "</details>\n"
		title = "<summary>" + strings.TrimSuffix(title, "\n") + "</summary>\n"
	}
	if s.Title == "" {
		title = ""
	}
	p.WriteString(begin + title)
	p.facts(s.Facts)
	p.element("p", "", s.Because)
	p.body(&s.Body, min(level+1, 6))
	p.WriteString(end)
}

func (p *pageWriter) items(list []Item) {
	if len(list) == 0 || len(list) == 1 && list[0].Mark == "" && list[0].Text == "" {
		for i := range list {
			p.WriteString(command(list[i].Command))
		}
		return
	}
	p.WriteString("<ul class=\"items\">\n")
	for i := range list {
		x := &list[i]
		mark := badge(x.Mark, x.Style)
		if x.Step > 0 {
			mark = jump("jump at", x.Step, x.Mark) + " "
		}
		p.WriteString("<li" + attribute("class", classes[x.Style]) + ">" + mark + "<span>" + text(x.Text) +
			"</span>" + where(x.Where))
		for _, note := range x.Notes {
			p.WriteString("\n<p>" + text(note) + "</p>")
		}
		p.WriteString(command(x.Command))
		if x.Body != nil {
			p.body(x.Body, 6)
		}
		p.WriteString("</li>\n")
	}
	p.WriteString("</ul>\n")
}

// jump returns a button that shows a record in the timeline, or only its text without a step.
func jump(class string, step int64, s string) string {
	if step == 0 {
		return text(s)
	}
	return fmt.Sprintf(`<button type="button" class="%s" data-step="%d">%s</button>`, class, step, text(s))
}

// content returns the text of a cell, with its link or its buttons.
func (c *Cell) content() string {
	switch {
	case c.Link != "":
		return "<a" + attribute("href", c.Link) + ">" + text(c.Text) + "</a>"
	case len(c.Steps) == 0:
		return text(c.Text)
	}
	lines := strings.SplitN(c.Text, "\n", len(c.Steps))
	for i, line := range lines {
		lines[i] = jump("jump", c.Steps[i], line)
	}
	return strings.Join(lines, "<br>")
}

func (p *pageWriter) table(t *Table) {
	columns := t.columns()
	head := func(i int) string {
		if i < t.Left {
			return `<th scope="col">` + text(t.head(i))
		}
		return `<th scope="col" class="number">` + text(t.head(i))
	}
	p.WriteString("<div class=\"scroll\"><table>\n")
	if len(t.Head) > 0 {
		p.WriteString("<thead><tr>")
		for i := range columns {
			p.WriteString(head(i))
			if len(t.Axis) > 0 && i == t.picture() {
				p.WriteString(axis(t.Axis))
			}
		}
		p.WriteString("</tr></thead>\n")
	}
	p.WriteString("<tbody>\n")
	for k := range t.rows {
		r := &t.rows[k]
		if r.group {
			fmt.Fprintf(p, "<tr class=\"group\"><th scope=\"colgroup\" colspan=\"%d\">%s</tr>\n", columns,
				text(r.cells[0].Text))
			continue
		}
		p.WriteString("<tr>")
		for i := range columns {
			c := r.cell(i)
			class := classes[c.Style]
			switch {
			case c.Bars != nil:
				class = "picture"
			case i >= t.Left:
				class = strings.TrimSpace("number " + class)
			}
			name := "td"
			if i == 0 {
				name = `th scope="row"`
			}
			p.WriteString("<" + name + attribute("class", class) + attribute("data-label", t.head(i)) + ">" +
				c.content())
			if c.Bars != nil {
				p.WriteString(bars(c.Bars, len(t.Axis)-1))
			}
		}
		p.WriteString("</tr>\n")
	}
	p.WriteString("</tbody></table></div>\n")
	if len(t.Legend) == 0 {
		return
	}
	p.WriteString("<p class=\"legend\">")
	for _, kind := range t.Legend {
		p.WriteString(`<span><i class="k-` + kind.Class + `"></i>` + text(kind.Title) + "</span>")
	}
	p.WriteString("</p>\n")
}
