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
	*Case
	Outcome Outcome      `json:"outcome"`
	Error   string       `json:"error,omitempty"` // of an invalid file
	Runs    []jsonRun    `json:"runs"`
	Summary *jsonSummary `json:"summary,omitempty"` // of several runs
}

type jsonRun struct {
	*Run
	Until        string        `json:"until"`
	Outcome      Outcome       `json:"outcome"`
	Error        string        `json:"error,omitempty"`
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
	jc := jsonCase{Case: c, Outcome: c.Outcome(), Runs: make([]jsonRun, len(c.Runs)), Summary: c.summary()}
	if c.Err != nil {
		jc.Error = c.Err.Error()
	}
	for i, r := range c.Runs {
		jc.Runs[i] = jsonRun{Run: r, Until: value.Format(r.Until.Offset()), Outcome: r.Outcome(), Checked: r.Checked(),
			Expectations: append([]Expectation{}, r.Expectations...)}
		if r.Err != nil {
			jc.Runs[i].Error = r.Err.Error()
		}
	}
	return jc
}

// MarshalJSON writes the record as in a trace.
func (l Line) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"mark":%t,"record":%s}`, l.Mark, trace.AppendJSON(nil, l.Record)), nil
}
