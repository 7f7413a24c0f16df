package incident

import (
	"cmp"
	"regexp"
	"strings"
)

// block is an event, or the state of a container, with a line for each of its fields: web consoles
// and alerts show it so, and people copy parts of its YAML.
type block struct {
	fields map[string]string
	lines  []Unread
	key    string // alone on the last line: its value is on the next one
}

// labelled matches a field of a block.
var labelled = regexp.MustCompile(`^(?:[-*•]\s+)?"?([A-Za-z][A-Za-z ]{0,20}?)"?\s*[:=]\s*(\S.*)?$`)

// blockKeys are the fields of a block that are used, in lower case, with what they are. Others are
// passed over.
var blockKeys = map[string]string{"reason": "reason", "message": "message", "pod": "pod", "pod name": "pod", "p": "pod",
	"involvedobject": "pod", "involved object": "pod", "object": "pod", "ns": "namespace", "namespace": "namespace",
	"container": "container", "count": "count"}

// blockLine reads a line of a block. It returns false for other lines.
func (t *textReader) blockLine(trimmed string, at Place) bool {
	b := &t.block
	add := func(key, value string) bool {
		if b.fields == nil {
			b.fields = map[string]string{}
		}
		b.lines, b.key = append(b.lines, Unread{at, brief(trimmed)}), ""
		if value = strings.Trim(strings.TrimSuffix(value, ","), `"'`); value == "" {
			b.key = key
		} else if key != "" {
			b.fields[key] = value
		}
		return true
	}
	var m []string
	key, value := trimmed, ""
	if begin := trimmed[:min(len(trimmed), 30)]; strings.ContainsAny(begin, ":=") { // a search costs less
		m = labelled.FindStringSubmatch(trimmed)
	} else if len(b.lines) == 0 && len(trimmed) > 2 {
		return false
	}
	if m != nil {
		key, value = m[1], m[2]
	}
	role := blockKeys[strings.ToLower(key)]
	if role == "" && len(b.lines) == 0 {
		return false
	}
	start, _, _ := spokenIn(trimmed)
	switch {
	case t.describe != nil || len(b.lines) >= maxJoined:
		return false
	case b.key != "" && (m == nil || start == 0):
		return add(b.key, trimmed)
	case start == 0:
		return false
	case role == "message" && b.fields["message"] != "", role == "pod" && b.fields["pod"] != "": // of the next one
		t.endBlock()
		return t.blockLine(trimmed, at)
	case role != "" && (role != "count" || len(b.lines) > 0) && (m != nil || strings.ToUpper(key) == key):
		return add(role, value)
	case m != nil && len(b.fields) > 0:
		if strings.ToLower(key) == "name" && value != "" { // below involvedObject
			return add("pod", value)
		}
		return add("", cmp.Or(value, "-"))
	}
	return false
}

// endBlock uses the block before a line.
func (t *textReader) endBlock() {
	b := t.block
	if t.block = (block{}); len(b.lines) == 0 {
		return
	}
	at, text := b.lines[0].Place, brief(cmp.Or(b.fields["message"], b.fields["reason"]))
	_, name, _ := cutLast(b.fields["pod"], "/")
	name = withoutHash(cmp.Or(name, strings.TrimPrefix(b.fields["pod"], "Pod ")))
	named := isName(name)
	start, reason, strong := spokenIn(b.fields["message"])
	switch f := (&Fact{Place: at, Source: FromText, Container: b.fields["container"], Text: text}); {
	case named && waitsFor.MatchString(b.fields["reason"]) && b.fields["message"] == "":
		f.Kind, f.Reason, f.Count = Waiting, b.fields["reason"], -1
		if f.Pod = t.reader.pod(b.fields["namespace"], name, "", at); f.Pod != nil {
			t.add(f)
		}
	case terms[b.fields["reason"]] && b.fields["message"] != "", start == 0 && strong:
		left := columns{namespace: b.fields["namespace"], count: count0(b.fields["count"])}
		if named {
			left.name = name
		}
		f.Reason, f.Message = cmp.Or(b.fields["reason"], reason), b.fields["message"]
		f.AtLeast = left.count == 0
		t.place(f, left)
		t.event = nil
	case named: // the message comes later
		t.pod = t.reader.pod(b.fields["namespace"], name, "", at)
	default:
		for _, line := range b.lines {
			t.skip(line.Place, line.Text)
		}
	}
}
