package report

import (
	"fmt"
	"io"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

type jsonReport struct {
	Outcome   Outcome    `json:"outcome"`
	Scenarios []jsonCase `json:"scenarios"`
}

type jsonCase struct {
	Name         string        `json:"name"`
	Description  string        `json:"description,omitempty"`
	File         string        `json:"file"`
	Line         int           `json:"line"`
	Kubernetes   string        `json:"kubernetes"`
	Outcome      Outcome       `json:"outcome"`
	Error        string        `json:"error,omitempty"` // of an invalid file
	Runs         []jsonRun     `json:"runs"`
	Expectations []Expectation `json:"expectations,omitempty"` // across all runs
	Unproven     []string      `json:"unproven,omitempty"`     // in all of several runs
	Summary      *jsonSummary  `json:"summary,omitempty"`      // of several runs
}

type jsonRun struct {
	Seed         *int64        `json:"seed,omitempty"`
	Until        string        `json:"until"`
	Outcome      Outcome       `json:"outcome"`
	Error        string        `json:"error,omitempty"`
	Hash         string        `json:"hash"`
	Records      int           `json:"records"`
	Restarts     int           `json:"restarts"`
	ProbeErrors  int           `json:"probeErrors,omitempty"`
	Replay       string        `json:"replay,omitempty"`
	Notes        []string      `json:"notes,omitempty"`
	Unproven     []string      `json:"unproven,omitempty"`
	Checked      int           `json:"checked"` // number of expectations that applied
	Expectations []Expectation `json:"expectations"`
}

// JSON writes all cases as one JSON object. The same cases give the same bytes.
func JSON(w io.Writer, cases []Case) error {
	doc := jsonReport{Outcome: Worst(cases), Scenarios: make([]jsonCase, len(cases))}
	for i := range cases {
		doc.Scenarios[i] = cases[i].json()
	}
	return printable.WriteJSON(w, doc)
}

func (c *Case) json() jsonCase {
	jc := jsonCase{Name: c.Scenario, Description: c.Description, File: c.File, Line: c.Line, Kubernetes: c.Kubernetes,
		Outcome: c.Outcome(), Runs: make([]jsonRun, len(c.Runs)), Expectations: c.Expectations, Unproven: c.Unproven,
		Summary: c.summary()}
	if c.Err != nil {
		jc.Error = c.Err.Error()
	}
	for i, r := range c.Runs {
		jc.Runs[i] = r.json()
	}
	return jc
}

func (r *Run) json() jsonRun {
	jr := jsonRun{Seed: r.Seed, Until: value.Format(r.Until.Offset()), Outcome: r.Outcome(), Hash: r.Hash,
		Records: r.Steps, Restarts: r.Restarts, ProbeErrors: r.ProbeErrors,
		Replay: r.Replay, Notes: r.Notes, Unproven: r.Unproven, Checked: r.Checked(),
		Expectations: append([]Expectation{}, r.Expectations...)}
	if r.Err != nil {
		jr.Error = r.Err.Error()
	}
	return jr
}

// MarshalJSON writes the record as in a trace.
func (l Line) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"mark":%t,"record":%s}`, l.Mark, trace.AppendJSON(nil, l.Record)), nil
}
