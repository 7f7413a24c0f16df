// Package strict reads YAML that nobody vouches for into Go values and says everything that is wrong
// with it at once, each with file, line, column and field path.
//
// Parse bounds size, depth and alias expansion before anything is made of a file. Decode walks the
// nodes along the json tags of a Go type, Kubernetes types included, and refuses what the type does not
// know. Checks that come after report through the same nodes.
package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pos is a place in a file. Line and Column count from 1; a zero Line means the file as a whole.
type Pos struct {
	File         string
	Line, Column int
}

func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Error is one thing that is wrong in a file.
type Error struct {
	Pos
	Path    string // of the field, as in spec.pods[0].name; empty for a document or file as a whole
	Message string
}

func (e Error) Error() string {
	text := e.Message
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	if e.Pos != (Pos{}) {
		text = e.Pos.String() + ": " + text
	}
	return text
}

// Errors is everything that is wrong, sorted by place, without repetition.
type Errors []Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Collector gathers errors. The zero value is ready.
type Collector struct {
	errs Errors
	more int
}

// Add keeps an error; beyond MaxErrors it only counts.
func (c *Collector) Add(e Error) {
	if c.full() {
		c.more++
		return
	}
	c.errs = append(c.errs, e)
}

func (c *Collector) full() bool { return len(c.errs) >= MaxErrors }

// Addf adds an error about a file as a whole.
func (c *Collector) Addf(file, format string, args ...any) {
	c.Add(Error{Pos: Pos{File: file}, Message: fmt.Sprintf(format, args...)})
}

// Err returns what was collected as Errors, or nil.
func (c *Collector) Err() error {
	if len(c.errs) == 0 {
		return nil
	}
	errs := slices.Clone(c.errs)
	slices.SortStableFunc(errs, func(a, b Error) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	errs = slices.Compact(errs)
	if c.more > 0 {
		last := errs[len(errs)-1]
		errs = append(errs, Error{Pos: Pos{File: last.File}, Message: fmt.Sprintf("and %d more errors", c.more)})
	}
	return errs
}

// Len returns how many errors there are, repetitions counted.
func (c *Collector) Len() int { return len(c.errs) + c.more }
