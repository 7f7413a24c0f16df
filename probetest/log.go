package probetest

import (
	"fmt"
	"time"

	"probesim.dev/internal/check"
	"probesim.dev/trace"
)

// log is what is known of a run so far.
type log struct {
	kubernetes string
	seed       *int64
	again      string // command that makes the run again, if there is one
	internal   bool   // there are records of back-offs
	records    []trace.Record
	end        time.Duration // how far it has come
}

// add keeps a record that matchers look at.
func (l *log) add(r *trace.Record) {
	if r.Kind.Observable() || r.Kind == trace.BackOff {
		l.records = append(l.records, *r)
	}
}

// String says which run it is.
func (l *log) String() string {
	text := "Kubernetes " + l.kubernetes
	if l.seed != nil {
		text += fmt.Sprintf(", seed %d", *l.seed)
	}
	text += ", run to " + trace.FormatTime(l.end)
	if l.again != "" {
		text += "\n" + check.RunAgain(l.again)
	}
	return text
}
