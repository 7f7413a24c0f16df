package report

import (
	"bytes"
	"encoding/json"
	"io"

	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

type jsonReport struct {
	Outcome   Outcome    `json:"outcome"`
	Scenarios []jsonCase `json:"scenarios"`
}

type jsonCase struct {
	Name         string            `json:"name"`
	Description  string            `json:"description,omitempty"`
	File         string            `json:"file"`
	Line         int               `json:"line"`
	Kubernetes   string            `json:"kubernetes"`
	Outcome      Outcome           `json:"outcome"`
	Error        string            `json:"error,omitempty"` // of an invalid file
	Runs         []jsonRun         `json:"runs"`
	Expectations []jsonExpectation `json:"expectations,omitempty"` // across all runs
	Summary      *jsonSummary      `json:"summary,omitempty"`      // of several runs
}

type jsonRun struct {
	Seed         *int64            `json:"seed,omitempty"`
	Until        string            `json:"until"`
	Outcome      Outcome           `json:"outcome"`
	Error        string            `json:"error,omitempty"`
	Hash         string            `json:"hash"`
	Records      int               `json:"records"`
	Restarts     int               `json:"restarts"`
	ProbeErrors  int               `json:"probeErrors,omitempty"`
	Replay       string            `json:"replay,omitempty"`
	Notes        []string          `json:"notes,omitempty"`
	Expectations []jsonExpectation `json:"expectations"`
}

type jsonExpectation struct {
	Name     string        `json:"name"`
	File     string        `json:"file"`
	Line     int           `json:"line"`
	Column   int           `json:"column"`
	Outcome  Outcome       `json:"outcome"`
	Why      string        `json:"why,omitempty"`
	Failures []jsonFailure `json:"failures,omitempty"`
	More     int           `json:"moreFailures,omitempty"`
}

type jsonFailure struct {
	Expected string     `json:"expected"`
	Got      string     `json:"got"`
	Around   []jsonLine `json:"around"`
}

type jsonLine struct {
	Mark   bool            `json:"mark"`
	Record json.RawMessage `json:"record"` // as in a trace
}

// JSON writes all cases as one JSON object. The same cases give the same bytes.
func JSON(w io.Writer, cases []Case) error {
	doc := jsonReport{Outcome: Worst(cases), Scenarios: make([]jsonCase, len(cases))}
	for i := range cases {
		doc.Scenarios[i] = cases[i].json()
	}
	return writeJSON(w, doc)
}

// writeJSON writes a value as JSON that is safe to print.
func writeJSON(w io.Writer, doc any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := w.Write(printable.JSON(nil, b.Bytes()))
	return err
}

func (c *Case) json() jsonCase {
	jc := jsonCase{Name: c.Scenario, Description: c.Description, File: c.File, Line: c.Line, Kubernetes: c.Kubernetes,
		Outcome: c.Outcome(), Runs: make([]jsonRun, len(c.Runs)), Expectations: jsonExpectations(c.Expectations), Summary: c.summary()}
	if c.Err != nil {
		jc.Error = c.Err.Error()
	}
	for i, r := range c.Runs {
		jc.Runs[i] = r.json()
	}
	return jc
}

func (r *Run) json() jsonRun {
	jr := jsonRun{Seed: r.Seed, Until: shortDuration(r.Until.Offset()), Outcome: r.Outcome(), Hash: r.Hash, Records: r.Steps, Restarts: r.Restarts, ProbeErrors: r.ProbeErrors,
		Replay: r.Replay, Notes: r.Notes, Expectations: jsonExpectations(r.Expectations)}
	if r.Err != nil {
		jr.Error = r.Err.Error()
	}
	return jr
}

func jsonExpectations(all []Expectation) []jsonExpectation {
	list := make([]jsonExpectation, len(all))
	for i := range all {
		e := &all[i]
		list[i] = jsonExpectation{Name: e.Name, File: e.File, Line: e.Line, Column: e.Column, Outcome: e.Outcome, Why: e.Why, More: e.More}
		for _, f := range e.Failures {
			list[i].Failures = append(list[i].Failures, jsonFailure{f.Expected, f.Got, jsonLines(f.Around)})
		}
	}
	return list
}

func jsonLines(lines []Line) []jsonLine {
	list := make([]jsonLine, len(lines))
	for i, l := range lines {
		list[i] = jsonLine{l.Mark, trace.AppendJSON(nil, l.Record)}
	}
	return list
}
