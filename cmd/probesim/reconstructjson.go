package main

import (
	"encoding/json"
	"time"

	"probesim.dev/check"
	"probesim.dev/check/tune"
	"probesim.dev/report"
)

// reconstructionJSON is the form of a reconstruction in JSON. docs/incident.md describes it. Fields are only added.
type reconstructionJSON struct {
	Pod        string          `json:"pod"`
	UID        string          `json:"uid,omitempty"`
	Problem    string          `json:"problem,omitempty"` // why there is none
	Zero       string          `json:"zero,omitempty"`
	Kubernetes string          `json:"kubernetes,omitempty"`
	Explained  int             `json:"explained"`
	Claims     []claimJSON     `json:"claims"`
	Precision  *precisionJSON  `json:"precision,omitempty"`
	Assumed    []string        `json:"assumed"`
	Behavior   []ruleJSON      `json:"behavior"`
	Steps      []string        `json:"steps"`
	Windows    []windowJSON    `json:"windows"`
	Scenario   string          `json:"scenario,omitempty"`
	Why        json.RawMessage `json:"why,omitempty"`
	Findings   []findingJSON   `json:"findings"`
	Prevention *preventionJSON `json:"prevention,omitempty"`
}

type claimJSON struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Says   string `json:"says"`
	State  string `json:"state"` // explained, unexplained or outside
	Reason string `json:"reason,omitempty"`
}

type precisionJSON struct {
	Events int   `json:"events"`
	Median int64 `json:"median"` // nanoseconds
	Most   int64 `json:"most"`   // nanoseconds
}

type ruleJSON struct {
	Container string `json:"container"`
	Rule      string `json:"rule"`
	Says      string `json:"says,omitempty"`
}

// windowJSON is a window. Its times are in nanoseconds of the run; those that nothing tells are absent.
type windowJSON struct {
	Container       string `json:"container"`
	Probe           string `json:"probe"`
	File            string `json:"file"`
	Line            int    `json:"line"`
	BeganEarliest   *int64 `json:"beganEarliest,omitempty"`
	BeganLatest     *int64 `json:"beganLatest,omitempty"`
	StoppedEarliest *int64 `json:"stoppedEarliest,omitempty"`
	StoppedLatest   *int64 `json:"stoppedLatest,omitempty"`
	Open            string `json:"open,omitempty"`
}

type findingJSON struct {
	ID       check.FindingID `json:"id"`
	Severity check.Severity  `json:"severity"`
	Message  string          `json:"message"`
	Field    string          `json:"field"`
}

type preventionJSON struct {
	Container   string        `json:"container"`
	Probe       string        `json:"probe"`
	Kills       int           `json:"kills"`
	Requirement string        `json:"requirement,omitempty"`
	Changes     []tune.Change `json:"changes"`
	After       int           `json:"after"`
	Says        string        `json:"says"`
}

func reconstructionsJSON(all []*reconstruction) []reconstructionJSON {
	list := []reconstructionJSON{}
	for _, r := range all {
		list = append(list, r.json())
	}
	return list
}

func (r *reconstruction) json() reconstructionJSON {
	j := reconstructionJSON{Pod: r.pod.Key(), UID: r.pod.UID, Problem: r.problem, Claims: []claimJSON{}, Assumed: []string{}, Behavior: []ruleJSON{}, Steps: []string{}, Windows: []windowJSON{}, Findings: []findingJSON{}}
	if r.result == nil {
		return j
	}
	j.Zero, j.Kubernetes, j.Scenario = r.result.Zero.UTC().Format(time.RFC3339Nano), r.result.Plan.Version, string(r.result.Text)
	j.Explained, _ = r.result.Explained()
	for _, c := range r.result.Claims {
		state := "unexplained"
		switch {
		case c.Beyond:
			state = "outside"
		case c.Holds:
			state = "explained"
		}
		j.Claims = append(j.Claims, claimJSON{c.Fact.Place.File, c.Fact.Place.Line, c.Says, state, c.Reason})
	}
	if n, median, most := r.result.Precision(); n > 0 {
		j.Precision = &precisionJSON{n, int64(median), int64(most)}
	}
	j.Assumed = append(j.Assumed, r.result.Assumed...)
	for _, rule := range r.result.Behavior() {
		j.Behavior = append(j.Behavior, ruleJSON{rule.Container, rule.Text, rule.Says})
	}
	j.Steps = r.result.Steps()
	for _, w := range r.result.Windows() {
		j.Windows = append(j.Windows, windowJSON{w.Container, string(w.Probe), w.Fact.Place.File, w.Fact.Place.Line,
			r.inRun(w.Began[0]), r.inRun(w.Began[1]), r.inRun(w.Stopped[0]), r.inRun(w.Stopped[1]), w.Open})
	}
	j.Why = report.ExplanationJSON(r.explanation())
	for _, f := range r.findings {
		j.Findings = append(j.Findings, findingJSON{f.ID, f.Severity, f.Message, f.Field})
	}
	if p := r.prevent; p != nil {
		j.Prevention = &preventionJSON{p.Container, string(p.Probe), p.Kills, p.Requirement, append([]tune.Change{}, p.Changes...), p.After, p.Says}
	}
	return j
}

// inRun returns the time in the run of a time in the recording, or nil if that is unknown.
func (r *reconstruction) inRun(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	at := int64(t.Sub(r.result.Zero))
	return &at
}
