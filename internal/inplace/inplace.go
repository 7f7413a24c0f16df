// Package inplace changes fields of YAML and JSON in place: comments, and everything else, stay as
// they are. Whoever uses it reads the result and compares it with what it should be, because an
// alias, for example, changes elsewhere.
package inplace

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"probesim.dev/internal/strict"
)

// ErrPlace is the error of fields that cannot be changed in place.
var ErrPlace = errors.New("cannot be changed in place, for example because of YAML anchors: use -o patch, and change " +
	"it by hand")

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
				e.add(n, key, value)
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
				e.replace(child, scalar(value))
			} else {
				e.insert(n.Pos, key, scalar(value))
			}
		}
	}
}

// item changes the item of a list that has the name of the patch.
func (e *Editor) item(list *strict.Node, patch any) {
	fields, ok := patch.(map[string]any)
	i := slices.IndexFunc(list.Items,
		func(n *strict.Node) bool { return ok && n.Field("name").Value == fields["name"] })
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

// offset returns the offset of a position. Columns count characters.
func (e *Editor) offset(pos strict.Pos) int {
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

func (e *Editor) fail(pos strict.Pos) {
	if e.err == nil {
		e.err = fmt.Errorf("line %d %w", pos.Line, ErrPlace)
	}
}

// replace replaces a scalar, which can be in quotes.
func (e *Editor) replace(n *strict.Node, text string) {
	from := e.offset(n.Pos)
	rest := e.data[from:]
	for _, quote := range []string{"", `"`, "'"} {
		before := quote + n.Value + quote
		if !bytes.HasPrefix(rest, []byte(before)) ||
			quote == "" && len(rest) > len(before) && strings.IndexByte(" \t\r\n,]}", rest[len(before)]) < 0 {
			continue
		}
		if from += len(quote); quote != "" && strings.Trim(text, "0123456789") == "" { // a number
			from -= len(quote)
		} else {
			before = n.Value
		}
		e.edits = append(e.edits, edit{from, from + len(before), text})
		return
	}
	e.fail(n.Pos)
}

// insert inserts a field with a text at the beginning of a mapping.
func (e *Editor) insert(mapping strict.Pos, name, value string) {
	if at := e.offset(mapping); at < len(e.data) && e.data[at] == '{' {
		e.insertFlow(at+1, fmt.Sprintf("%q: %s", name, value), name+": "+value)
		return
	}
	e.line(mapping, name+": "+value)
}

// insertFlow inserts a field after a bracket, as JSON if the next one is in quotes.
func (e *Editor) insertFlow(at int, json, text string) {
	rest := bytes.TrimLeft(e.data[at:], " \t\r\n")
	if len(rest) > 0 && rest[0] == '"' {
		text = json
	}
	if len(rest) > 0 && rest[0] != '}' {
		text += ", "
	}
	e.edits = append(e.edits, edit{at, at, text})
}

// line inserts a line, or several, before the line of a key, which has nothing but spaces before
// it.
func (e *Editor) line(key strict.Pos, text string) {
	at := e.offset(key)
	start := bytes.LastIndexByte(e.data[:at], '\n') + 1
	indent := string(e.data[start:at])
	if strings.Trim(indent, " ") != "" {
		e.fail(key)
		return
	}
	text = indent + strings.ReplaceAll(text, "\n", "\n"+indent) + "\n"
	e.edits = append(e.edits, edit{start, start, e.ends(text)})
}

// ends returns lines with the ends that the lines of the text have.
func (e *Editor) ends(lines string) string {
	if bytes.Contains(e.data, []byte("\r\n")) {
		return strings.ReplaceAll(lines, "\n", "\r\n")
	}
	return lines
}

// add adds an object to a mapping: in front of a field that it belongs to, if there is one.
func (e *Editor) add(n *strict.Node, name string, value map[string]any) {
	if at := e.offset(n.Pos); at < len(e.data) && e.data[at] == '{' {
		e.insertFlow(at+1, fmt.Sprintf("%q:%s", name, jsonOf(value)), name+": "+flow(value))
		return
	}
	beside := n.Pos
	for _, field := range []string{"livenessProbe", "startupProbe", "readinessProbe", "ports", "image", "name"} {
		if beside == n.Pos && n.Field(field).Written() {
			beside = n.Field(field).Pos
		}
	}
	if key, ok := e.key(n.Pos, beside); ok {
		e.line(key, e.block(map[string]any{name: value}))
	} else {
		e.fail(n.Pos)
	}
}

// key returns the position of a key of a mapping, in the column of its first key: that of a field
// if there is only white space before it, or else the next one.
func (e *Editor) key(mapping, field strict.Pos) (strict.Pos, bool) {
	lines := strings.Split(string(e.data), "\n")
	blank := strings.Repeat(" ", mapping.Column-1)
	isKey := func(line int) bool {
		if line < 1 || line > len(lines) {
			return false
		}
		rest, ok := strings.CutPrefix(lines[line-1], blank)
		return ok && rest != "" && strings.IndexByte(" #\t\r-", rest[0]) < 0
	}
	for line := field.Line; line >= mapping.Line; line-- {
		if isKey(line) {
			return strict.Pos{Line: line, Column: mapping.Column}, true
		}
	}
	for line := field.Line + 1; line <= len(lines); line++ {
		if isKey(line) {
			return strict.Pos{Line: line, Column: mapping.Column}, true
		}
		if text := strings.TrimSpace(lines[line-1]); text != "" &&
			len(lines[line-1])-len(strings.TrimLeft(lines[line-1], " ")) < mapping.Column-1 {
			return strict.Pos{}, false
		}
	}
	return strict.Pos{}, false
}

// swap replaces all fields of an object.
func (e *Editor) swap(n *strict.Node, patch map[string]any) {
	value := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(patch)) {
		if patch[key] != nil {
			value[key] = patch[key]
		}
	}
	for _, key := range n.Keys {
		if v, named := patch[key.Name]; !named || v != nil {
			e.fail(n.Pos)
			return
		}
	}
	from := e.offset(n.Pos)
	if from < len(e.data) && e.data[from] == '{' {
		text := flow(value)
		if rest := bytes.TrimLeft(e.data[from+1:], " \t\r\n"); len(rest) > 0 && rest[0] == '"' {
			text = jsonOf(value)
		}
		e.edits = append(e.edits, edit{from, e.flowEnd(from), text})
		return
	}
	end := e.blockEnd(n.Pos)
	if len(value) == 0 || bytes.Contains(e.data[from:end], []byte(" #")) { // a comment would be lost
		e.fail(n.Pos)
		return
	}
	text := strings.ReplaceAll(e.block(value), "\n", "\n"+strings.Repeat(" ", n.Pos.Column-1))
	e.edits = append(e.edits, edit{from, end, e.ends(text)})
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
	end, at := 0, e.offset(strict.Pos{Line: first.Line, Column: 1})
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

// block returns fields in lines.
func (e *Editor) block(fields map[string]any) string {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(fields); err != nil {
		e.err = cmp.Or(e.err, err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
