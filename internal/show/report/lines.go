package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
)

// Heading writes the scenario name, the facts of the run, and the description.
func Heading(w io.Writer, run *Run, o Options) error {
	name, facts := printable.Text(run.Scenario), strings.Join(run.Facts(), "  ")
	text := o.paint(bold, name) + "  " + facts + "\n"
	if utf8.RuneCountInString(name+"  "+facts) > o.width() {
		text = o.paint(bold, name) + "\n" + strings.Join(document.Wrap(facts, o.width(), 40), "\n") + "\n"
	}
	if description := Description(run.Description); description != "" {
		text += strings.Join(document.Wrap(description, o.width(), 40), "\n") + "\n"
	}
	text += o.notes(run.Notes)
	return o.write(w, text)
}

// Notes writes the notes about a run.
func Notes(w io.Writer, notes []string, o Options) error { return o.write(w, o.notes(notes)) }

func (o Options) notes(notes []string) string {
	c := newChecks(o)
	for _, note := range notes {
		c.hanging(o.paint(warn, "note")+"  ", 6, printable.Text(note))
	}
	return c.b.String()
}

// Description returns the description of a scenario on one line, for display.
func Description(text string) string { return printable.Text(strings.Join(strings.Fields(text), " ")) }

// RunLine writes one line about a run, with the scenario name padded to pad characters.
func RunLine(w io.Writer, run *Run, pad int, o Options) error {
	facts := run.Facts()
	if run.idle() {
		facts = append(facts, nothing)
	}
	text := o.mark(run.Outcome()) + "  " + padded(run.Scenario, pad) + "  " + strings.Join(facts, "  ") + "\n"
	if run.Err != nil {
		text += "  " + strings.ReplaceAll(strings.TrimSpace(run.Err.Error()), "\n", "\n  ") + "\n"
	}
	return o.write(w, text)
}

// mark returns the outcome of a run or a case as the beginning of its line.
func (o Options) mark(outcome Outcome) string {
	switch outcome {
	case Failed:
		return o.paint(bad, "FAILED")
	case Broken:
		return o.paint(bad, "ERROR ")
	}
	return o.paint(good, "ok    ")
}

// padded returns a name with at least some characters.
func padded(name string, characters int) string {
	return fmt.Sprintf("%-*s", characters, printable.Text(name))
}

// Facts returns the version, seed, virtual time, restarts and probe errors of the run, for display.
func (r *Run) Facts() []string {
	facts := []string{r.Kubernetes}
	if r.Seed != nil {
		facts = append(facts, fmt.Sprintf("seed %d", *r.Seed))
	}
	facts = append(facts, shortDuration(r.Until.Offset()), plural(r.Restarts, "restart"))
	if r.ProbeErrors > 0 {
		facts = append(facts, plural(r.ProbeErrors, "probe error"))
	}
	return facts
}

// Summary writes the number of runs with each outcome.
func Summary(w io.Writer, cases []Case, o Options) error {
	runs := map[Outcome]int{}
	total, some, invalid := 0, 0, 0
	for i := range cases {
		if cases[i].Err != nil {
			invalid++
		}
		for _, r := range cases[i].Runs {
			runs[r.Outcome()]++
			total++
		}
		if worst(cases[i].Expectations) == Failed {
			some++
		}
	}
	parts := []string{o.paint(good, fmt.Sprintf("%d ok", runs[OK])) + Unchecked(cases)}
	if n := runs[Failed]; n > 0 {
		parts = append(parts, o.paint(bad, fmt.Sprintf("%d failed", n)))
	}
	if n := runs[Broken]; n > 0 {
		parts = append(parts, o.paint(bad, fmt.Sprintf("%d ended early", n)))
	}
	if some > 0 {
		parts = append(parts, o.paint(bad, plural(some, "scenario")+" failed across all runs"))
	}
	if invalid > 0 {
		parts = append(parts, o.paint(bad, plural(invalid, "file")+" invalid"))
	}
	return o.write(w, fmt.Sprintf("%s: %s\n", plural(total, "run"), strings.Join(parts, ", ")))
}

// Unchecked says in how many of the runs that are ok nothing was checked, after a space and in
// parentheses, or "".
func Unchecked(cases []Case) string {
	idle, ok := 0, 0
	for i := range cases {
		for _, r := range cases[i].Runs {
			if r.Outcome() == OK && r.History == nil {
				ok++
			}
			if r.idle() && len(cases[i].Expectations) == 0 {
				idle++
			}
		}
	}
	switch idle {
	case 0:
		return ""
	case ok:
		return " (" + nothing + ")"
	}
	return fmt.Sprintf(" (%s in %d)", nothing, idle)
}

func plural(n int, word string) string {
	switch n {
	case 0:
		return "no " + word + "s"
	case 1:
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// CaseLine writes what the runs of a case do not prove, and the failed expectations that need to
// hold in at least one run.
func CaseLine(w io.Writer, c *Case, pad int, o Options) error {
	o.Indent += 2
	if err := o.write(w, o.notes(c.Unproven)); err != nil || worst(c.Expectations) != Failed {
		return err
	}
	o.Indent -= 2
	name := padded(c.Scenario, pad)
	if err := o.write(w, fmt.Sprintf("%s  %s  %s  across %s\n", o.paint(bad, "FAILED"), name, c.Kubernetes,
		plural(len(c.Runs), "run"))); err != nil {
		return err
	}
	o.Indent += 2
	return Failures(w, c.Expectations, o)
}
