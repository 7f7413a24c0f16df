package incident

import (
	"regexp"
	"strings"
)

// textReader reads the lines of texts: kubectl describe, kubectl get, and logs. Each line has an anchor, which says what it is.
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
	raw      int   // length of the line that is read
	open     *openLine
	words    []word
}

// openLine is a line that goes on in the next ones.
type openLine struct {
	text string
	at   Place
	n    int
	last int                    // length of the last line
	done func(text string) bool // whether the text is complete
	use  func(text string, at Place)
}

// wrapWidth is the minimum width of a terminal that breaks lines.
const wrapWidth = 79

// nextField matches lines of kubectl describe after the value of another field.
var nextField = regexp.MustCompile(`^(?:    (?:Liveness|Readiness|Startup|Environment|Environment Variables from|Mounts)|(?:Environment|Mounts|Conditions|Volumes|QoS Class|Node-Selectors|Tolerations|Events)):(?:\s|$)`)

// maxJoined is the maximum number of lines that belong to one line.
const maxJoined = 200

// line reads a line. Lines without a meaning are counted.
func (t *textReader) line(line string, at Place) {
	line = strings.TrimRight(line, "\r \t")
	if t.raw = len(line); t.raw > maxLine {
		t.skip(at, line)
		return
	}
	if t.open != nil && t.joins(line) {
		return
	}
	line = unframed(line)
	trimmed := strings.TrimSpace(line)
	t.words = split(line, t.words[:0])
	t.printedEnd(line, at)
	command, asks := prompted(line, t.words)
	switch {
	case trimmed == "":
		t.event = nil
	case t.logLine(line, at):
		t.event = nil
	case asks:
		t.flush()
		t.asked, t.askedAt, t.program = command.pod, at, command.logs
	case fence.MatchString(trimmed):
		t.flush()
		t.asked, t.program = "", false
	case strings.HasPrefix(trimmed, "#") || ruled(trimmed):
		t.event = nil
	case headed(t.words):
		if t.event = nil; t.section != nil && len(t.section.facts) > 0 && strings.Contains(strings.ToLower(trimmed), "reason") {
			t.section = nil // the table of another command
		}
	case t.eventRow(line, t.words, at) || t.podRow(line, t.words, at):
	case t.event != nil && t.event.Message == "" && t.event.Reason != "":
		t.continues(line)
	case !t.isOutput(trimmed) && t.describeLine(line, at):
		t.event = nil
	case t.spokenEvent(line, t.words, at):
	case t.event != nil && len(t.event.Message) <= maxMessage && !(len(t.words) > 1 && isAge(t.words[0].text)): // otherwise a row that is cut off
		t.continues(line)
	case t.spokenEnd(line, at):
	default:
		t.skip(at, line)
	}
}

// isOutput reports whether a line can be the output of a command in the message before it, such as "status: down".
func (t *textReader) isOutput(trimmed string) bool {
	return t.event != nil && (t.event.Reason == "Failed" || t.event.Reason == "Unhealthy") && !beginning.MatchString(trimmed) && !probeOpen.MatchString(trimmed) && !strings.HasPrefix(trimmed, "Name:")
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// joins adds a line to the open one. It returns false if the line does not belong to it.
func (t *textReader) joins(line string) bool {
	o := t.open
	t.open = nil
	if o.n++; o.n > maxJoined || len(o.text) > maxLine || isKlog(line) != nil || nextField.MatchString(line) {
		t.problem(o.at, true, "the value that begins here has no end")
		o.use(o.text, o.at)
		return false
	}
	if o.last < wrapWidth || line == "" || line[0] == ' ' || strings.HasSuffix(o.text, "=<") { // otherwise a terminal broke the line
		o.text += "\n"
	}
	o.text += line
	t.begin(o)
	return true
}

// begin uses a line, or leaves it open if it goes on.
func (t *textReader) begin(o *openLine) {
	if o.last = t.raw; o.done(o.text) {
		o.use(o.text, o.at)
	} else {
		t.open = o
	}
}

// continues adds a line to the message of the event before it: a message of several lines, or a line that a terminal wrapped.
func (t *textReader) continues(line string) {
	switch {
	case t.event.Message == "" && t.event.Source == FromDescribe: // the terminal wrapped the row before its message
		if rest := afterSource(t.words); len(rest) > 0 {
			line = line[rest[0].start:]
		}
	case t.width >= wrapWidth && line[0] != ' ' && line[0] != '\t' && (line[0] < 'A' || line[0] > 'Z'): // or in the middle of a word
	default:
		t.event.Message += "\n"
	}
	t.event.Message += strings.TrimSpace(line)
	t.width = len(line)
}

// flush ends a text: the next one has its own pod and its own clock.
func (t *textReader) flush() {
	if o := t.open; o != nil {
		t.open = nil
		t.problem(o.at, true, "the text ends in the middle of this line")
		o.use(o.text, o.at)
	}
	t.endDescribe()
	t.section, t.event, t.pod = nil, nil, nil
}

// ages returns the section of the ages in the text.
func (t *textReader) ages(at Place) *section {
	if t.section == nil {
		t.section = &section{at: at}
		t.sections = append(t.sections, t.section)
	}
	return t.section
}

// ofText returns the pod of rows that do not name it: the pod of the text around them, or of its command, or else the one without a name, of
// which a file has one.
func (t *textReader) ofText(at Place) *Pod {
	switch {
	case t.pod != nil:
	case t.asked != "":
		namespace := ""
		if d := t.describe; d != nil && d.pod.Name == t.asked && isName(d.pod.Namespace) {
			namespace, at = d.pod.Namespace, t.askedAt
		}
		t.pod = t.reader.pod(namespace, t.asked, "", at)
	case t.unnamed != nil:
		return t.unnamed
	default:
		if t.unnamed = t.newPod("", "", "", at); t.unnamed != nil {
			t.unnamed.Unnamed = true
		}
		return t.unnamed
	}
	return t.pod
}
