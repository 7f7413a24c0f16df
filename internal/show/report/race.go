package report

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/why"
)

// Race writes the explanation of a loss as text.
func Race(w io.Writer, race *why.Race, o document.Options) error {
	d := document.New(race.Text)
	AddRace(&d.Body, race)
	return d.Write(w, "text", o)
}

// AddRace adds the explanation of a loss to a document: what was lost, then the steps of both
// chains of causes with their delays, and the causes of what they have in common.
func AddRace(b *document.Body, race *why.Race) {
	b.Text(document.Bold, race.Text)
	b.Gap()
	hop := func(l why.Link, took string) document.Item {
		return document.Item{Mark: fmt.Sprintf("%11s %9s", race.At(l.T), took), Text: l.Text, Step: l.Step}
	}
	if len(race.Fork) > 0 {
		b.Item(hop(race.Fork[0], ""))
	}
	for _, arm := range []*why.Arm{&race.Begin, &race.End} {
		if len(arm.Steps) > 0 {
			b.Text(document.Bold, arm.Text+":")
		} else {
			b.Text(document.Bold, arm.Text)
		}
		for i := range arm.Steps {
			h := &arm.Steps[i]
			x := hop(h.Link, "+"+delay(h))
			if h.Longest {
				x.Style, x.Where = document.Bad, "<- longest"
			}
			b.Item(x)
		}
	}
	b.Gap()
	b.Text(document.Plain, cmp.Or(race.Cause, race.Longest))
	addCauses(b, race)
}

// mostCauses is how many causes of a fork are written; those of later pods go on with those of the
// pods before.
const mostCauses = 6

// addCauses adds why there was what both chains of causes begin with.
func addCauses(b *document.Body, race *why.Race) {
	last := len(race.Fork) - 1
	if last < 1 {
		return
	}
	b.Gap()
	for i, link := range race.Fork {
		text := link.Text + " at " + race.At(link.T)
		switch {
		case i == 0:
			b.Text(document.Plain, text)
		case last > mostCauses && i == last:
			b.Note(document.Plain, "… and in the end because "+text)
		case last <= mostCauses || i < mostCauses:
			b.Note(document.Plain, "because "+text)
		}
	}
}

// delay formats the delay of a step of a race.
func delay(h *why.Hop) string {
	if ms := h.Took.Milliseconds(); ms < 1000 {
		return fmt.Sprintf("%dms", ms)
	}
	return fmt.Sprintf("%.3fs", h.Took.Round(time.Millisecond).Seconds())
}
