package report

import (
	"io"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/why"
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
	Explanations []why.Explanation `json:"explanations,omitempty"`
	*why.Race
}

// WhyJSON writes explanations of a run, or that of a loss, as one JSON object.
func WhyJSON(w io.Writer, run *Run, all []why.Explanation, race *why.Race) error {
	return printable.WriteJSON(w, jsonWhy{run.Scenario, run.Kubernetes, run.Seed, run.Notes, all, race})
}
