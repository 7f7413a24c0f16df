package html

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
	"probesim.dev/trace"
)

// markup writes HTML. Every text goes through add, which leaves no markup in it. html/template
// would do so, too, but calls methods by their names, so that the linker has to keep all methods
// of all types: the playground loads a third less without it.
type markup struct {
	strings.Builder
	err error
}

// render writes what a function adds.
func render(w io.Writer, body func(*markup)) error {
	var m markup
	body(&m)
	if m.err != nil {
		return m.err
	}
	_, err := io.WriteString(w, m.String())
	return err
}

// add adds markup with texts in the place of verbs. The format is a constant.
func (m *markup) add(format string, texts ...any) {
	for i, x := range texts {
		if _, isNumber := x.(int); !isNumber {
			texts[i] = html.EscapeString(fmt.Sprint(x))
		}
	}
	fmt.Fprintf(m, format, texts...)
}

// given adds markup with a text, unless the text is empty.
func (m *markup) given(text, format string) {
	if text != "" {
		m.add(format, text)
	}
}

func clean(text string) string { return printable.Text(text) }

func (m *markup) badge(outcome report.Outcome) {
	word := string(outcome)
	if outcome == report.Failed {
		word = "FAILED"
	}
	m.add(`<span class="badge %s">%s</span> `, outcome, word)
}

// jump adds a button that shows a record in the timeline.
func (m *markup) jump(r *trace.Record) {
	m.add(`<button type="button" class="jump" data-step="%d" title="Show in the timeline">%s</button>`, int(r.Step),
		trace.FormatTime(r.T))
}

// block adds a part that the reader can fold.
func (m *markup) block(title, count string, body func()) {
	m.add("<details class=\"block\" open><summary><h3>%s</h3> <span class=\"count\">%s</span></summary>\n", title,
		count)
	body()
	m.add("</details>\n")
}

// table adds a table with columns, in an element of a class.
func (m *markup) table(class string, columns []string, rows func()) {
	m.add("<div class=\"%s\"><table>\n<thead><tr>", class)
	for _, c := range columns {
		m.add(`<th scope="col">%s`, c)
	}
	m.add("</tr></thead>\n<tbody>\n")
	rows()
	m.add("</tbody></table></div>")
}

// omitted adds the row in the place of rows that are left out.
func (m *markup) omitted(columns, rows int) {
	m.add("<tr class=\"left\"><td colspan=\"%d\">… %s omitted; use -o jsonl to see all</tr>\n", columns,
		report.Plural(rows, "row"))
}

// section adds one run. Its heading and the expectations over all runs are parts of the page.
func (m *markup) section(s *section) {
	m.given(s.Describe, "<p class=\"description\">%s</p>\n")
	m.given(s.ErrorIs, "<pre class=\"broken\">ended early: %s</pre>\n")
	for i := range s.Failed {
		m.failed(&s.Failed[i])
	}
	for _, note := range s.Notes {
		m.add("<p class=\"note\">%s</p>\n", clean(note))
	}
	m.timeline(s)
	if len(s.Story) > 0 {
		m.block("What happened", report.Plural(s.Changes(), "change"), func() { m.story(s) })
	}
	if len(s.Expectations) > 0 {
		m.block("Expectations", fmt.Sprintf("%d of %d ok", s.OK(), len(s.Expectations)), func() { m.expectations(s) })
	}
	if len(s.Events) > 0 {
		m.block("Events", "as kubectl describe lists them", func() { m.events(s) })
	}
}

func (m *markup) timeline(s *section) {
	data, err := json.Marshal(s.Chart) // has no < and no &
	if m.err = err; err != nil {
		return
	}
	m.add("<figure class=\"chart\" aria-label=\"Timeline\">\n<noscript><pre>%s</pre></noscript>\n", s.Text)
	m.WriteString(`<script type="application/json" class="data">` + string(data) + "</script>\n</figure>\n")
}

func (m *markup) story(s *section) {
	m.table("scroll", []string{"At", "Object", "What", "Cause"}, func() {
		for i := range s.Story {
			h := &s.Story[i]
			if s.Left > 0 && s.Half(i) {
				m.omitted(4, s.Left)
			}
			m.add(`<tr class="%s"><td class="at">`, h.Tone)
			m.jump(h.Record)
			m.add(`<td>%s<td class="what">%s<td class="cause">`, h.Record.Subject(), clean(h.What))
			m.cause(h)
			m.add("</tr>\n")
		}
	})
}

func (m *markup) cause(h *change) {
	if len(h.Chain) == 0 {
		if h.Cause != nil {
			m.jump(h.Cause)
			m.add(" ")
		}
		m.add("%s", clean(h.Why))
		return
	}
	for i, link := range h.Chain {
		text := clean(link.Text)
		if i > 0 {
			text = "because " + text
		}
		if link.Kind == trace.Behavior {
			m.add("<div>%s</div>", text)
		} else {
			m.add(`<div><button type="button" class="jump" data-step="%d">%s</button></div>`, int(link.Step), text)
		}
	}
}

func (m *markup) expectations(s *section) {
	m.add("<ul class=\"checks\">\n")
	for i := range s.Expectations {
		x := &s.Expectations[i]
		m.add("<li>")
		m.badge(x.Outcome)
		m.add("<code>%s</code>", clean(x.Name))
		m.given(clean(x.Why), ` <span class="why">%s</span>`)
		m.add(" <span class=\"where\">%s:%d</span></li>\n", clean(x.File), x.Line)
	}
	m.add("</ul>")
}

func (m *markup) events(s *section) {
	m.table("scroll", []string{"Type", "Reason", "At", "Object", "Message"}, func() {
		for i, e := range s.Events {
			if s.LeftOut > 0 && s.Half(i) {
				m.omitted(5, s.LeftOut)
			}
			class := ""
			if e.First.Type == "Warning" {
				class = "warn"
			}
			m.add(`<tr class="%s"><td>%s<td class="what">%s<td class="at"><button type="button" class="jump" `+
				`data-step="%d">%s</button><td>%s<td class="message">%s</tr>`+"\n", class, clean(e.First.Type),
				clean(e.First.Reason), int(e.Latest.Step), e.Times(), clean(e.Object()), clean(e.First.Message))
		}
	})
}

// failed adds an expectation that failed.
func (m *markup) failed(x *report.Expectation) {
	m.add("<article class=\"failure\">\n<h3>")
	m.badge(report.Failed)
	m.add("<code>%s</code> <span class=\"where\">%s:%d:%d</span></h3>\n", clean(x.Name), clean(x.File), x.Line,
		x.Column)
	m.given(clean(x.Why), "<p>%s</p>\n")
	for i, f := range x.Failures {
		m.add("<dl><dt>expected<dd>%s<dt>got<dd>%s</dl>\n", clean(f.Expected), clean(f.Got))
		if len(f.Around) > 0 {
			open := ""
			if i == 0 {
				open = " open"
			}
			m.add("<details%s><summary>records around that time</summary>"+
				"<div class=\"scroll\"><table class=\"around\"><tbody>\n", open)
			for _, line := range f.Around {
				mark := ""
				if line.Mark {
					mark = "mark"
				}
				m.add(`<tr class="%s"><td class="at">`, mark)
				m.jump(line.Record)
				m.add("<td>%s<td class=\"message\">%s</tr>\n", line.Record.Subject(), line.Record.Summary())
			}
			m.add("</tbody></table></div></details>\n")
		}
	}
	if x.More > 0 {
		m.add(`<p class="count">and %d more</p>`, x.More)
	}
	m.add("</article>\n")
}
