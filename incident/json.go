package incident

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Title says what the recording is about, in one line: its time, and its pods.
func (r *Recording) Title() string {
	pods := 0
	for _, p := range r.Pods {
		if len(p.Facts) > 0 {
			pods++
		}
	}
	what := fmt.Sprintf("%d pods", pods)
	if pods == 1 {
		what = "1 pod"
	}
	facts := fmt.Sprintf("%d facts", len(r.Facts))
	if len(r.Facts) == 1 {
		facts = "1 fact"
	}
	switch {
	case r.Start.IsZero():
		return fmt.Sprintf("%s about %s, without times", facts, what)
	case r.Relative:
		return fmt.Sprintf("%s about %s; t=0 is the first of them", facts, what)
	}
	return fmt.Sprintf("%s about %s; t=0 is %s", facts, what, r.Zero().Format(time.RFC3339))
}

// factJSON is the form of a fact in JSON. docs/incident.md describes it.
type factJSON struct {
	File      string      `json:"file"`
	Line      int         `json:"line"`
	Source    Source      `json:"source"`
	Kind      Kind        `json:"kind"`
	Pod       string      `json:"pod,omitempty"`
	UID       string      `json:"uid,omitempty"`
	Container string      `json:"container,omitempty"`
	At        *momentJSON `json:"at,omitempty"`
	Last      *momentJSON `json:"last,omitempty"`
	Count     *int        `json:"count,omitempty"`
	Updates   []pointJSON `json:"updates,omitempty"`
	Type      string      `json:"type,omitempty"`
	Reason    string      `json:"reason,omitempty"`
	Message   string      `json:"message,omitempty"`
	Value     string      `json:"value,omitempty"`
	Probe     string      `json:"probe,omitempty"`
	Result    string      `json:"result,omitempty"`
	ExitCode  *int32      `json:"exitCode,omitempty"`
	Previous  bool        `json:"previous,omitempty"`
	AtLeast   bool        `json:"atLeast,omitempty"`
}

type momentJSON struct {
	Time   string `json:"time"`
	Within int64  `json:"within"` // nanoseconds
}

type pointJSON struct {
	Count int `json:"count"`
	momentJSON
}

func (m Moment) json() momentJSON { return momentJSON{formatTime(m.At), int64(m.Within)} }

func (m Moment) jsonIf() *momentJSON {
	if !m.Known() {
		return nil
	}
	j := m.json()
	return &j
}

func (f *Fact) json() factJSON {
	j := factJSON{File: f.Place.File, Line: f.Place.Line, Source: f.Source, Kind: f.Kind, Container: f.Container, At: f.When.jsonIf(),
		Type: f.Type, Reason: f.Reason, Message: f.Message, Value: f.Value, Probe: string(f.Probe), Result: string(f.Result), Previous: f.Previous, AtLeast: f.AtLeast}
	if f.Pod != nil {
		j.Pod, j.UID = f.Pod.Key(), f.Pod.UID
	}
	if f.Last != f.When {
		j.Last = f.Last.jsonIf()
	}
	switch f.Kind {
	case Event, Restarts, Row, Running, Terminated:
		j.Count = &f.Count
	}
	if f.Kind == Terminated {
		j.ExitCode = &f.ExitCode
	}
	if len(f.Points) > 2 {
		for _, p := range f.Points {
			j.Updates = append(j.Updates, pointJSON{p.Count, p.At.json()})
		}
	}
	return j
}

// WriteFacts writes the facts, one JSON object on each line, in the order of time.
func (r *Recording) WriteFacts(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, f := range r.Facts {
		if err := e.Encode(f.json()); err != nil {
			return err
		}
	}
	return nil
}

type podJSON struct {
	Namespace  string   `json:"namespace,omitempty"`
	Name       string   `json:"name"`
	UID        string   `json:"uid,omitempty"`
	Node       string   `json:"node,omitempty"`
	Containers []string `json:"containers"`
	Spec       string   `json:"spec"` // object, text, template or none
	Facts      int      `json:"facts"`
}

type problemJSON struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
	Lost    bool   `json:"lost,omitempty"`
}

// WriteJSON writes the recording as one JSON object, with what was inferred from it: a list in JSON, or nil.
func (r *Recording) WriteJSON(w io.Writer, reconstructions any) error {
	out := struct {
		Zero            string        `json:"zero,omitempty"`
		Relative        bool          `json:"relative,omitempty"`
		Pods            []podJSON     `json:"pods"`
		Facts           []factJSON    `json:"facts"`
		Problems        []problemJSON `json:"problems"`
		Reconstructions any           `json:"reconstructions,omitempty"`
	}{Pods: []podJSON{}, Facts: []factJSON{}, Problems: []problemJSON{}, Relative: r.Relative, Reconstructions: reconstructions}
	if !r.Start.IsZero() {
		out.Zero = formatTime(r.Zero())
	}
	for _, p := range r.Pods {
		j := podJSON{p.Namespace, p.Name, p.UID, p.Node, append([]string{}, p.Containers()...), "none", len(p.Facts)}
		switch {
		case p.Template != Place{}:
			j.Spec = "template"
		case p.Object != nil && p.Partial:
			j.Spec = "text"
		case p.Object != nil:
			j.Spec = "object"
		}
		out.Pods = append(out.Pods, j)
	}
	for _, f := range r.Facts {
		out.Facts = append(out.Facts, f.json())
	}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, problemJSON{p.File, p.Line, p.Message, p.Lost})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
