package render

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	checked "probesim.dev/internal/answers/check/render"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/html"
	"probesim.dev/internal/show/report"
)

// Text writes the verdicts, the timeline and the events for a terminal. What to do comes right
// after the cause.
func (a *Answer) Text(w io.Writer, o report.Options) error {
	b := &report.Writer{Options: o}
	items, rest := a.items()
	for _, v := range items {
		b.Lead(v.Headline, v.Because)
		text(b, 2, v.Paragraphs)
		b.Gap()
	}
	a.recording(b, rest)
	_, err := b.WriteTo(w)
	return err
}

func text(b *report.Writer, margin int, list []paragraph) {
	for _, p := range list {
		b.Line(margin, strings.TrimSpace(p.Label+" "+p.Text), report.Plain)
		if p.Command != "" { // in one line, to be copied
			b.WriteString(strings.Repeat(" ", margin+2) + printable.Text(p.Command) + "\n")
		}
		for _, line := range p.Lines {
			b.Line(margin+2, line, report.Dim)
		}
	}
}

// recording adds the timeline and the events, and the rest.
func (a *Answer) recording(b *report.Writer, rest []paragraph) {
	a.Timeline(&b.Buffer, b.Options)
	if len(rest) > 0 {
		b.Gap()
		text(b, 0, rest)
	}
}

// Timeline writes the timeline and the events for a terminal.
func (a *Answer) Timeline(w io.Writer, o report.Options) error {
	b := &report.Writer{Options: o}
	run := a.drawn()
	b.Line(0, run.Description, report.Plain)
	b.Gap()
	report.Timeline(&b.Buffer, run, o)
	if len(run.EventList) > 0 {
		b.Gap()
		report.Events(&b.Buffer, run, o)
	}
	_, err := b.WriteTo(w)
	return err
}

// Markdown writes the verdicts for an issue or a chat, and below them the timeline and the events,
// folded up.
func (a *Answer) Markdown(w io.Writer) error {
	items, rest := a.items()
	all, recording := "", &report.Writer{}
	for _, v := range items {
		all += "### " + escape(v.Headline) + strings.TrimLeft(escape(v.Because), "\n")
		for _, p := range v.Paragraphs {
			all += p.markdown()
		}
	}
	a.recording(recording, rest)
	_, err := fmt.Fprintf(w, "%s<details><summary>Timeline and events</summary>\n\n%s</details>\n", all,
		fenced("text", recording.String()))
	return err
}

func (p *paragraph) markdown() (text string) {
	if p.Label != "" {
		text = "**" + p.Label + "** "
	}
	text += escape(p.Text)
	if p.Command != "" {
		text += fenced("sh", printable.Text(p.Command)+"\n")
	}
	if len(p.Lines) > 0 {
		text += fenced("text", strings.Join(p.Lines, "\n")+"\n")
	}
	return text
}

// escape returns a paragraph in which nothing has a meaning in Markdown.
func escape(text string) string { return checked.Escape(printable.Text(text)) + "\n\n" }

// fenced returns a code block that no text can end.
func fenced(language, text string) string {
	return "```" + language + "\n" + strings.ReplaceAll(printable.Lines(text), "```", "` ` `") + "```\n\n"
}

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"clean": printable.Text}).
	ParseFS(assets, "assets/*.gohtml"))

// HTML writes a page with the verdicts, and the recording below them.
func (a *Answer) HTML(w io.Writer) error {
	run := a.drawn()
	for _, p := range a.Recording.Problems {
		run.Notes = append(run.Notes, p.String())
	}
	var section, top bytes.Buffer
	if err := html.Section(&section, run); err != nil {
		return err
	}
	run.Output = section.String()
	items, rest := (&Answer{a.Recording, a.Report, a.Pod, true}).items()
	if err := templates.ExecuteTemplate(&top, "verdicts.gohtml", map[string]any{"Items": items, "Rest": rest}); err !=
		nil {
		return err
	}
	page := html.Page{Title: printable.Text(items[0].Headline), Top: template.HTML(top.String()),
		Style: html.Asset(assets, "verdicts.css")}
	page.Add(run)
	return page.Write(w, []report.Case{{Scenario: "recording", Runs: []*report.Run{run}}})
}

// JSON writes one object with the verdicts and the recording.
func (a *Answer) JSON(w io.Writer) error {
	type named struct {
		Pod string `json:"pod,omitempty"`
		UID string `json:"uid,omitempty"`
		*verdict.Verdict
		Restarts *int `json:"restarts,omitempty"`
	}
	list := []named{}
	for i := range a.Report.Verdicts {
		v := &a.Report.Verdicts[i]
		n := named{Verdict: v}
		if a.Name(v.Pod) != "" {
			n.Pod, n.UID = v.Pod.Key(), v.Pod.UID // as the facts in JSON have them
		}
		if v.Restarts >= 0 {
			n.Restarts = &v.Restarts
		}
		if a.About(v.Pod) {
			list = append(list, n)
		}
	}
	return a.Recording.WriteJSON(w, list)
}
