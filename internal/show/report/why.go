package report

import (
	"io"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/why"
	"probesim.dev/trace"
)

// Why writes explanations as text: the sentences of the state, then the explained record and a line
// for each cause.
func Why(w io.Writer, all []why.Explanation, o document.Options) error {
	text := ""
	for i := range all {
		if i > 0 {
			text += "\n"
		}
		for _, line := range all[i].State {
			text += sentence(document.Plain, line, o)
		}
		if len(all[i].State) > 0 && len(all[i].Chain) > 0 {
			text += "\n"
		}
		for j, link := range all[i].Chain {
			if j == 0 {
				text += sentence(document.Bold, link.Text, o)
			} else {
				text += sentence(document.Plain, "  because "+link.Text, o)
			}
		}
	}
	_, err := io.WriteString(&printable.Writer{To: w, Color: o.Color}, text)
	return err
}

// sentence wraps text to the width of the output. It indents the second and later lines.
func sentence(style document.Style, text string, o document.Options) string {
	const indent = "    "
	out := ""
	for i, line := range document.Wrap(text, o.Columns()-len(indent), 20) {
		if i > 0 {
			out += indent
		}
		out += o.Paint(style, line) + "\n"
	}
	return out
}

type jsonWhy struct {
	Scenario     string            `json:"scenario"`
	Kubernetes   string            `json:"kubernetes"`
	Seed         *int64            `json:"seed,omitempty"`
	Notes        []string          `json:"notes,omitempty"`
	Explanations []jsonExplanation `json:"explanations"`
}

type jsonExplanation struct {
	Pod       string     `json:"pod"`
	Container string     `json:"container,omitempty"`
	State     []string   `json:"state,omitempty"`
	Chain     []jsonLink `json:"chain"`
}

type jsonLink struct {
	T    int64      `json:"t"` // ns
	Step int64      `json:"step"`
	Kind trace.Kind `json:"kind"`
	Text string     `json:"text"`
	Root why.Root   `json:"root,omitempty"`
}

// WhyJSON writes explanations of a run as one JSON object. The field step of a link is the number
// of the record in a trace with internal records. Times are in nanoseconds.
func WhyJSON(w io.Writer, run *Run, all []why.Explanation) error {
	doc := jsonWhy{Scenario: run.Scenario, Kubernetes: run.Kubernetes, Seed: run.Seed, Notes: run.Notes,
		Explanations: []jsonExplanation{}}
	for _, e := range all {
		doc.Explanations = append(doc.Explanations, explanationJSON(e))
	}
	return printable.WriteJSON(w, doc)
}

func explanationJSON(e why.Explanation) jsonExplanation {
	return jsonExplanation{Pod: e.Pod, Container: e.Container, State: e.State, Chain: linksJSON(e.Chain)}
}

func linksJSON(chain []why.Link) []jsonLink {
	list := []jsonLink{}
	for _, l := range chain {
		list = append(list, linkJSON(l))
	}
	return list
}

func linkJSON(l why.Link) jsonLink {
	return jsonLink{T: int64(l.T), Step: l.Step, Kind: l.Kind, Text: l.Text, Root: l.Root}
}
