// Package perfetto writes runs in the Trace Event Format, a JSON format that ui.perfetto.dev and
// chrome://tracing open. Each pod is a process; the life of each container and each probe is a
// thread.
package perfetto

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
)

// event is an event of the format. Events of one thread with a duration do not overlap.
type event struct {
	Phase    string  `json:"ph"`
	Name     string  `json:"name"`
	Category string  `json:"cat,omitempty"`
	Process  int     `json:"pid"`
	Thread   int     `json:"tid"`
	Time     micros  `json:"ts"`
	Duration *micros `json:"dur,omitempty"`
	Scope    string  `json:"s,omitempty"`
	ID       int     `json:"id,omitempty"`
	Bind     string  `json:"bp,omitempty"`
	Args     *args   `json:"args,omitempty"`
}

// args are the details of an event in the viewer.
type args struct {
	Name      string `json:"name,omitempty"`
	SortIndex *int   `json:"sort_index,omitempty"`
	Value     *int   `json:"value,omitempty"`
	Subject   string `json:"subject,omitempty"`
	Message   string `json:"message,omitempty"`
	Step      int64  `json:"step,omitempty"`
	Cause     int64  `json:"cause,omitempty"`
}

// micros is a time in nanoseconds that marshals to microseconds.
type micros time.Duration

func (m micros) MarshalJSON() ([]byte, error) {
	sign, n := "", int64(m)
	if n < 0 {
		sign, n = "-", -n
	}
	text := sign + strconv.FormatInt(n/1000, 10)
	if rest := n % 1000; rest != 0 {
		text += fmt.Sprintf(".%03d", rest)
	}
	return []byte(text), nil
}

// Each run has numbers of its own: a run has fewer processes and threads, and fewer flows. Viewers
// read numbers of processes and threads as 32 bits.
const (
	perRun      = 1_000_000
	flowsPerRun = 1_000_000_000
)

// Render writes the events of a run, with commas between them. Runs in one file have different
// numbers. If there are several, the names of the processes contain the run.
func Render(w io.Writer, run *report.Run, number int, several bool) error {
	m := &maker{run: run, last: number * perRun, flows: number * flowsPerRun, places: map[int64]place{}}
	if several {
		m.prefix = run.Scenario + " " + run.Kubernetes
		if run.Seed != nil {
			m.prefix += " seed " + strconv.FormatInt(*run.Seed, 10)
		}
		m.prefix = printable.Text(m.prefix) + ": "
	}
	if len(run.Records) > 0 {
		m.zero = min(0, run.Records[0].T)
	}
	m.make()
	slices.SortStableFunc(m.events, func(a, b event) int { return cmp.Compare(a.Time, b.Time) })
	for i, e := range append(m.names, m.events...) {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if i > 0 {
			io.WriteString(w, ",\n")
		}
		if _, err := w.Write(printable.JSON(nil, text)); err != nil {
			return err
		}
	}
	return nil
}

// Writer writes a file with runs.
type Writer struct{ begun bool }

// Add writes the events of a run.
func (f *Writer) Add(w io.Writer, events string) error {
	if events == "" {
		return nil
	}
	before := ",\n"
	if !f.begun {
		before = head + "\n"
	}
	f.begun = true
	_, err := io.WriteString(w, before+events)
	return err
}

const head = `{"displayTimeUnit":"ms","traceEvents":[`

// Close completes the file. It does not close the underlying writer.
func (f *Writer) Close(w io.Writer) error {
	end := "\n]}\n"
	if !f.begun {
		end = head + end
	}
	_, err := io.WriteString(w, end)
	return err
}
