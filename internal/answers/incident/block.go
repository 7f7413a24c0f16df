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

// qualified matches the name of a pod, perhaps behind that of its namespace.
var qualified = regexp.MustCompile(`^(?:([a-z0-9][-a-z0-9]*)/)?[a-z0-9][-a-z0-9.]*$`)

// described matches fields of kubectl describe that no event has.
var described = pattern("described")

// blockKeys are the fields of a block that are used, in lower case, with what they are. Others are
// passed over.
var blockKeys = map[string]string{"reason": "reason", "message": "message", "pod": "pod", "pod name": "pod", "p": "pod",
	"involvedobject": "pod", "involved object": "pod", "object": "pod", "ns": "namespace", "namespace": "namespace",
	"container": "container", "count": "count"}

// fieldLine reads a line with a field of kubectl describe, or of a block.
func (t *textReader) fieldLine(line string, at Place) bool {
	return t.describeLine(line, at) || t.blockLine(strings.TrimSpace(line), at)
}

// inBlock reads a line that continues a block. Any other line ends it.
func (t *textReader) inBlock(trimmed string, at Place) bool {
	if len(t.block.lines) > 0 && trimmed != "" && t.blockLine(trimmed, at) {
		return true
	}
	t.endBlock()
	return false
}

// add adds a line to a block. Its value is that of a role, or of no role that is used.
func (b *block) add(role, value string, line Unread) {
	if b.fields == nil {
		b.fields = map[string]string{}
	}
	b.lines, b.key = append(b.lines, line), ""
	switch value = strings.Trim(strings.TrimSuffix(value, ","), `"'`); {
	case value == "":
		b.key = role
	case role != "":
		b.fields[role] = value
	}
}

// field returns the role and the value of a line of a block. A key of capitals needs no colon.
func (b *block) field(trimmed string) (role, value string, is bool) {
	if strings.ContainsAny(trimmed[:min(len(trimmed), 30)], ":=") { // a search costs less
		if m := labelled.FindStringSubmatch(trimmed); m != nil {
			key := strings.ToLower(m[1])
			if key == "name" && (len(b.lines) > 0 && m[2] != "" || qualified.MatchString(m[2])) { // of an event
				key = "pod"
			}
			return blockKeys[key], m[2], true
		}
	}
	if trimmed == strings.ToUpper(trimmed) {
		role = blockKeys[strings.ToLower(trimmed)]
	}
	return role, "", role != ""
}

// blockLine reads a line of a block. It returns false for other lines.
func (t *textReader) blockLine(trimmed string, at Place) bool {
	b, line := &t.block, Unread{at, brief(trimmed)}
	role, value, is := b.field(trimmed)
	begins := role != "" && role != "count"
	switch {
	case t.describe != nil, len(b.lines) >= maxJoined, len(b.lines) == 0 && !begins, described.MatchString(trimmed):
		return false
	}
	start, _, _ := spokenIn(trimmed)
	switch {
	case b.key != "" && (!is || start == 0):
		b.add(b.key, trimmed, line)
	case !is || start == 0:
		return false
	case (role == "message" || role == "pod") && b.fields[role] != "": // of the next block
		t.endBlock()
		b.add(role, value, line)
	default:
		b.add(role, value, line)
	}
	return true
}

// endBlock uses the block before a line.
func (t *textReader) endBlock() {
	b := t.block
	if t.block = (block{}); len(b.lines) == 0 {
		return
	}
	at, text := b.lines[0].Place, brief(cmp.Or(b.fields["message"], b.fields["reason"]))
	if m := qualified.FindStringSubmatch(b.fields["pod"]); m != nil && !isPodKind(m[1]) {
		b.fields["namespace"] = cmp.Or(b.fields["namespace"], m[1])
	}
	_, name, _ := cutLast(b.fields["pod"], "/")
	name, _, _ = strings.Cut(cmp.Or(name, strings.TrimPrefix(b.fields["pod"], "Pod ")), " in namespace")
	name = withoutHash(name)
	named := isName(name)
	start, reason, strong := spokenIn(b.fields["message"])
	switch f := (&Fact{Place: at, Source: FromText, Container: b.fields["container"], Text: text}); {
	case named && waitsFor.MatchString(b.fields["reason"]) && b.fields["message"] == "":
		f.Kind, f.Reason, f.Count = Waiting, b.fields["reason"], -1
		if f.Pod = t.reader.pod(b.fields["namespace"], name, "", at); f.Pod != nil {
			t.add(f)
		}
	case terms[b.fields["reason"]] && b.fields["message"] != "" && (named || start == 0), start == 0 && strong:
		left := columns{namespace: b.fields["namespace"], count: count0(b.fields["count"])}
		if named {
			left.name = name
		}
		f.Reason, f.Message = cmp.Or(b.fields["reason"], reason), b.fields["message"]
		f.AtLeast = left.count == 0
		t.place(f, left)
		t.event = nil
	default:
		if named { // the message comes later
			t.pod = t.reader.pod(b.fields["namespace"], name, "", at)
		}
		for _, line := range b.lines {
			if !t.spokenEnd(line.Text, line.Place) && !t.sign(line.Text, line.Place) {
				t.skip(line.Place, line.Text)
			}
		}
	}
}
