package probetest

import (
	"fmt"
	"slices"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/verdict"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// log is the trace of a run so far.
type log struct {
	kubernetes string
	seed       *int64
	command    string // repeats the run; empty if no command does
	notes      []string
	records    []trace.Record
	end        virtual.Time // the virtual time that the run has reached
}

// add keeps a record if matchers examine it. Back-offs are internal records: neither the status nor
// the events contain their length.
func (l *log) add(r *trace.Record) {
	if r.Kind.Observable() || r.Kind == trace.BackOff {
		l.records = append(l.records, *r)
	}
}

// note adds a note, unless there is one with the same text.
func (l *log) note(text string) {
	if text = printable.Lines(text); !slices.Contains(l.notes, text) {
		l.notes = append(l.notes, text)
	}
}

// String identifies the run.
func (l *log) String() string {
	text := "Kubernetes " + l.kubernetes
	if l.seed != nil {
		text += fmt.Sprintf(", seed %d", *l.seed)
	}
	text += ", run to " + trace.FormatTime(l.end)
	for _, note := range l.notes {
		text += "\nNote: " + note
	}
	if l.command != "" {
		text += "\n" + verdict.RunAgain(l.command)
	}
	return text
}
