package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/html"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/why"
)

// before is how much of a run is drawn before the change.
const before = 5 * time.Second

// Drawn returns a run for a timeline. It begins shortly before the change.
func Drawn(s *rollout.Shown, kubernetes string) *report.Run {
	return &report.Run{
		Scenario: s.Title, Kubernetes: kubernetes, Seed: &s.Seed, Until: s.End, From: s.From(before),
		Records:  s.Records,
		Restarts: report.CountRestarts(s.Records), Why: why.New(s.Records, s.Pods, s.End),
	}
}

// Race explains a loss of a run: that with a number, or the greatest since the change if it is 0.
// It reports false if there is none.
func Race(s *rollout.Shown, run *report.Run, number int) (why.Race, bool) {
	if number == 0 {
		number = run.Why.GreatestLoss(s.Change)
	}
	return run.Why.Lost(number)
}

// Shown returns a run as a timeline, and the explanation of one of its losses, as Race does.
func Shown(s *rollout.Shown, kubernetes string, number int) (*document.Document, error) {
	run := Drawn(s, kubernetes)
	d := document.New(s.Title + ": " + Outcome(s))
	d.Facts, d.Headline = fmt.Sprintf("Kubernetes %s, seed %d", kubernetes, s.Seed), true
	d.Gap()
	d.Picture(document.Picture{Text: func(w io.Writer, o document.Options) error {
		return report.Timeline(w, run, o)
	}})
	race, found := Race(s, run, number)
	if found {
		d.Gap()
		report.AddRace(&d.Body, &race)
	} else if number != 0 {
		return d, fmt.Errorf("there is no loss %d: the run of %s has %d", number, s.Title, run.Why.Losses())
	}
	return d, nil
}

// picture adds the picture of a run to the section of a page, and the race behind its greatest
// loss.
func picture(d *document.Document, b *document.Section, s *rollout.Shown, kubernetes, caption string) {
	d.Script = html.ChartScript()
	run := Drawn(s, kubernetes)
	drawn := b.Section(document.Section{Page: true, Title: caption, Fold: true})
	drawn.Picture(html.Timeline(run))
	if race, found := Race(s, run, 0); found {
		report.AddRace(&drawn.Body, &race)
	}
}

// Outcome says what happens in a run.
func Outcome(s *rollout.Shown) string {
	switch {
	case s.Change == 0:
		return "not all pods become available before the change"
	case s.Took == 0:
		return "the rollout does not complete"
	}
	var lost []string
	for _, l := range s.Lost {
		if l.Lost < 0.0005 {
			continue
		}
		count := rollout.Count(l.Lost)
		text := count + " requests"
		if count == "1" || count == "<1" {
			text = count + " request"
		}
		if len(s.Lost) > 1 {
			text += " to Service " + l.Service
		}
		lost = append(lost, text)
	}
	if len(lost) == 0 {
		lost = []string{"no new connection"}
	}
	return fmt.Sprintf("the rollout loses %s, and takes %s", strings.Join(lost, " and "),
		rollout.Format(rollout.RowTakes, s.Took.Seconds()))
}
