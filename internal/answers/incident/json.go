package incident

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"probesim.dev/internal/printable"
)

// Title says what the recording is about, in one line: its time, and its pods.
func (r *Recording) Title() string {
	pods := 0
	for _, p := range r.Pods {
		if len(p.Facts) > 0 {
			pods++
		}
	}
	text := fmt.Sprintf("%s about %s", printable.Count(len(r.Facts), "fact"), printable.Count(pods, "pod"))
	switch {
	case r.Start.IsZero():
		return text + ", without times"
	case r.Relative:
		return text + "; t=0 is the first of them"
	}
	return text + "; t=0 is " + r.Zero().Format(time.RFC3339)
}

// json returns the fact with the fields that its kind has. docs/json.md describes its form.
func (f *Fact) json() any {
	type update struct {
		Count int `json:"count"`
		Moment
	}
	out := struct {
		*Fact
		Pod      string   `json:"pod,omitempty"`
		UID      string   `json:"uid,omitempty"`
		Last     Moment   `json:"last,omitzero"`
		Count    *int     `json:"count,omitempty"`
		Updates  []update `json:"updates,omitempty"`
		ExitCode *int32   `json:"exitCode,omitempty"`
	}{Fact: f}
	if f.Pod != nil {
		out.Pod, out.UID = f.Pod.Key(), f.Pod.UID
	}
	if f.Last != f.When {
		out.Last = f.Last
	}
	switch f.Kind {
	case Event, Restarts, Row, Running, Terminated:
		if f.Count >= 0 {
			out.Count = &f.Count
		}
	}
	if f.ExitKnown {
		out.ExitCode = &f.ExitCode
	}
	if len(f.Points) > 2 {
		for _, p := range f.Points {
			out.Updates = append(out.Updates, update{p.Count, p.At})
		}
	}
	return out
}

func (p *Pod) json() any {
	spec := "none"
	switch {
	case p.Template != Place{}:
		spec = "template"
	case p.Object != nil && p.Partial:
		spec = "text"
	case p.Object != nil:
		spec = "object"
	}
	return struct {
		*Pod
		Containers []string `json:"containers"`
		Spec       string   `json:"spec"`
		Facts      int      `json:"facts"`
	}{p, append([]string{}, p.containers...), spec, len(p.Facts)}
}

// WriteFacts writes the facts, one JSON object on each line, in the order of time.
func (r *Recording) WriteFacts(w io.Writer) error {
	for _, f := range r.Facts {
		if err := writeJSON(w, f.json(), ""); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes a JSON document in which nothing can control a terminal.
func writeJSON(w io.Writer, doc any, indent string) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := w.Write(printable.JSON(nil, b.Bytes()))
	return err
}

// WriteJSON writes the recording as one JSON object, with the verdicts on its pods: a list in JSON.
func (r *Recording) WriteJSON(w io.Writer, verdicts any) error {
	out := struct {
		Verdicts    any       `json:"verdicts"`
		Zero        time.Time `json:"zero,omitzero"`
		Relative    bool      `json:"relative,omitempty"`
		Pods        []any     `json:"pods"`
		Facts       []any     `json:"facts"`
		Problems    []Problem `json:"problems"`
		UnreadLines int       `json:"unreadLines"`
		Unread      []Unread  `json:"unread"`
	}{verdicts, r.Zero(), r.Relative, []any{}, []any{}, append([]Problem{}, r.Problems...), r.UnreadLines,
		append([]Unread{}, r.Unread...)}
	for _, p := range r.Pods {
		out.Pods = append(out.Pods, p.json())
	}
	for _, f := range r.Facts {
		out.Facts = append(out.Facts, f.json())
	}
	return writeJSON(w, out, "  ")
}
