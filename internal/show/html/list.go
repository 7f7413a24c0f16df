package html

import (
	"strings"

	"probesim.dev/internal/show/report"
)

// page adds the list of runs, if there are several, and the runs.
func (m *markup) page(d *content) {
	if d.Several {
		m.add("<nav id=\"runs\" aria-label=\"Runs\">\n<h1>%s</h1>\n", d.Verdict)
		for i := range d.Cases {
			m.summary(&d.Cases[i], len(d.Cases) == 1)
		}
		m.add(`<p class="tools" hidden><label><input type="search" placeholder="Find a run" aria-label="Find a run">` +
			"</label> <label><input type=\"checkbox\"> failed only</label></p>\n")
		if d.Missing > 0 {
			why := ", because of its size limit"
			if d.Chosen {
				why = ": of scenarios with many runs, the failed and the worst ones"
			}
			m.add("<p class=\"note\">The page has the timelines of %d of %s%s. The list has the command that shows "+
				"each of the others.</p>\n", d.Shown(), report.Plural(d.Runs, "run"), why)
		}
		m.list(d.List)
		m.add("</nav>\n")
	}
	m.add("<main>\n")
	for i := range d.Rows {
		x := &d.Rows[i]
		if x.ID != "" {
			m.run(x)
		}
		if len(x.Over) > 0 {
			m.add(`<section class="over">`)
			for k := range x.Over {
				m.failed(&x.Over[k])
			}
			m.add("</section>\n")
		}
	}
	m.add("</main>\n")
}

// run adds a run under its heading.
func (m *markup) run(x *row) {
	m.add("<section class=\"run\" id=\"%s\" aria-label=\"%s\">\n<header>\n", x.ID, clean(x.Scenario))
	m.add("<h2><span class=\"badge %s\">%s</span> %s</h2>\n<p class=\"facts\">", x.Outcome, x.Outcome,
		clean(x.Scenario))
	for _, fact := range x.Facts() {
		m.add("<span>%s</span> ", fact)
	}
	m.add("<span>%s:%d</span></p>\n", clean(x.File), x.Line)
	m.given(clean(x.Replay), "<p class=\"replay\"><span>repeat this run</span> <code>%s</code></p>\n")
	m.add("</header>\n")
	m.WriteString(x.Output) // markup of section
	m.add("</section>\n")
}

// list adds the list of runs.
func (m *markup) list(rows []row) {
	columns := []string{"Outcome", "Scenario", "Kubernetes", "Seed", "Restarts", "Time to Ready", "Not Ready",
		"What failed"}
	m.table("scroll list", columns, func() {
		for i := range rows {
			m.listed(&rows[i])
		}
	})
	m.add("\n")
}

// listed adds the line about a run.
func (m *markup) listed(x *row) {
	m.add(`<tr data-outcome="%s"><td><span class="badge %s">%s</span><td class="what">`, x.Outcome, x.Outcome, x.Outcome)
	if x.ID != "" {
		m.add(`<a href="#%s">%s</a>`, x.ID, clean(x.Scenario))
	} else {
		m.add("%s", clean(x.Scenario))
	}
	m.add(`<td>%s<td data-label="seed">`, x.Kubernetes)
	if x.Seed != nil {
		m.add("%d", int(*x.Seed))
	}
	m.add(`<td data-label="restarts">%s<td data-label="Ready after">%s<td data-label="not Ready">%s<td class="message">`,
		x.Started(), x.Ready(), x.Unready())
	m.given(x.Why, "<code>%s</code>")
	for k := range x.Over {
		m.add("in no run: <code>%s</code> ", clean(x.Over[k].Name))
	}
	if x.ID == "" && len(x.Over) == 0 && !x.Invalid {
		m.add(" <details><summary>command</summary><code>%s -o html</code></details>", clean(x.Replay))
	}
	m.add("</tr>\n")
}

// summary adds the statistics of a case.
func (m *markup) summary(s *caseSummary, only bool) {
	open := ""
	if only || s.Outcome() != report.OK {
		open = " open"
	}
	m.add("<details class=\"block summary\"%s><summary><h3><span class=\"badge %s\">%s</span> %s</h3> "+
		"<span class=\"count\">%s</span></summary>\n", open, s.Outcome(), s.Outcome(), clean(s.Scenario),
		strings.Join(s.Facts, " · "))
	if len(s.Tallies) > 0 {
		m.add("<ul class=\"checks\">\n")
		for _, t := range s.Tallies {
			m.add(`<li><span class="badge %s">%s</span> <b>%s</b> <code>%s</code>`, t.Outcome(), t.Outcome(), t.Count(),
				clean(t.Name))
			m.given(t.Note(), ` <span class="why">%s</span>`)
			if len(t.Seeds) > 0 {
				m.add(` <span class="why">broken by %s</span>`, t.Seeds.Label())
			}
			m.add("</li>\n")
		}
		m.add("</ul>\n")
	}
	if len(s.Numbers) > 0 {
		m.add("<div class=\"scroll\"><table class=\"numbers\">\n<thead><tr><th scope=\"col\"><th scope=\"col\">min" +
			"<th scope=\"col\">median<th scope=\"col\">p95<th scope=\"col\">max<th scope=\"col\">seed" +
			"<th scope=\"col\">distribution</tr></thead>\n")
		for i := range s.Numbers {
			m.add("<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"7\">%s</tr>\n", s.Numbers[i].Name)
			for k := range s.Numbers[i].Rows {
				m.number(&s.Numbers[i].Rows[k])
			}
			m.add("</tbody>\n")
		}
		m.add("</table></div>\n")
	}
	if s.Incomplete > 0 {
		m.add("<p class=\"note\">The numbers leave out %s that ended early or for which there was no memory.</p>\n",
			report.Plural(s.Incomplete, "run"))
	}
	m.add("</details>\n")
}

// number adds a statistic with its histogram.
func (m *markup) number(x *numberRow) {
	m.add("<tr><td>%s<td>%s<td>%s<td>%s<td>%s<td>", x.Label, x.Min, x.Median, x.P95, x.Max)
	switch {
	case x.Same:
	case x.ID != "":
		m.add(`<a href="#%s">%d</a>`, x.ID, int(x.Seed))
	default:
		m.add("%d", int(x.Seed))
	}
	m.add("<td>")
	if len(x.Bars) > 0 {
		m.add(`<svg class="histogram" viewBox="0 0 150 24" width="150" height="24" role="img" aria-label="histogram">`)
		for _, b := range x.Bars {
			class := ""
			if b.Never {
				class = "never"
			}
			m.add(`<rect x="%d" y="%d" width="5" height="%d" class="%s"><title>%s</title></rect>`, b.X, b.Y, b.Height, class,
				b.Text)
		}
		m.add("</svg>")
	}
	m.given(x.Never, ` <span class="why">%s</span>`)
	m.add("</tr>\n")
}
