package incident

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"probesim.dev/trace"
)

// textReader reads the lines of texts: kubectl describe, kubectl get, and logs.
type textReader struct {
	*reader
	section  *section
	describe *describeReader
	pod      *Pod  // of the text
	event    *Fact // the last row of a table of events, which the next line may continue
	width    int   // length of its line
	raw      int   // length of the line that is read
	open     *openLine
	spec     []string // lines of a probe, as in a manifest
	specAt   Place
	specName string
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
var nextField = regexp.MustCompile(`^(?:    (?:Liveness|Readiness|Startup|Environment|Environment Variables from|Mounts)|Conditions|Volumes|QoS Class|Node-Selectors|Tolerations|Events):(?:\s|$)`)

// maxJoined is the maximum number of lines that belong to one line.
const maxJoined = 200

const datePattern = `\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2} [+-]\d{4}`

var (
	// describeRow is a row of events of kubectl describe.
	describeRow = regexp.MustCompile(`^\s*(Normal|Warning)\s+(\S+)\s+(` + agePattern + `)(?:\s+\(x(\d+) over (` + agePattern + `)\))?\s+([^\s,]+(?:, \S+)?)(?:\s+(.*))?$`)
	// getRow is a row of kubectl get events.
	getRow = regexp.MustCompile(`^\s*(?:(\S+)\s+)?(` + agePattern + `)\s+(Normal|Warning)\s+(\S+)\s+([A-Za-z]+)/(\S+)(?:\s+(.*))?$`)
	// oldRow is a row of events up to Kubernetes 1.9: first and last time, count, and words in an order that differs.
	oldRow = regexp.MustCompile(`^\s*(?:(\S+)\s+)?(` + agePattern + `|` + datePattern + `)\s+(` + agePattern + `|` + datePattern + `)\s+(\d+)\s+(.*)$`)
	// podRow is a row of kubectl get pods.
	podRow = regexp.MustCompile(`^(?:(?:ADDED|MODIFIED|DELETED)\s+)?(?:([a-z0-9][-a-z0-9.]*)\s+)?([a-z0-9][-a-z0-9.]*)\s+(\d+)/(\d+)\s+([A-Z]\S*)\s+(\d+)(?:\s+\((` + agePattern + `) ago\))?\s+(` + agePattern + `)(?:\s.*)?$`)
	// polledRow is a row of a script that polls a pod.
	polledRow = regexp.MustCompile(`^\+(` + agePattern + `)\s+(\S+)\s+(\d+)/(\d+)\s+([A-Z]\S*)\s+restarts=(\d+)$`)
	header    = regexp.MustCompile(`^\s*((NAMESPACE\s+)?(NAME|LAST SEEN|LASTSEEN|FIRSTSEEN|EVENT)\s|Type\s+Reason\s|FirstSeen\s|----\s|-+\s+-+)`)
	// prompt is the line of a shell on which a command was entered.
	prompt    = regexp.MustCompile(`^\S{0,80}\s?[$#%>]\s*(?:sudo\s+)?(?:kubectl|oc|k|k3s|microk8s|minikube|crictl|journalctl|cat|grep|less|tail|head)\s`)
	probeSpec = regexp.MustCompile(`^\s*(liveness|readiness|startup)Probe:\s*$`)
)

// line reads a line. Lines without a meaning are counted.
func (t *textReader) line(line string, at Place) {
	line = strings.TrimRight(line, "\r \t")
	if t.raw = len(line); t.raw > maxLine {
		t.skip(at)
		return
	}
	if t.open != nil {
		if t.joins(line) {
			return
		}
	}
	if t.spec != nil {
		if strings.TrimSpace(line) != "" && indent(line) > indent(t.spec[0]) && len(t.spec) < maxJoined {
			t.spec = append(t.spec, line)
			return
		}
		t.endSpec()
	}
	trimmed := strings.TrimSpace(line)
	switch {
	case prompt.MatchString(line):
		t.flush()
	case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		if t.event != nil && trimmed == "" {
			t.event = nil
		}
	case t.logLine(line, at):
		t.event = nil
	case t.eventRow(line, at) || t.podRow(line, at):
	case header.MatchString(line):
		t.event = nil
	case t.describeLine(line, at):
		t.event = nil
	case probeSpec.MatchString(line):
		t.spec, t.specAt, t.specName = []string{line}, at, probeSpec.FindStringSubmatch(line)[1]
	case t.event != nil:
		t.continues(line, at)
	default:
		t.skip(at)
	}
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// joins adds a line to the open one. It returns false if the line does not belong to it.
func (t *textReader) joins(line string) bool {
	o := t.open
	o.n++
	if o.n > maxJoined || klogLine.MatchString(line) || nextField.MatchString(line) {
		t.problem(o.at, true, "the value that begins here has no end")
		t.open = nil
		o.use(o.text, o.at)
		return false
	}
	if o.last < wrapWidth || line == "" || line[0] == ' ' { // otherwise a terminal broke the line
		o.text += "\n"
	}
	o.text, o.last = o.text+line, t.raw
	if o.done(o.text) {
		t.open = nil
		o.use(o.text, o.at)
	}
	return true
}

// continues adds a line to the message of the event before it: a message of several lines, or a line that a terminal wrapped.
func (t *textReader) continues(line string, at Place) {
	if len(t.event.Message) > maxMessage {
		t.skip(at)
		return
	}
	switch {
	case t.event.Message == "":
	case t.width >= wrapWidth && line[0] != ' ' && line[0] != '\t' && line[0] != '>':
		// A terminal broke the line in the middle of a word.
	default:
		t.event.Message += "\n"
	}
	t.event.Message += strings.TrimSpace(line)
	t.width = len(line)
	if !t.section.wrapped {
		t.section.wrapped = true
		t.problem(at, false, "this line is taken as the rest of the message in line %d", t.event.Place.Line)
	}
}

// flush ends a text: the next one has its own pod and its own clock.
func (t *textReader) flush() {
	if o := t.open; o != nil {
		t.open = nil
		t.problem(o.at, true, "the text ends in the middle of this line")
		o.use(o.text, o.at)
	}
	t.endSpec()
	if t.describe != nil {
		t.describe.end(t.reader)
	}
	t.describe, t.section, t.event, t.pod = nil, nil, nil, nil
}

// ages returns the section of the ages in the text.
func (t *textReader) ages(at Place) *section {
	if t.section == nil {
		t.section = &section{at: at}
		t.sections = append(t.sections, t.section)
	}
	return t.section
}

// addAged adds a fact whose times are ages.
func (t *textReader) addAged(f *Fact, first, last age) {
	if t.add(f) {
		s := t.ages(f.Place)
		s.facts, s.ages = append(s.facts, f), append(s.ages, [2]age{first, last})
		if s.pod == nil {
			s.pod = f.Pod
		}
	}
}

// ofText returns the pod of rows that do not name it: the pod of the text around them, or else one without a name.
func (t *textReader) ofText(at Place) *Pod {
	if t.pod == nil {
		t.pod = t.reader.pod("", "", "unnamed "+at.String(), at)
		if t.pod != nil {
			t.pod.UID, t.pod.Unnamed = "", true
		}
	}
	return t.pod
}

// eventRow reads a row of a table of events.
func (t *textReader) eventRow(line string, at Place) bool {
	if m := describeRow.FindStringSubmatch(line); m != nil {
		f := &Fact{Place: at, Type: m[1], Reason: m[2], Message: m[7]}
		last, first := parseAge(m[3]), parseAge(m[3])
		f.Count = count(m[4])
		if m[5] != "" {
			first = parseAge(m[5]) // the age of the first occurrence, not the time between both (DescribeEvents of kubectl)
		}
		f.Pod = t.ofText(at)
		t.addEvent(f, first, last)
		return true
	}
	if m := getRow.FindStringSubmatch(line); m != nil {
		last := parseAge(m[2])
		f := &Fact{Place: at, Type: m[3], Reason: m[4], Message: m[7], Count: 1}
		if kind := strings.ToLower(m[5]); kind != "pod" {
			t.others["Event of "+m[5]]++
			t.event = nil
			return true
		}
		f.Pod = t.reader.pod(m[1], m[6], "", at)
		t.pod = f.Pod
		if path, rest, ok := strings.Cut(f.Message, "}"); ok && strings.HasPrefix(path, "spec.") {
			f.Container, f.Message = containerOf(path+"}"), strings.TrimSpace(rest)
		}
		f.AtLeast = true
		t.addEvent(f, last, last)
		return true
	}
	if m := oldRow.FindStringSubmatch(line); m != nil {
		return t.oldEvent(m, at)
	}
	return false
}

func count(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 1
	}
	return max(n, 1)
}

// oldEvent reads a row of a table of events of old versions: its columns are in different orders, and some have braces.
func (t *textReader) oldEvent(m []string, at Place) bool {
	f := &Fact{Place: at, Count: count(m[4])}
	rest := strings.TrimSpace(m[5])
	name, found := "", false
	for rest != "" {
		var word string
		if rest[0] == '{' {
			i := strings.IndexByte(rest, '}')
			if i < 0 {
				return false
			}
			word, rest = rest[:i+1], strings.TrimSpace(rest[i+1:])
		} else {
			word, rest = cutWord(rest)
		}
		switch {
		case word[0] == '{':
			found = true
		case strings.HasPrefix(word, "spec.") && strings.HasSuffix(word, "}"):
			f.Container = containerOf(word)
		case word == "Normal" || word == "Warning":
			f.Type = word
		case f.Reason != "":
			rest = word + " " + rest
			if strings.HasPrefix(rest, "{") {
				continue
			}
			f.Message, rest = strings.TrimSpace(rest), ""
		case strings.HasPrefix(rest, "Pod ") || strings.HasPrefix(rest, "Pod\t"):
			name = word
			_, rest = cutWord(rest)
		default:
			f.Reason = strings.ToUpper(word[:1]) + word[1:]
			if strings.HasPrefix(rest, "{") {
				if i := strings.IndexByte(rest, '}'); i > 0 {
					found, rest = true, strings.TrimSpace(rest[i+1:])
				}
			}
			f.Message, rest = rest, ""
		}
	}
	if !found || f.Reason == "" {
		return false
	}
	if name != "" {
		f.Pod = t.reader.pod(m[1], name, "", at)
		t.pod = f.Pod
	} else {
		f.Pod = t.ofText(at)
	}
	first, err := time.Parse(time.RFC1123Z, m[2])
	last, err2 := time.Parse(time.RFC1123Z, m[3])
	if err == nil && err2 == nil && plausible(first) && plausible(last) && !last.Before(first) {
		f.Source, f.Kind = FromDescribe, Event
		f.When, f.Last = Moment{first.UTC(), time.Second}, Moment{last.UTC(), time.Second}
		if f.Count == 1 {
			f.Last = f.When
		}
		f.setPoints()
		if f.Pod != nil {
			t.add(f)
		}
		return true
	}
	t.addEvent(f, parseAge(m[2]), parseAge(m[3]))
	return true
}

func cutWord(s string) (word, rest string) {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func (t *textReader) addEvent(f *Fact, first, last age) {
	f.Source, f.Kind = FromDescribe, Event
	if path, rest, ok := strings.Cut(f.Message, ": "); ok && f.Container == "" && strings.HasPrefix(path, "spec.") {
		f.Container, f.Message = containerOf(path), rest // kubectl of 2026
	}
	if f.Pod == nil {
		return
	}
	t.addAged(f, first, last)
	t.event, t.width = f, t.raw
}

// podRow reads a row of kubectl get pods.
func (t *textReader) podRow(line string, at Place) bool {
	m := podRow.FindStringSubmatch(line)
	if m == nil {
		if p := polledRow.FindStringSubmatch(line); p != nil {
			f := &Fact{Place: at, Source: FromWatch, Kind: Row, Pod: t.reader.pod("", p[2], "", at), Value: p[3] + "/" + p[4], Reason: p[5], Count: count0(p[6])}
			if f.Pod != nil && t.add(f) {
				t.polled(f, parseAge(p[1]))
			}
			return true
		}
		return false
	}
	f := &Fact{Place: at, Source: FromWatch, Kind: Row, Pod: t.reader.pod(m[1], m[2], "", at), Value: m[3] + "/" + m[4], Reason: m[5], Count: count0(m[6])}
	if f.Pod == nil {
		return true
	}
	if t.add(f) {
		t.watched(f, parseAge(m[8]), parseAge(m[7]))
	}
	return true
}

func count0(text string) int {
	n, _ := strconv.Atoi(text) // digits; a number that is too large is no number of restarts
	return n
}

// endSpec uses the lines of a probe as in a manifest.
func (t *textReader) endSpec() {
	if t.spec == nil {
		return
	}
	lines, at := t.spec, t.specAt
	t.spec = nil
	if p := parseProbeSpec(lines); p != nil {
		t.lateProbes = append(t.lateProbes, lateProbe{at, trace.Probe(t.specName), p, t.file})
		return
	}
	t.problem(at, true, "this %s probe could not be read", t.specName)
}
