package explore

import (
	"strings"

	"probesim.dev/internal/show/diff"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// PartsFrom says where the run first differs from the run as written. It returns "" if they are
// equal.
func (r *Run) PartsFrom(written *Run) string {
	end := virtual.At(0)
	if n := len(written.Records); n > 0 {
		end = written.Records[n-1].T
	}
	d := diff.Compare(diff.Run{Records: written.Records, End: end}, diff.Run{Records: r.Records, End: end})
	if d.Same() {
		return ""
	}
	text := "parts from the run as written at " + trace.FormatTime(d.First)
	for _, side := range []struct {
		of   diff.Side
		word string
	}{{diff.A, ", which has "}, {diff.B, "; this run has "}} {
		for _, line := range d.Around {
			if line.Side == side.of {
				text += side.word + describeRecord(line.Record)
				break
			}
		}
	}
	return text
}

// describeRecord describes a record in a few words.
func describeRecord(r *trace.Record) string {
	words := []string{string(r.Kind), r.Pod, r.Container, string(r.Probe), string(r.Result), r.Reason}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ") + " at " + trace.FormatTime(r.T)
}
