package incident

import (
	"regexp"
	"strings"
)

// textReader reads the lines of texts: kubectl describe, kubectl get, and logs. Each line has an
// anchor, which says what it is.
type textReader struct {
	*reader
	section  *section
	describe *describeReader
	pod      *Pod   // of the text
	asked    string // the pod that the command, or the description, names
	askedAt  Place
	program  bool  // the command prints the log of a program
	event    *Fact // the last row of a table of events, which the next line may continue
	width    int   // length of its line
	listing  int   // number of the list of pods
	raw      int   // length of the line that is read
	comment  bool  // the line is a comment
	next     int   // offset of the next line
	words    []word
	// withPhase is the last pod of which a description had the phase.
	withPhase *Pod
	invoked   string // the process that asked for memory when the kernel had none for it
	block     block
	console   console
	nodes     map[*Pod]map[string]*Pod // those of a table of events, by the nodes of their kubelets
	// scheduled is the pod that an event in the rows without a name was about.
	scheduled string
}

// wrapWidth is the minimum width of a terminal that breaks lines.
const wrapWidth = 79

// nextField matches lines of kubectl describe after the value of another field.
var nextField = pattern("nextField")

// escapedBreak matches an escaped line break before a row of kubectl describe.
var escapedBreak = regexp.MustCompile(`\\n(?:\s+(?:Normal|Warning|Reason:|State:)\s|Events:|Status:)`)

// maxJoined is the maximum number of lines that belong to one line.
const maxJoined = 200

// line reads a line. Lines without a meaning are counted.
func (t *textReader) line(line string, at Place) {
	line = strings.TrimRight(line, "\r \t")
	if t.raw = len(line); t.raw > maxLine {
		t.skip(at, line)
		return
	}
	if escapedBreak.MatchString(line) && isKlog(line) == nil { // a text in a string of a program
		unread := t.rec.UnreadLines + 1
		for part := range strings.SplitSeq(strings.ReplaceAll(line, `\"`, `"`), `\n`) {
			t.line(part, at)
		}
		t.rec.UnreadLines = min(t.rec.UnreadLines, unread) // it is one line
		t.rec.Unread = t.rec.Unread[:min(len(t.rec.Unread), unread)]
		return
	}
	line, comment := uncommented(unframed(bold.ReplaceAllString(line, "$1")))
	wasComment := t.comment
	t.comment = comment
	trimmed := strings.TrimSpace(line)
	t.words = split(line, t.words[:0])
	if t.consoleLine(trimmed, at) || t.inBlock(trimmed, at) {
		return
	}
	t.printedEnd(line, at)
	pod, logs, asks := prompted(trimmed)
	event := t.event // which ends here unless the line continues it
	t.event = nil
	switch {
	case t.logLine(line, at):
	case asks:
		t.flush()
		t.asked, t.askedAt, t.program = pod, at, logs
	case fence.MatchString(trimmed):
		t.flush()
		t.asked, t.program = "", false
	case t.heading(trimmed, at):
	case t.eventRow(line, t.words, at) || t.podRow(line, t.words, at) || t.nodeRow(line, at):
	case !event.hasOutput(trimmed) && t.fieldLine(line, at):
	case comment && !(wasComment && event != nil) && !speaks(trimmed):
		t.dotted(trimmed)
		if at.Line > 1 || !t.spokenEnd(line, at) { // the first one is a title
			t.sign(line, at)
		}
	case t.spokenEvent(line, t.words, at):
	case strings.HasSuffix(trimmed, "status is Pending") && t.spokenState(line, at):
	case event != nil && len(event.Message) <= maxMessage && new(columns).readTime(t.words) == 0:
		// otherwise a row that is cut off
		t.continues(event, line)
	case t.spokenEnd(line, at), t.sign(line, at):
	default:
		t.skip(at, line)
	}
}

// hasOutput reports whether a line can be the output of a command in the message of an event, such
// as "status: down".
func (f *Fact) hasOutput(trimmed string) bool {
	return f != nil && (f.Reason == "Failed" || f.Reason == "Unhealthy") && !beginning.MatchString(trimmed) &&
		!probeOpen.MatchString(trimmed) && !strings.HasPrefix(trimmed, "Name:")
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// joined returns a line with the next ones that belong to it, until it is done.
func (t *textReader) joined(text string, at Place, done func(text string) bool) string {
	last := t.raw
	for n := 0; !done(text); n++ {
		line := strings.TrimRight(t.reader.line(t.next), "\r \t")
		if n == maxJoined || t.next >= len(t.data) || len(text) > maxLine || isKlog(line) != nil ||
			nextField.MatchString(line) {
			t.problem(at, true, "the value that begins here has no end")
			break
		}
		// otherwise a terminal broke the line
		if last < wrapWidth || line == "" || line[0] == ' ' || strings.HasSuffix(text, "=<") {
			text += "\n"
		}
		text, last = text+line, len(line)
		t.next += len(t.reader.line(t.next)) + 1
	}
	return text
}

// continues adds a line to the message of the event before it: a message of several lines, or a
// line that a terminal wrapped.
func (t *textReader) continues(f *Fact, line string) {
	switch {
	case t.width < wrapWidth && ofOneLine[f.Reason]: // what a person writes below it
		t.skip(Place{t.file, t.at(t.next).Line - 1}, line)
		return
	// or in the middle of a word
	case t.width >= wrapWidth && !strings.ContainsAny(line[:1], " \t+"+upper):
	default:
		f.Message += "\n"
	}
	f.Message += strings.TrimSpace(line)
	t.event, t.width = f, len(line)
}

// ofOneLine has the reasons of events whose messages are short sentences.
var ofOneLine = wordSet(`BackOff Killing Created Started Pulling Pulled Scheduled`)

// flush ends a text: the next one has its own pod and its own clock.
func (t *textReader) flush() {
	t.endBlock()
	t.endDescribe()
	t.section, t.pod = nil, nil
}

// ages returns the section of the ages in the text.
func (t *textReader) ages(at Place) *section {
	if t.section == nil {
		t.section = &section{at: at}
		t.sections = append(t.sections, t.section)
	}
	return t.section
}

// ofText returns the pod of rows that do not name it: the pod of the text around them, or of its
// command, or else the one without a name, of which a file has one.
func (t *textReader) ofText(at Place) *Pod {
	if t.pod == nil && t.asked != "" {
		namespace := ""
		if d := t.describe; d != nil && d.pod.Name == t.asked && isName(d.pod.Namespace) {
			namespace, at = d.pod.Namespace, t.askedAt
		}
		t.pod = t.reader.pod(namespace, t.asked, "", at)
	}
	if t.pod != nil {
		return t.pod
	}
	if t.unnamed == nil {
		t.unnamed = t.newPod("", "", "", at)
	}
	return t.unnamed
}
