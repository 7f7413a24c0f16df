package explore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/choose"
)

// Witness describes one run of a scenario in a file, so that it can be repeated byte for byte.
type Witness struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	File       string        `json:"file"`       // path of the scenario file
	FileHash   string        `json:"fileHash"`   // SHA-256 of the file
	Scenario   string        `json:"scenario"`   // the name of the scenario in the file
	Engine     string        `json:"engine"`     // version of probesim
	Kubernetes string        `json:"kubernetes"` // version of Kubernetes
	Uptime     time.Duration `json:"uptime"`     // age of the kubelet at t=0, in nanoseconds
	Change     Change        `json:"change"`
	JudgeAll   bool          `json:"judgeAll,omitempty"`
	Outcome    string        `json:"outcome"`  // the ID of the history
	Findings   []string      `json:"findings"` // failed expectations, and broken invariants
	TraceHash  string        `json:"traceHash"`

	source strict.JSONFile // what ReadWitness has read
}

// witnessKind is the kind of the documents with witnesses.
const witnessKind = "Witness"

// Witness runs a change again and returns its witness. data is the content of the scenario's file.
// The caller sets Engine, and File if the file has another name than the scenario gives it.
func (s *Subject) Witness(c Change, data []byte) (*Witness, error) {
	r := s.Run(c, false)
	if r.plan == nil {
		return nil, r.Err
	}
	sum := sha256.Sum256(data)
	return &Witness{
		APIVersion: format.APIVersion, Kind: witnessKind, File: s.Plan.Scenario.Path(),
		FileHash: hex.EncodeToString(sum[:]),
		Scenario: s.Plan.Scenario.Metadata.Name, Kubernetes: s.Plan.Version, Uptime: r.plan.Uptime, Change: c,
		JudgeAll: s.JudgeAll, Outcome: r.History.ID(), Findings: r.History.Findings(), TraceHash: r.Hash(),
	}, nil
}

// Findings lists what is wrong in a history, known bugs last.
func (h *History) Findings() []string {
	list := []string{}
	if h.Error != "" {
		list = append(list, "the run ended early: "+h.Error)
	}
	for _, f := range h.Failed {
		list = append(list, "expectation failed: "+f)
	}
	for _, known := range []bool{false, true} {
		for _, b := range h.Broken {
			if (b.Known != "") == known {
				list = append(list, b.long())
			}
		}
	}
	return list
}

// long describes the breach with its container and the bug that it belongs to.
func (b Breach) long() string {
	text := b.String() + " (" + b.Pod + "/" + b.Container + ")"
	if b.Known != "" {
		text += ", known as " + b.Known
	}
	return text
}

// JSON returns the witness as a file.
func (w *Witness) JSON() []byte {
	var b bytes.Buffer
	if err := printable.WriteJSON(&b, w); err != nil {
		panic(err) // all fields can be encoded
	}
	return b.Bytes()
}

// FileName returns the name of the file of the witness. A scenario of a variant has a slash in its
// name.
func (w *Witness) FileName() string {
	return regexp.MustCompile(`[^A-Za-z0-9._-]`).ReplaceAllString(w.Scenario, "-") + "-" + w.Outcome + ".json"
}

// maxUptime is the highest age of the kubelet: see node.Options.
const maxUptime = 365 * 24 * time.Hour

// maxChanges bounds the parts of the change of a witness.
const maxChanges = 100_000

// ReadWitness reads a witness from a file of this name. The error has the place of what is wrong.
func ReadWitness(name string, data []byte) (*Witness, error) {
	f := strict.JSONFile{Name: name, Data: data, What: "a witness of 'probesim explore'", APIVersion: format.APIVersion,
		Kind: witnessKind}
	w := &Witness{}
	if err := f.Decode(w); err != nil {
		return nil, err
	}
	for _, field := range [][2]string{{"file", w.File}, {"scenario", w.Scenario}, {"traceHash", w.TraceHash}} {
		if field[1] == "" {
			return nil, f.Errorf(field[0], "must be set")
		}
	}
	if _, known := profile.Named(w.Kubernetes); !known {
		return nil, f.Errorf("kubernetes", "must be a version that probesim supports, not %s",
			strict.Quote(w.Kubernetes))
	}
	w.source = f
	return w, w.Change.check(f, "change")
}

// Errorf returns the error about the value at a path of the witness, with its place. ReadWitness
// has read the witness.
func (w *Witness) Errorf(path, format string, args ...any) error {
	return w.source.Errorf(path, format, args...)
}

// check returns the error of a change of a file that no run can have. path is the path of the
// change in the file.
func (c *Change) check(f strict.JSONFile, path string) error {
	if len(c.Faults)+len(c.Shifts)+len(c.Choices) > maxChanges {
		return f.Errorf(path, "has more than %d parts", maxChanges)
	}
	if u := c.Uptime; u != nil && (*u < 0 || *u > maxUptime) {
		return f.Errorf(path+".uptime", "must be from 0 to %d ns", maxUptime)
	}
	for i, c := range c.Choices {
		if c.Value < 0 || c.Fraction < 0 || c.Fraction >= 1 {
			return f.Errorf(fmt.Sprintf("%s.choices[%d]", path, i),
				"value must not be negative, and fraction must be from 0 to below 1")
		}
	}
	for i, fault := range c.Faults {
		at := fmt.Sprintf("%s.faults[%d]", path, i)
		if len(fault.Step().Actions()) == 0 {
			return f.Errorf(at, "there is no fault of kind %q", fault.Kind)
		}
		if fault.At < 0 || fault.For < 0 {
			return f.Errorf(at, "times must not be negative")
		}
	}
	return nil
}

// Subject returns what the witness is about: the scenario of its name, among those of its file.
func (w *Witness) Subject(all []*scenarios.Scenario) (*Subject, error) {
	for _, s := range all {
		if s.Metadata.Name == w.Scenario {
			return &Subject{Plan: s.Plan(w.Kubernetes, nil), JudgeAll: w.JudgeAll}, nil
		}
	}
	return nil, w.Errorf("scenario", "%s has no scenario %q", w.File, w.Scenario)
}

// Matches reports whether data is the content of the file that the witness was made from.
func (w *Witness) Matches(data []byte) bool {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]) == w.FileHash
}

// Replay returns the plan of the run of a change, and the policy that makes its choices.
func (s *Subject) Replay(c Change) (*scenarios.Plan, choose.Chooser, error) {
	plan, err := s.plan(c)
	if err != nil {
		return nil, nil, err
	}
	return plan, c.chooser(plan.Seed), nil
}
