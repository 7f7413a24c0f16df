// Package strict decodes YAML from untrusted sources into Go values and reports all errors, each
// with file, line, column and field path.
//
// Parse limits the size, the depth and the expansion of aliases before it uses a file. Decode walks
// the nodes along the json tags of a Go type, including Kubernetes types, and rejects unknown
// fields. Later checks report errors through the same nodes.
package strict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
)

// Pos is a position in a file. Line and Column count from 1; a zero Line means the whole file.
type Pos struct {
	File         string
	Line, Column int
}

// String returns the position for people, on one line.
func (p Pos) String() string {
	file := printable.Text(p.File)
	if p.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, p.Line, p.Column)
}

// Error is an error in a file. An error in a value that comes from a Go program has a zero Pos.
type Error struct {
	Pos
	Path    string // field path, as in spec.pods[0].name; empty for a whole document or file
	Message string
}

// Error returns the error on one line, with its position. Names and values in it cannot control a
// terminal.
func (e Error) Error() string {
	if e.Pos == (Pos{}) {
		return printable.Lines(e.Text())
	}
	return printable.Lines(e.Pos.String() + ": " + e.Text())
}

// Text returns the error on one line, without its position.
func (e Error) Text() string {
	if e.Path == "" {
		return printable.Text(e.Message)
	}
	return printable.Text(e.Path + ": " + e.Message)
}

// Errors is a list of errors, sorted by position, without repetition.
type Errors []Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Collector collects errors. The zero value is an empty collector.
type Collector struct {
	errs Errors
	more int
	open bool // Decode skips fields that a type does not have
}

// Add adds an error, and shortens a very long message. Beyond MaxErrors it only counts.
func (c *Collector) Add(e Error) {
	if c.full() {
		c.more++
		return
	}
	e.Message = clip(e.Message)
	c.errs = append(c.errs, e)
}

// In reports whether any of the errors is in a file.
func (c *Collector) In(file string) bool {
	return slices.ContainsFunc(c.errs, func(e Error) bool { return e.File == file })
}

// List returns the collected errors in the order of Add.
func (c *Collector) List() Errors { return c.errs }

// Join adds the errors of another collector.
func (c *Collector) Join(other *Collector) {
	for _, e := range other.errs {
		c.Add(e)
	}
	c.more += other.more
}

// clip removes the middle of a message that quotes a very long name. The end of the message says
// what to do.
func clip(message string) string {
	const most = 1_000
	if len(message) <= most {
		return message
	}
	begin, end := message[:most/2], message[len(message)-most/2:]
	return strings.ToValidUTF8(begin, "") + "…" + strings.ToValidUTF8(end, "")
}

func (c *Collector) full() bool { return len(c.errs) >= MaxErrors }

// Addf adds an error about a whole file.
func (c *Collector) Addf(file, format string, args ...any) {
	c.Add(Error{Pos: Pos{File: file}, Message: fmt.Sprintf(format, args...)})
}

// Err returns the collected errors as Errors, or nil if there are none.
func (c *Collector) Err() error {
	if len(c.errs) == 0 {
		return nil
	}
	errs := slices.Clone(c.errs)
	slices.SortStableFunc(errs, func(a, b Error) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	errs = summarized(slices.Compact(errs))
	if c.more > 0 {
		last := errs[len(errs)-1]
		errs = append(errs, Error{Pos: Pos{File: last.File}, Message: fmt.Sprintf("and %d more errors", c.more)})
	}
	return errs
}

// mostHere is the number of errors about one place that are worth reading. A range of names has an
// error for each name. The API server finds fewer in one field.
const mostHere = 10

// summarized replaces the further errors about a place, if there are several, by their number. The
// errors are sorted.
func summarized(errs Errors) Errors {
	var list Errors
	for len(errs) > 0 {
		here := slices.IndexFunc(errs, func(e Error) bool { return e.Pos != errs[0].Pos || e.Path != errs[0].Path })
		if here < 0 {
			here = len(errs)
		}
		if more := here - mostHere; more > 1 && errs[0].Line > 0 {
			list = append(list, errs[:mostHere]...)
			list = append(list, Error{Pos: errs[0].Pos, Path: errs[0].Path,
				Message: fmt.Sprintf("and %d more errors about this", more)})
		} else {
			list = append(list, errs[:here]...)
		}
		errs = errs[here:]
	}
	return list
}

// Len returns the number of errors, including repetitions.
func (c *Collector) Len() int { return len(c.errs) + c.more }
