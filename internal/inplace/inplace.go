// Package inplace changes fields of YAML and JSON in place: comments, and everything else, stay as
// they are. A user of the package reads the result and compares it with the wanted one, because an
// alias, for example, changes elsewhere.
package inplace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"probesim.dev/internal/strict"
)

// ErrPlace is the error of fields that cannot be changed in place.
var ErrPlace = errors.New("cannot be changed in place, for example because of YAML anchors: " +
	"use -o patch, and change it by hand")

// Comment is a comment beside a changed value.
type Comment struct {
	Line int    // in the changed text
	Text string // with its #
}

// Editor collects changes of a text.
type Editor struct {
	data  []byte
	edits []edit
	err   error
}

// New returns an editor of a text.
func New(data []byte) *Editor { return &Editor{data: data} }

// edit replaces the bytes from one offset to another one.
type edit struct {
	from, to int
	text     string
}

// Merge changes an object of the text by a strategic merge patch: items of lists have names. null
// removes a field only if it removes all fields of an object that gets others.
func (e *Editor) Merge(n *strict.Node, patch map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		child := n.Field(key)
		switch value := patch[key].(type) {
		case map[string]any:
			switch {
			case !child.Written():
				e.insert(n, key, value)
			case child.Kind != strict.Mapping:
				e.fail(child.Pos)
			case slices.ContainsFunc(slices.Sorted(maps.Keys(value)),
				func(key string) bool { return value[key] == nil }):
				e.swap(child, value)
			default:
				e.Merge(child, value)
			}
		case []any:
			for _, item := range value {
				e.item(child, item)
			}
		case nil:
			e.fail(child.Pos)
		default:
			if child.Written() {
				e.replace(child, flow(value))
			} else {
				e.insert(n, key, value)
			}
		}
	}
}

// item changes the item of a list that has the name of the patch.
func (e *Editor) item(list *strict.Node, patch any) {
	fields, ok := patch.(map[string]any)
	named := func(n *strict.Node) bool { return ok && n.Field("name").Value == fields["name"] }
	i := slices.IndexFunc(list.Items, named)
	if i < 0 {
		e.fail(list.Pos)
		return
	}
	fields = maps.Clone(fields)
	delete(fields, "name")
	e.Merge(list.Items[i], fields)
}

// Apply returns the changed text, and the comments beside the values in it that have changed.
func (e *Editor) Apply() (out []byte, comments []Comment, err error) {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	at := 0
	for _, x := range e.edits {
		if x.from < at {
			continue // the comparison finds that it is missing
		}
		out = append(append(out, e.data[at:x.from]...), x.text...)
		at = x.to
		line := 1 + bytes.Count(out, []byte("\n"))
		if text := e.comment(x.to); x.to > x.from && text != "" && !slices.Contains(comments, Comment{line, text}) {
			comments = append(comments, Comment{line, text})
		}
	}
	return append(out, e.data[at:]...), comments, e.err
}

// comment returns the comment in the rest of a line, or nothing.
func (e *Editor) comment(from int) string {
	rest, _, _ := bytes.Cut(e.data[from:], []byte("\n"))
	at := bytes.Index(rest, []byte(" #"))
	if at < 0 || bytes.ContainsAny(rest[:at], "\"'") { // the # can be in a string
		return ""
	}
	return strings.TrimSpace(string(rest[at:]))
}

// Offset returns the offset of a position. Columns count characters.
func (e *Editor) Offset(pos strict.Pos) int {
	at := 0
	for range pos.Line - 1 {
		next := bytes.IndexByte(e.data[at:], '\n')
		if next < 0 {
			return len(e.data)
		}
		at += next + 1
	}
	for range pos.Column - 1 {
		_, size := utf8.DecodeRune(e.data[at:])
		at += size
	}
	return min(at, len(e.data))
}

// starts reports whether the text at an offset begins with a character.
func (e *Editor) starts(at int, c byte) bool { return at < len(e.data) && e.data[at] == c }

// next returns the first character from an offset on that is no white space, or 0.
func (e *Editor) next(at int) byte {
	rest := bytes.TrimLeft(e.data[at:], " \t\r\n")
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}

// Scalar returns the place of a scalar that is written in one line and without escapes, with its
// quotes.
func (e *Editor) Scalar(n *strict.Node) (from, to int, found bool) {
	from = e.Offset(n.Pos)
	for _, quote := range []string{"", `"`, "'"} {
		rest, found := bytes.CutPrefix(e.data[from:], []byte(quote+n.Value+quote))
		if found && (quote != "" || len(rest) == 0 || strings.IndexByte(" \t\r\n,]}", rest[0]) >= 0) {
			return from, len(e.data) - len(rest), true
		}
	}
	return from, from, false
}

// Replace replaces the text from one offset to another one.
func (e *Editor) Replace(from, to int, text string) { e.edits = append(e.edits, edit{from, to, text}) }

func (e *Editor) fail(pos strict.Pos) {
	if e.err == nil {
		e.err = fmt.Errorf("line %d %w", pos.Line, ErrPlace)
	}
}

// replace replaces a scalar. Its quotes stay, unless the new value is a number.
func (e *Editor) replace(n *strict.Node, text string) {
	from, to, found := e.Scalar(n)
	if !found {
		e.fail(n.Pos)
		return
	}
	if quotes := (to - from - len(n.Value)) / 2; strings.Trim(text, "0123456789") != "" {
		from, to = from+quotes, to-quotes
	}
	e.Replace(from, to, text)
}

// insert inserts a field into a mapping: a scalar at its beginning, an object in front of a field
// that it belongs to.
func (e *Editor) insert(n *strict.Node, name string, value any) {
	at := e.Offset(n.Pos)
	if e.starts(at, '{') {
		text, next := name+": "+flow(value), e.next(at+1)
		if next == '"' { // JSON
			text = jsonOf(name) + ": " + jsonOf(value)
		}
		if next != '}' {
			text += ", "
		}
		e.Replace(at+1, at+1, text)
		return
	}
	beside := n.Pos
	if _, object := value.(map[string]any); object {
		for _, field := range []string{"livenessProbe", "startupProbe", "readinessProbe", "ports", "image", "name"} {
			if beside == n.Pos && n.Field(field).Written() {
				beside = n.Field(field).Pos
			}
		}
	}
	line := -1 // the start of the line of the last key up to that one, or else of the first key that begins a line
	for _, key := range n.Keys {
		start := e.Offset(strict.Pos{Line: key.Pos.Line, Column: 1})
		begins := key.Pos.Line >= n.Pos.Line && strings.Trim(string(e.data[start:e.Offset(key.Pos)]), " ") == ""
		if begins && (line < 0 || key.Pos.Line <= beside.Line) {
			line = start
		}
	}
	if line < 0 {
		e.fail(n.Pos)
		return
	}
	indent := strings.Repeat(" ", n.Pos.Column-1)
	e.Replace(line, line, e.ends(indent+e.block(map[string]any{name: value}, indent)+"\n"))
}

// ends returns lines with the ends that the lines of the text have.
func (e *Editor) ends(lines string) string {
	if bytes.Contains(e.data, []byte("\r\n")) {
		return strings.ReplaceAll(lines, "\n", "\r\n")
	}
	return lines
}

// swap replaces all fields of an object.
func (e *Editor) swap(n *strict.Node, patch map[string]any) {
	value := maps.Clone(patch)
	maps.DeleteFunc(value, func(_ string, v any) bool { return v == nil })
	for _, key := range n.Keys {
		if v, named := patch[key.Name]; !named || v != nil {
			e.fail(n.Pos)
			return
		}
	}
	from := e.Offset(n.Pos)
	if e.starts(from, '{') {
		text := flow(value)
		if e.next(from+1) == '"' {
			text = jsonOf(value)
		}
		e.Replace(from, e.flowEnd(from), text)
		return
	}
	end := e.blockEnd(n.Pos)
	if len(value) == 0 || bytes.Contains(e.data[from:end], []byte(" #")) { // a comment would be lost
		e.fail(n.Pos)
		return
	}
	e.Replace(from, end, e.ends(e.block(value, strings.Repeat(" ", n.Pos.Column-1))))
}

// flowEnd returns the offset behind the bracket that closes another one.
func (e *Editor) flowEnd(from int) int {
	depth, quote := 0, byte(0)
	for i := from; i < len(e.data); i++ {
		switch c := e.data[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(e.data)
}

// blockEnd returns the offset behind the last line of a mapping whose keys have a line each,
// without the end of the line.
func (e *Editor) blockEnd(first strict.Pos) int {
	end, at := 0, e.Offset(strict.Pos{Line: first.Line, Column: 1})
	for i, line := range strings.SplitAfter(string(e.data[at:]), "\n") {
		text := strings.TrimLeft(line, " ")
		if i > 0 && strings.TrimSpace(text) != "" && text[0] != '#' && len(line)-len(text) < first.Column-1 {
			break
		}
		if strings.TrimSpace(text) != "" && text[0] != '#' {
			end = at + len(strings.TrimRight(line, "\r\n"))
		}
		at += len(line)
	}
	return end
}

// block returns fields in lines. All lines but the first one are indented.
func (e *Editor) block(fields map[string]any, indent string) string {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(fields); err != nil {
		e.err = cmp.Or(e.err, err)
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\n", "\n"+indent)
}

// plain matches a string that YAML needs no quotes for.
var plain = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9/._-]*$`)

// quote returns a string as YAML, in quotes if it needs them.
func quote(text string) string {
	if plain.MatchString(text) && strict.IsString(text) {
		return text
	}
	return jsonOf(text)
}

// flow returns a value in the style {path: /ready, port: 80}.
func flow(value any) string {
	var list []string
	switch v := value.(type) {
	case string:
		return quote(v)
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, key+": "+flow(v[key]))
		}
		return "{" + strings.Join(list, ", ") + "}"
	case []any:
		for _, item := range v {
			list = append(list, flow(item))
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	return jsonOf(value)
}

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("inplace: %v", err)) // values of a patch come from JSON
	}
	return string(text)
}
