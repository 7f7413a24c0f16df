// Package refresh updates the observed expectations in scenario files with the values of runs. It
// changes no other byte of a file.
package refresh

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"probesim.dev/internal/inplace"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
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
	docs, _ := strict.Parse(name, data, &strict.Collector{}) // the file has loaded without errors before
	u, errs := &update{inplace.New(data), data, docs}, &strict.Collector{}
	changed := 0
	for _, o := range seen {
		err := o.Err
		if err == nil && o.Holds() {
			continue
		}
		if err == nil {
			err = u.expectation(o)
		}
		if err != nil {
			message := "cannot be updated: " + err.Error()
			errs.Add(scenarios.Error{Pos: o.Expect.Pos, Path: o.Expect.Path, Message: message})
		}
		changed++
	}
	if err := errs.Err(); err != nil {
		return Result{}, err
	}
	text, _, err := u.Apply()
	return Result{Text: text, Changed: changed, Diff: difference(printable.Text(name), data, text)}, err
}

// difference returns how a file changes, in the format of diff -u.
func difference(name string, old, text []byte) string {
	whole := func(data []byte) []byte { return append(bytes.TrimSuffix(slices.Clone(data), []byte("\n")), '\n') }
	_, lines, _ := strings.Cut(string(diff.Diff(name, whole(old), name, whole(text))), "\n") // without the command
	return strings.ReplaceAll(lines, "\r\n", "\n")
}

// update is a file with its changes.
type update struct {
	*inplace.Editor
	data []byte
	docs []*strict.Node
}

var (
	errAnchor = errors.New("it uses a YAML anchor or alias, so the update would change other places too: " +
		"write the value without them")
	errMoved = errors.New("it cannot be found in the file: the file has changed since it was loaded, " +
		"or is not UTF-8 with the usual line breaks")
	errStyle = errors.New("a YAML style that cannot be updated: write it in one line")
)

// expectation updates an expectation.
func (u *update) expectation(o expect.Observation) error {
	n, err := u.find(o.Expect.Pos)
	if err != nil {
		return err
	}
	switch e := o.Expect; {
	case e.Transitions != nil:
		list := n.Field("transitions").Field(e.Transitions.Field)
		if err := u.list(n, list, o.Values); err != nil {
			return fmt.Errorf("the list of %s %w", e.Transitions.Field, err)
		}
		return nil
	case e.Status != nil:
		for i, f := range e.Status {
			if f.Match.String() == o.Values[i].String() {
				continue
			}
			if err := u.scalar(n, n.Field("status").Field(f.Name), scalar(o.Values[i])); err != nil {
				return err
			}
		}
		return nil
	case e.First != nil:
		return u.scalar(n, n.Field("first"), o.String())
	}
	return u.scalar(n, n.Field("count"), o.String())
}

// find returns the expectation at a position.
func (u *update) find(at strict.Pos) (*strict.Node, error) {
	for _, doc := range u.docs {
		for n := doc; n != nil; n = around(n, at) {
			switch {
			case u.anchored(n):
				return nil, errAnchor
			case n.Kind != strict.Mapping || n.Pos.Line != at.Line || n.Pos.Column != at.Column:
			case n.Field("observed").Kind == strict.Missing:
				return nil, errMoved
			default:
				if _, _, found := u.Scalar(n.Field("observed")); !found {
					return nil, errMoved
				}
				return n, nil
			}
		}
	}
	return nil, errMoved
}

// around returns the last item of a node that begins at or before a position, or nil.
func around(n *strict.Node, at strict.Pos) (last *strict.Node) {
	for _, item := range n.Items {
		if !after(item.Pos, at) && !after(n.Pos, item.Pos) {
			last = item
		}
	}
	return last
}

func after(a, b strict.Pos) bool { return a.Line > b.Line || a.Line == b.Line && a.Column > b.Column }

// anchored reports whether a node begins with an anchor or an alias.
func (u *update) anchored(n *strict.Node) bool {
	at := u.Offset(n.Pos)
	return at < len(u.data) && (u.data[at] == '&' || u.data[at] == '*')
}

// scalar replaces a scalar in an expectation.
func (u *update) scalar(of, n *strict.Node, text string) error {
	from, to, found := u.Scalar(n)
	switch {
	case n.Kind == strict.Missing || u.anchored(n) || after(of.Pos, n.Pos):
		return errAnchor
	case !found:
		return fmt.Errorf("the value in line %d has %w", n.Pos.Line, errStyle)
	}
	u.Replace(from, to, text)
	return nil
}

// list replaces the items of a list of scalars in an expectation, in flow or in block style.
func (u *update) list(of, n *strict.Node, values []value.Scalar) error {
	begin, end := -1, 0
	for _, item := range slices.Concat([]*strict.Node{n}, n.Items) {
		if u.anchored(item) || after(of.Pos, item.Pos) {
			return errAnchor
		}
		if item == n {
			continue
		}
		from, to, found := u.Scalar(item)
		if !found {
			return fmt.Errorf("has a value in line %d with %w", item.Pos.Line, errStyle)
		}
		if end = to; begin < 0 {
			begin = from
		}
	}
	if begin < 0 || bytes.Contains(u.data[begin:end], []byte("#")) {
		return errors.New("has comments inside, which the update would remove: move them, or edit the list by hand")
	}
	separator := ", "
	if u.data[u.Offset(n.Pos)] != '[' {
		separator = "\n" + strings.Repeat(" ", n.Pos.Column-1) + "- "
	}
	var items []string
	for _, v := range values {
		items = append(items, scalar(v))
	}
	u.Replace(begin, end, strings.Join(items, separator))
	return nil
}

// scalar formats a value so that it is valid in flow style too.
func scalar(v value.Scalar) string {
	if v.Type != value.Text {
		return v.String()
	}
	return inplace.Quote(v.String())
}
