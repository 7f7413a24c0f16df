package incident

import (
	"regexp"
	"slices"
	"strings"
)

// kinds are objects of the cluster, in the column KIND of kubectl 1.12 and 1.13. Events of others than pods are not used.
var kinds = wordSet(`Pod Node ReplicaSet Deployment StatefulSet DaemonSet Job CronJob ReplicationController Service Endpoints Ingress HorizontalPodAutoscaler
	PersistentVolumeClaim PersistentVolume ConfigMap Secret Namespace Certificate PodDisruptionBudget`)

// eventRow reads a row of a table of events: its anchor is a type and a reason, such as Warning Unhealthy, or in 2015 a reason in lower case after the sender
// or the container. What is left of it, and the word right of it, say which version of kubectl printed it.
func (t *textReader) eventRow(line string, words []word, at Place) bool {
	for i := 0; i+1 < len(words) && i < 26; i++ {
		is, reason, left, right := words[i].text, words[i+1].text, words[:i], words[i+2:]
		switch typed := is == "Normal" || is == "Warning"; {
		case typed && isCamel(reason):
		case typed && i > 0 && isAge(words[i-1].text) && strings.Contains(reason, "/"): // without a reason
			reason, right = "", words[i+1:]
		case !typed && i > 1 && is[len(is)-1] == '}' && lowerWord(reason):
			is, reason, left = "", strings.ToUpper(reason[:1])+reason[1:], words[:i+1]
		default:
			continue
		}
		l := leftOf(left)
		if l.unknown > 1 || (len(right) == 0 || is == "") && l.unknown > 0 || is == "" && len(l.ages)+len(l.dates) < 2 {
			return false // a sentence
		}
		return t.row(&Fact{Place: at, Type: is, Reason: reason, Text: brief(line)}, l, line, right)
	}
	return false
}

// lowerWord reports whether a word is a reason of 2015, such as killing or backOff.
func lowerWord(s string) bool {
	return len(s) > 2 && s[0] >= 'a' && s[0] <= 'z' && isCamel(strings.ToUpper(s[:1])+s[1:])
}

// row reads the columns around the type and the reason of a row. It returns false for a sentence.
func (t *textReader) row(f *Fact, left fields, line string, right []word) bool {
	if f.Container = left.container; left.kind == "" {
		left.kind, left.name = "Pod", ""
	}
	rest, is := t.columns(f, &left, line, right)
	if !is {
		return false
	}
	if !isPodKind(strings.ToLower(left.kind)) {
		t.others["Event of "+left.kind]++
		return true
	}
	if len(rest) > 0 && f.Message == "" {
		f.Message = strings.TrimRight(line[rest[0].start:], " \t")
	}
	t.place(f, left)
	return true
}

// columns completes the columns left of the type and the reason with those right of them, and returns the words of the message.
func (t *textReader) columns(f *Fact, left *fields, line string, right []word) (rest []word, is bool) {
	times, next, own := len(left.ages)+len(left.dates), "", left.name != ""
	if len(right) > 0 {
		next = right[0].text
	}
	kind, of, slash := strings.Cut(next, "/")
	isObject := slash && isName(of) && objectKind.MatchString(kind)
	f.AtLeast = left.count == 0
	switch {
	case times > 1 && (own || left.braces || left.count > 0 && !isObject): // up to 1.11, describe up to 1.7, and own columns
		left.name, f.AtLeast = withoutHash(left.name), false
		if !own || len(left.names) < 2 {
			left.namespace = ""
		}
		if own || strings.HasPrefix(next, "{") {
			return afterSource(right), true
		}
		return right, true
	case isObject: // get events from 1.14 on, kubectl events
		left.kind, left.name = kind, of
		if !f.AtLeast {
			t.ages(f.Place).counts = true // kubectl events
		}
		return wide(f, left, line, right[1:]), len(left.names) < 2
	case isAge(next): // describe from 1.8 on
		left.kind, left.name, left.namespace, left.count, f.AtLeast = "Pod", "", "", max(left.count, 1), false
		left.ages, rest = []age{parseAge(next)}, right[1:]
		if len(rest) > 0 && rest[0].text == "ago" {
			rest = rest[1:]
		}
		if len(rest) > 2 && strings.HasPrefix(rest[0].text, "(x") {
			first := parseAge(strings.TrimSuffix(rest[2].text, ")"))
			left.ages, left.count, f.AtLeast = append(left.ages, first), max(count0(rest[0].text[2:]), 1), !first.known
			rest = rest[3:]
		}
		return afterSource(rest), true
	case kinds[next] && len(left.ages) < 2: // get events 1.12 and 1.13
		left.kind, left.name = next, ""
		return right[1:], true
	case !terms[f.Reason]:
		return nil, false
	case len(right) == 0: // cut off
		left.kind, left.name = "Pod", ""
		return nil, left.unknown+len(left.names) == 0
	}
	left.kind, left.name, left.namespace = "Pod", "", "" // columns of a person
	if len(left.names) == 1 && len(left.ages) > 0 {
		left.name = left.names[0]
	}
	if isName(next) && strings.Contains(next, "-") && len(right) > 1 {
		left.name, right = next, right[1:]
	}
	return right, true
}

// brief returns a line for the evidence of a verdict.
func brief(line string) string {
	line = strings.TrimSpace(line)
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "")
	}
	return line
}

// afterSource skips the component that sent an event, such as {kubelet n1}, "kubelet, n1" or kubelet. Messages begin with a capital.
func afterSource(words []word) []word {
	if len(words) == 0 {
		return words
	}
	switch first := words[0].text; {
	case first[0] == '{':
		for i, w := range words {
			if strings.HasSuffix(w.text, "}") {
				return words[i+1:]
			}
		}
	case len(words) > 1 && first[len(first)-1] == ',' && isName(first[:len(first)-1]):
		return words[2:]
	case first == "<unknown>", isName(strings.ReplaceAll(first, "/", "")),
		lowerOrDigit(first[0]) && strings.Contains(first, ".") && !strings.HasPrefix(first, "spec.") && !strings.HasSuffix(first, ":"):
		return words[1:]
	}
	return words
}

// wide reads the columns that get events -o wide adds: SUBOBJECT and SOURCE before the message, FIRST SEEN, COUNT and NAME after it.
func wide(f *Fact, left *fields, line string, rest []word) []word {
	if len(rest) > 0 && strings.HasPrefix(rest[0].text, "spec.") && strings.HasSuffix(rest[0].text, "}") {
		f.Container, rest = containerOf(rest[0].text), rest[1:]
	}
	n := len(rest)
	if n < 4 || !isAge(rest[n-3].text) || !isNumber(rest[n-2].text) || withoutHash(rest[n-1].text) == rest[n-1].text {
		return rest
	}
	left.ages, left.count = append(left.ages, parseAge(rest[n-3].text)), max(count0(rest[n-2].text), 1)
	f.AtLeast = false
	if rest = afterSource(rest[:n-3]); len(rest) > 0 {
		f.Message = line[rest[0].start:rest[len(rest)-1].end]
	}
	return rest
}

// place gives an event of a text its pod and its times, and adds it.
func (t *textReader) place(f *Fact, left fields) {
	f.Source = or(f.Source, FromDescribe)
	if path, rest, ok := strings.Cut(f.Message, ": "); ok && f.Container == "" && strings.HasPrefix(path, "spec.") && strings.HasSuffix(path, "}") {
		f.Container, f.Message = containerOf(path), rest // kubectl of 2026
	}
	if left.kind == "Node" {
		f.Pod = nil
	} else if left.name != "" {
		f.Pod = t.reader.pod(left.namespace, left.name, left.uid, f.Place)
		t.pod = f.Pod
	} else if t.describe == nil || !t.describe.other {
		f.Pod = t.ofText(f.Place)
	}
	if f.Pod == nil && left.kind != "Node" {
		return
	}
	if f.date(left); !t.add(f) {
		return
	}
	if t.event, t.width = f, t.raw; f.Aged {
		f.section = t.ages(f.Place)
		f.section.facts = append(f.section.facts, f)
	}
}

// date sets the count of an event, and its times or its ages.
func (f *Fact) date(left fields) {
	f.Kind, f.Count, f.CountShown = Event, max(left.count, 1), left.count > 0
	f.Aged = len(left.dates) == 0 && f.Source != FromEvent
	if len(left.dates) > 0 {
		slices.SortStableFunc(left.dates, func(a, b Moment) int { return a.End().Compare(b.End()) })
		f.When, f.Last = left.dates[0], left.dates[len(left.dates)-1]
		if f.Count == 1 && !f.AtLeast {
			f.Last = f.When
		}
	} else if f.ages[0], f.ages[1] = firstAge(left.ages); f.ages[1].known {
		f.Age, f.AgeWithin = f.ages[1].at, f.ages[1].unit
	}
	f.setPoints()
}

// podRow reads a row of kubectl get pods, or of a script that polls pods: READY, STATUS and RESTARTS are its anchor.
func (t *textReader) podRow(line string, words []word, at Place) bool {
	for i := 0; i+1 < len(words) && i < 8; i++ {
		if !strings.Contains(words[i].text, "/") || !digit(words[i].text[0]) {
			continue
		}
		if m := status.FindStringSubmatch(line[words[i].start:]); m != nil {
			return (m[3] != "" || terms[strings.TrimPrefix(m[2], "Init:")]) && t.statusRow(line, words[:i], m, at)
		}
	}
	return false
}

// statusRow reads the words before READY, and the columns from it on.
func (t *textReader) statusRow(line string, before []word, m []string, at Place) bool {
	f := &Fact{Place: at, Source: FromWatch, Kind: Row, Value: m[1], Reason: m[2], Count: -1, Aged: true, Text: brief(line)}
	if m[3] != "" {
		f.Count = count0(m[3])
	}
	f.ages[0] = parseAge(m[5])
	f.Age, f.AgeWithin = f.ages[0].at, f.ages[0].unit
	if gates := lastColumn.FindStringSubmatch(line); gates != nil && gates[1] != m[1] {
		f.Message = "readiness gates " + gates[1]
	}
	polled := false
	names := []string{""}
	for _, w := range before {
		kind, name, slash := strings.Cut(w.text, "/")
		switch {
		case w.text[0] == '+' && isAge(w.text[1:]):
			f.ages[0], polled = parseAge(w.text[1:]), true
		case isName(w.text) && strings.ContainsAny(w.text, "abcdefghijklmnopqrstuvwxyz"):
			names = append(names, w.text)
		case slash && isPodKind(kind):
			names = append(names, name)
		}
	}
	switch n := len(names); {
	case n == 1:
		f.Pod = t.ofText(at)
	case n < 5:
		f.Pod = t.reader.pod(names[n-2], names[n-1], "", at)
	default:
		return false // a sentence
	}
	if f.Pod != nil && t.add(f) {
		t.rows = append(t.rows, sinceCreation{Fact: f, polled: polled})
	}
	return true
}

var (
	// status matches the columns of kubectl get pods from READY on. A STATUS is Running, Init:0/2 or Signal:9.
	status     = regexp.MustCompile(`^(\d{1,9}/\d{1,9})\s+([A-Z][A-Za-z0-9:/]{3,})(?:\s+(?:restarts=)?(\d{1,9}))?(?:\s+\((\w+) ago\))?(?:\s+(\S+)|\s*$)`)
	lastColumn = regexp.MustCompile(`<none>\s+(\d+/\d+)$`) // READINESS GATES
	objectKind = regexp.MustCompile(`^[A-Za-z.]{2,}$`)
)
