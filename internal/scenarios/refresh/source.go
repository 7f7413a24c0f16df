package refresh

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// source is a YAML file with the positions of its values.
type source struct {
	data  []byte
	lines []int // the offset of each line
	docs  []*yaml.Node
}

func newSource(data []byte) *source {
	s := &source{data: data, lines: []int{0}}
	for i := 0; i < len(data); {
		n := lineBreak(data[i:])
		if n > 0 {
			s.lines = append(s.lines, i+n)
		}
		i += max(n, 1)
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return s // UTF-16: the offsets below are for UTF-8
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if decoder.Decode(&doc) != nil { // the end: the file has loaded without errors before
			return s
		}
		s.docs = append(s.docs, &doc)
	}
}

// lineBreak returns the length of the line break at the beginning of text, by the rules of YAML
// 1.1; 0 if there is none.
func lineBreak(text []byte) int {
	if bytes.HasPrefix(text, []byte("\r\n")) {
		return 2
	}
	for _, b := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		if bytes.HasPrefix(text, []byte(b)) {
			return len(b)
		}
	}
	return 0
}

// offset returns the byte offset of a node. Columns of nodes count characters.
func (s *source) offset(n *yaml.Node) int {
	at := s.lines[n.Line-1]
	if n.Line == 1 && bytes.HasPrefix(s.data, []byte("\ufeff")) {
		at += len("\ufeff")
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(s.data[at:])
		at += size
	}
	return at
}

var errAnchor = errors.New("it uses a YAML anchor or alias, so the update would change other places too: write the " +
	"value without them")

// expectation finds an expectation by its position.
func (s *source) expectation(e *format.Expect) (*yaml.Node, error) {
	for _, doc := range s.docs {
		found, anchored := find(doc, e.Line, e.Column)
		if found != nil && anchored {
			return nil, errAnchor
		}
		if found != nil {
			if _, err := field(found, "observed"); err != nil {
				break
			}
			return found, nil
		}
	}
	return nil, errors.New("it cannot be found in the file: the file has changed since it was loaded, or is not " +
		"UTF-8 with the usual line breaks")
}

// find returns the mapping at a position. anchored reports whether the mapping or a node around it
// has an anchor.
func find(n *yaml.Node, line, column int) (found *yaml.Node, anchored bool) {
	if n.Kind == yaml.MappingNode && n.Line == line && n.Column == column {
		return n, n.Anchor != ""
	}
	for _, c := range n.Content {
		if found, anchored := find(c, line, column); found != nil {
			return found, anchored || n.Anchor != ""
		}
	}
	return nil, false
}

// field returns the value of a field of a mapping. The field and its value must not use anchors or
// aliases.
func field(n *yaml.Node, name string) (*yaml.Node, error) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return nil, errAnchor
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != name {
			continue
		}
		if at := n.Content[i+1]; at.Kind != yaml.AliasNode && at.Anchor == "" {
			return at, nil
		}
	}
	return nil, errAnchor
}

func (s *source) replaceScalar(n *yaml.Node, text string) (edit, error) {
	from := s.offset(n)
	end, err := s.end(n)
	return edit{from, end, text}, err
}

// end returns the byte offset of the end of a scalar.
func (s *source) end(n *yaml.Node) (int, error) {
	from := s.offset(n)
	rest := s.data[from:]
	switch {
	case n.Kind == yaml.ScalarNode && n.Style == 0 && bytes.HasPrefix(rest, []byte(n.Value)):
		return from + len(n.Value), nil
	case n.Kind == yaml.ScalarNode && n.Style == yaml.SingleQuotedStyle:
		if end := quoted(rest, false); end > 0 {
			return from + end, nil
		}
	case n.Kind == yaml.ScalarNode && n.Style == yaml.DoubleQuotedStyle:
		if end := quoted(rest, true); end > 0 {
			return from + end, nil
		}
	}
	return 0, fmt.Errorf("the value in line %d has a YAML style that cannot be updated: write it in one line", n.Line)
}

// quoted returns the length of the quoted scalar at the beginning of text, or 0 if it has no end. A
// single-quoted scalar escapes its quotes by doubling them, a double-quoted scalar by a backslash.
func quoted(text []byte, double bool) int {
	for i := 1; i < len(text); i++ {
		switch {
		case double && text[i] == '\\':
			i++
		case text[i] != text[0]:
		case !double && i+1 < len(text) && text[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return 0
}

// replaceSequence returns the edit that replaces the items of a list of scalars, in flow or in
// block style.
func (s *source) replaceSequence(n *yaml.Node, items []string) (edit, error) {
	from := s.offset(n)
	last := n.Content[len(n.Content)-1]
	for _, item := range n.Content {
		if item.Kind == yaml.AliasNode || item.Anchor != "" {
			return edit{}, errAnchor
		}
	}
	end, err := s.end(last)
	if err != nil {
		return edit{}, err
	}
	if strings.Contains(string(s.data[from:end]), "#") {
		return edit{}, errors.New("has comments inside, which the update would remove: move them, or edit the list " +
			"by hand")
	}
	if n.Style&yaml.FlowStyle == 0 {
		indent := "\n" + strings.Repeat(" ", n.Column-1) + "- "
		return edit{from, end, strings.TrimPrefix(indent, indent[:len(indent)-2]) + strings.Join(items, indent)}, nil
	}
	begin := s.offset(n.Content[0])
	return edit{begin, end, strings.Join(items, ", ")}, nil
}

// scalar formats a value so that it is valid in flow style too.
func scalar(v value.Scalar) string {
	text := v.String()
	if v.Type != value.Text {
		return text
	}
	plain := text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
	if plain && strict.IsString(text) {
		return text
	}
	return strconv.Quote(text)
}
