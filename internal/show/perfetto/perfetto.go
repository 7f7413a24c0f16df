// Package perfetto writes runs in the Trace Event Format, a JSON format that ui.perfetto.dev and
// chrome://tracing open. Each pod is a process; the life of each container and each probe is a
// thread.
package perfetto

import (
	"bufio"
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
	ID       int64   `json:"id,omitempty"`
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

// Writer writes runs to a file. Create it with NewWriter.
type Writer struct {
	w     *bufio.Writer
	first bool
	last  int   // last number of a process or thread; all numbers differ
	flows int64 // number of flows
	err   error
}

// NewWriter returns a Writer to w. Add and Close do not buffer data after they return.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 1<<16), first: true}
}

// Add writes a run. If several is true, the names of its processes contain the run.
func (w *Writer) Add(run *report.Run, several bool) error {
	m := &maker{writer: w, run: run, places: map[int64]place{}}
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
	for i := range m.names {
		w.write(&m.names[i])
	}
	for i := range m.events {
		w.write(&m.events[i])
	}
	return w.flush()
}

// Close completes the file. It does not close the underlying writer.
func (w *Writer) Close() error {
	if w.first {
		w.print(head)
	}
	w.print("\n]}\n")
	return w.flush()
}

const head = `{"displayTimeUnit":"ms","traceEvents":[`

func (w *Writer) write(e *event) {
	text, err := json.Marshal(e)
	if err != nil && w.err == nil {
		w.err = err
	}
	if w.first {
		w.print(head + "\n")
	} else {
		w.print(",\n")
	}
	w.first = false
	w.print(string(printable.JSON(nil, text)))
}

func (w *Writer) print(text string) {
	if _, err := w.w.WriteString(text); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *Writer) flush() error {
	if err := w.w.Flush(); err != nil && w.err == nil {
		w.err = err
	}
	return w.err
}

func (w *Writer) number() int {
	w.last++
	return w.last
}
