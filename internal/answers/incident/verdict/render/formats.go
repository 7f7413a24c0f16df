package render

import (
	"io"

	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/html"
	"probesim.dev/internal/show/report"
)

// Document returns the verdicts, and below them the timeline and the events. What to do comes right
// after the cause.
func (a *Answer) Document() *document.Document {
	d := document.New("")
	rest := a.verdicts(d)
	a.recording(d)
	d.Section(document.Section{Body: rest})
	return d
}

// Timeline returns the timeline and the events without verdicts.
func (a *Answer) Timeline() *document.Document {
	d := document.New(a.Recording.Title())
	a.recording(d)
	return d
}

// recording adds the timeline and the events.
func (a *Answer) recording(d *document.Document) {
	run := a.drawn()
	d.Script = html.ChartScript()
	s := d.Section(document.Section{Title: run.Description, Fold: true})
	s.Gap()
	s.Picture(document.Picture{Text: func(w io.Writer, o document.Options) error {
		return report.Timeline(w, run, o)
	}})
	untitled := *run
	untitled.Description = ""
	html.Add(&s.Section(document.Section{Page: true}).Body, &untitled)
	if len(run.EventList) > 0 {
		s.Picture(document.Picture{Text: func(w io.Writer, o document.Options) error {
			return document.WriteText(w, o, run.AddEvents)
		}})
	}
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
