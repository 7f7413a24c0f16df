// Package refresh updates the observed expectations in scenario files with the values of runs. It
// changes no other byte of a file.
package refresh

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"go.yaml.in/yaml/v4"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios"
)

// Result is a file after an update.
type Result struct {
	Text    []byte
	Changed int    // the number of changed expectations
	Diff    string // the changes, in the format of diff -u; empty if there are none
}

// File updates the observed expectations of a file with the observations of its runs. It does not
// touch expectations that already have these values. The error is of type scenarios.Errors and
// lists all expectations that cannot be updated; the caller must then leave the file unchanged.
func File(name string, data []byte, seen []expect.Observation) (Result, error) {
	s, errs := newSource(data), &strict.Collector{}
	var edits []edit
	changed := 0
	for _, o := range seen {
		e := o.Expect
		if o.Err != nil {
			errs.Add(scenarios.Error{Pos: e.Pos, Path: e.Path, Message: "cannot be updated: " + o.Err.Error()})
			continue
		}
		if o.Holds() {
			continue
		}
		more, err := s.edits(o)
		if err != nil {
			errs.Add(scenarios.Error{Pos: e.Pos, Path: e.Path, Message: "cannot be updated: " + err.Error()})
			continue
		}
		edits = append(edits, more...)
		changed++
	}
	if err := errs.Err(); err != nil {
		return Result{}, err
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	text := apply(data, edits)
	return Result{Text: text, Changed: changed, Diff: difference(printable.Text(name), data, text)}, nil
}

// difference returns how a file changes, in the format of diff -u.
func difference(name string, old, text []byte) string {
	whole := func(data []byte) []byte { return append(bytes.TrimSuffix(slices.Clone(data), []byte("\n")), '\n') }
	_, lines, _ := strings.Cut(string(diff.Diff(name, whole(old), name, whole(text))), "\n") // without the command
	return strings.ReplaceAll(lines, "\r\n", "\n")
}

// edit replaces the bytes [from, to) of a file by text.
type edit struct {
	from, to int
	text     string
}

// apply applies edits to data. The edits must be sorted and must not overlap.
func apply(data []byte, edits []edit) []byte {
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, data[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, data[at:]...)
}

// edits returns the edits that update an expectation.
func (s *source) edits(o expect.Observation) ([]edit, error) {
	n, err := s.expectation(o.Expect)
	if err != nil {
		return nil, err
	}
	one := func(name, text string) ([]edit, error) {
		at, err := field(n, name)
		if err != nil {
			return nil, err
		}
		e, err := s.replaceScalar(at, text)
		return []edit{e}, err
	}
	switch e := o.Expect; {
	case e.Transitions != nil:
		return s.replaceList(n, o)
	case e.Status != nil:
		return s.replaceFields(n, o)
	case e.First != nil:
		return one("first", o.String())
	}
	return one("count", o.String())
}

// replaceFields updates the fields of a status that differ from the observation.
func (s *source) replaceFields(n *yaml.Node, o expect.Observation) ([]edit, error) {
	status, err := field(n, "status")
	if err != nil {
		return nil, err
	}
	var edits []edit
	for i, f := range o.Expect.Status {
		if f.Match.String() == o.Values[i].String() {
			continue
		}
		at, err := field(status, f.Name)
		if err != nil {
			return nil, err
		}
		e, err := s.replaceScalar(at, scalar(o.Values[i]))
		if err != nil {
			return nil, err
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// replaceList updates the list of the values of a field.
func (s *source) replaceList(n *yaml.Node, o expect.Observation) ([]edit, error) {
	transitions, err := field(n, "transitions")
	if err != nil {
		return nil, err
	}
	list, err := field(transitions, o.Expect.Transitions.Field)
	if err != nil {
		return nil, err
	}
	var items []string
	for _, v := range o.Values {
		items = append(items, scalar(v))
	}
	e, err := s.replaceSequence(list, items)
	if err != nil {
		return nil, fmt.Errorf("the list of %s %w", o.Expect.Transitions.Field, err)
	}
	return []edit{e}, nil
}
