package report

import (
	"fmt"
	"io"
	"time"

	"probesim.dev/internal/show/why"
)

// Race writes the explanation of a loss as text: what was lost, then the steps of both chains of
// causes with their delays, and the causes of what they have in common.
func Race(w io.Writer, race *why.Race, o Options) error {
	t := &Writer{Options: o}
	t.Line(0, race.Text, Bold)
	t.Gap()
	if len(race.Fork) > 0 {
		t.Item(Cell{Text: fmt.Sprintf("%11s %9s  ", race.At(race.Fork[0].T), "")}, race.Fork[0].Text, "")
	}
	for _, arm := range []*why.Arm{&race.Begin, &race.End} {
		if arm.Text != "" {
			t.Line(0, arm.Text+map[bool]string{true: ":", false: ""}[len(arm.Steps) > 0], Bold)
		}
		for i := range arm.Steps {
			h := &arm.Steps[i]
			head, end := fmt.Sprintf("%11s %9s  ", race.At(h.T), "+"+RaceDelay(h)), ""
			style := Plain
			if h.Longest {
				end, style = "<- longest", Bad
			}
			t.Item(Cell{Text: head, Style: style}, h.Text, end)
		}
	}
	if race.Longest != "" {
		t.Gap()
		t.Line(0, race.Longest, Plain)
	}
	if len(race.Fork) > 1 {
		t.Gap()
		t.causes(race)
	}
	_, err := w.Write(t.Bytes())
	return err
}

// mostCauses is how many causes of a fork are written; those of later pods go on with those of the
// pods before.
const mostCauses = 6

// causes writes why there was what both chains of causes begin with.
func (w *Writer) causes(race *why.Race) {
	for i, link := range race.Fork {
		text, last := link.Text+" at "+race.At(link.T), len(race.Fork)-1
		switch {
		case i == 0:
		case last > mostCauses && i == last:
			text = "  … and in the end because " + text
		case last > mostCauses && i >= mostCauses:
			continue
		default:
			text = "  because " + text
		}
		w.WriteString(w.sentence("", text, plain))
	}
}

// RaceDelay formats the delay of a step of a race.
func RaceDelay(h *why.Hop) string {
	if ms := h.Took.Milliseconds(); ms < 1000 {
		return fmt.Sprintf("%dms", ms)
	}
	return fmt.Sprintf("%.3fs", h.Took.Round(time.Millisecond).Seconds())
}

type jsonRace struct {
	Scenario   string     `json:"scenario"`
	Kubernetes string     `json:"kubernetes"`
	Seed       *int64     `json:"seed,omitempty"`
	Notes      []string   `json:"notes,omitempty"`
	Number     int        `json:"number"`
	Of         int        `json:"of"`
	Service    string     `json:"service"`
	Router     string     `json:"router"`
	Pod        string     `json:"pod,omitempty"`
	From       int64      `json:"from"` // ns
	To         int64      `json:"to"`
	Lost       float64    `json:"lost"`
	Text       string     `json:"text"`
	Longest    string     `json:"longest,omitempty"`
	Fork       []jsonLink `json:"fork"`
	Begin      jsonArm    `json:"begin"`
	End        jsonArm    `json:"end"`
}

type jsonArm struct {
	Text  string    `json:"text"`
	Steps []jsonHop `json:"steps"`
}

type jsonHop struct {
	jsonLink
	Took    int64 `json:"took"` // ns, since the step before
	Longest bool  `json:"longest,omitempty"`
}

// RaceJSON writes the explanation of a loss as one JSON object. Times are in nanoseconds.
func RaceJSON(w io.Writer, run *Run, race *why.Race) error {
	return WriteJSON(w, jsonRace{
		Scenario: run.Scenario, Kubernetes: run.Kubernetes, Seed: run.Seed, Notes: run.Notes, Number: race.Number,
		Of: race.Of, Service: race.Service,
		Router: race.Router, Pod: race.Pod, From: int64(race.From), To: int64(race.To), Lost: race.Lost,
		Text: race.Text, Longest: race.Longest,
		Fork: linksJSON(race.Fork), Begin: armJSON(&race.Begin), End: armJSON(&race.End),
	})
}

func armJSON(a *why.Arm) jsonArm {
	arm := jsonArm{Text: a.Text, Steps: []jsonHop{}}
	for _, h := range a.Steps {
		arm.Steps = append(arm.Steps, jsonHop{linkJSON(h.Link), int64(h.Took), h.Longest})
	}
	return arm
}
