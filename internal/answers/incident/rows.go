package incident

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// kinds are objects of the cluster, in the column KIND of kubectl 1.12 and 1.13. Events of others
// than pods are not used.
var kinds = listed("kinds")

// eventRow reads a row of a table of events: its anchor is a type and a reason, such as Warning
// Unhealthy, or up to kubectl 1.1 a reason alone after the sender or the container. What is left of
// it, and the word right of it, say which version of kubectl printed it.
func (t *textReader) eventRow(line string, words []word, at Place) bool {
	for i := 0; i+1 < len(words) && i < 26; i++ {
		is, reason, left, right := words[i].text, strings.TrimRight(words[i+1].text, ".:"), words[:i], words[i+2:]
		switch typed := is == "Normal" || is == "Warning"; {
		case typed && isCamel(reason):
		case typed && i > 0 && isAge(words[i-1].text) && strings.Contains(reason, "/"): // without a reason
			reason, right = "", words[i+1:]
		case !typed && i > 1 && is[len(is)-1] == '}' && untyped(reason):
			is, reason, left = "", strings.ToUpper(reason[:1])+reason[1:], words[:i+1]
		default:
			continue
		}
		l := columnsOf(left)
		if l.unknown > 1 || (len(right) == 0 || is == "") && l.unknown > 0 || is == "" && len(l.ages)+len(l.dates) < 2 {
			return false // a sentence
		}
		return t.row(&Fact{Place: at, Type: is, Reason: reason, Text: brief(line)}, l, line, right)
	}
	return false
}

// untyped reports whether a word can be a reason in a row without a type: killing or backOff in
// 2015, Killing in kubectl 1.1.
func untyped(s string) bool {
	return s != "Normal" && s != "Warning" && len(s) > 2 && isCamel(strings.ToUpper(s[:1])+s[1:])
}

// row reads the columns around the type and the reason of a row. It returns false for a sentence.
func (t *textReader) row(f *Fact, left columns, line string, right []word) bool {
	if f.Container = left.container; left.kind == "" {
		left.kind, left.name = "Pod", ""
	}
	message, is := t.completeRow(f, &left, line, right)
	if !is {
		return false
	}
	switch kind := strings.ToLower(left.kind); {
	case kind == "node" && f.Reason == "SystemOOM", ofNode[f.Reason]:
		left.kind = "Node"
	case !isPodKind(kind) && !ofWorkload[f.Reason]:
		t.others["Event of "+left.kind]++
		return true
	}
	f.Message = strings.TrimRight(message, " \t")
	t.place(f, left)
	return true
}

// completeRow completes the columns left of the type and the reason with those right of them, and
// returns the message. It returns false for a sentence.
func (t *textReader) completeRow(f *Fact, left *columns, line string, right []word) (message string, is bool) {
	next, own := "", left.name != ""
	if len(right) > 1 && ruled(right[0].text) { // dots in place of columns
		right = right[1:]
	}
	if len(right) > 0 {
		next, message = right[0].text, line[right[0].start:]
	}
	rest := strings.TrimLeft(strings.TrimPrefix(message, next), " \t")
	kind, of, slash := strings.Cut(next, "/")
	isObject := slash && (isName(of) || isElided(of)) && objectKind.MatchString(kind)
	f.AtLeast = left.count == 0
	switch {
	case len(left.ages)+len(left.dates) > 1 && (own || left.braces || left.count > 0 && !isObject):
		// kubectl get events up to 1.11, describe up to 1.7, and own columns
		left.name, f.AtLeast = withoutHash(left.name), false
		if len(left.names) < 2 {
			left.namespace = ""
		}
		if own || strings.HasPrefix(next, "{") {
			message = afterSource(message)
		}
		return message, true
	case isObject: // get events from 1.14 on, kubectl events
		left.kind, left.name = kind, of
		if !f.AtLeast {
			t.ages(f.Place).counts = true // kubectl events
		}
		if m := wide.FindStringSubmatch(rest); m != nil {
			left.ages, left.count, f.AtLeast = append(left.ages, parseAge(m[3])), max(count0(m[4]), 1), false
			f.Container, rest = m[1], afterSource(m[2])
		}
		return rest, len(left.names) < 2
	case isAge(next): // describe from 1.8 on
		t.inOrder(parseAge(next))
		left.kind, left.name, left.namespace, left.ages = "Pod", "", "", []age{parseAge(next)}
		left.count, f.AtLeast = max(left.count, 1), false
		if m := repeated.FindStringSubmatch(rest); m[1] != "" {
			first := parseAge(m[2])
			left.ages, left.count, f.AtLeast = append(left.ages, first), max(count0(m[1]), 1), !first.known
			rest = rest[len(m[0]):]
		}
		return afterSource(rest), true
	case kinds[next]: // get events 1.12 and 1.13
		left.kind, left.name = next, ""
		return rest, true
	}
	message = f.ownColumns(left, message)
	is = terms[f.Reason] && (next != "" || left.unknown+len(left.names) == 0) // columns of a person, or cut off
	left.kind, left.name, left.namespace = "Pod", "", ""
	return message, is
}

// ownColumns reads the columns of a person between a reason and a message, or behind it. It returns
// the message.
func (f *Fact) ownColumns(left *columns, message string) string {
	if m := counted.FindStringSubmatchIndex(message); m != nil {
		left.count, f.AtLeast = max(count0(message[m[2]:m[3]]), 1), false
		message = strings.TrimSpace(message[:m[0]] + message[m[1]:])
	}
	if start, _, strong := spokenIn(message); strong && start > 0 && !podPrefix.MatchString(message) {
		left.ages = columnsOf(split(message[:start], nil)).ages
		return message[start:]
	}
	return message[len(sender.FindString(message)):]
}

// inOrder begins another table if an event is older than the one above it: kubectl describe prints
// the events of the kubelet in the order in which they last occurred (describeEvents in
// k8s.io/kubectl/pkg/describe/describe.go).
func (t *textReader) inOrder(last age) {
	if t.section == nil || len(t.section.facts) == 0 {
		return
	}
	above := t.section.facts[len(t.section.facts)-1].ages[1]
	if above.known && last.at > above.at+above.unit+last.unit+time.Minute { // people reorder some, too
		t.section = nil
	}
}

var (
	// repeated matches how often an event of kubectl describe occurred, and since when.
	repeated = regexp.MustCompile(`^(?:\(x(\d+) over ([^\s)]+)\)?\s*)?`)
	// counted matches the same in a row whose columns a person has arranged.
	counted = regexp.MustCompile(`\(x(\d+)(?: over [^\s)]+)?\)`)
	// wide matches the columns that get events -o wide adds: SUBOBJECT and SOURCE before the
	// message, FIRST SEEN, COUNT and NAME after it.
	wide = regexp.MustCompile(`^(?:spec\.\w+\{(.*?)\}\s+)?(.*?)\s+(\w+)\s+(\d{1,9})\s+\S+\.[0-9a-f]{8,}$`)
	// source matches the component that sent an event, such as {kubelet n1}, "kubelet, n1", kubelet
	// or example.com/controller. Messages begin with a capital.
	source = pattern("source")
)

// ofWorkload has the reasons of events about a workload that say why it has no pods. They count as
// events of a pod with its name.
var ofWorkload = wordSet(`FailedCreate BackoffLimitExceeded`)

// ofNode has the reasons of events about a node that is short of a resource (pkg/kubelet/events and
// pkg/kubelet/nodestatus/setters.go at v1.37.2).
var ofNode = wordSet(`NodeHasDiskPressure NodeHasInsufficientMemory NodeHasInsufficientPID EvictionThresholdMet`)

// CgroupOOM is the reason of a fact that the kernel ended a process for the memory limit of its
// cgroup. The message names the process.
const CgroupOOM = "CgroupOOM"

// sender matches components of Kubernetes that send events.
var sender = regexp.MustCompile(`^(?:kubelet|default-scheduler|[a-z]+(?:-[a-z]+)*-controller)\s+`)

// podPrefix matches the pod that a controller names before the message of an event of the kubelet.
var podPrefix = regexp.MustCompile(`^Pod ([a-z0-9][-a-z0-9.]*): `)

// afterSource returns the text after the component that sent an event.
func afterSource(text string) string { return text[len(source.FindString(text)):] }

// brief returns a line for the evidence of a verdict.
func brief(line string) string {
	line = strings.TrimSpace(line)
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "")
	}
	return line
}

// place gives an event of a text its pod and its times, and adds it.
func (t *textReader) place(f *Fact, left columns) {
	f.Source = cmp.Or(f.Source, FromDescribe)
	if start, reason, strong := spokenIn(f.Message); start == 0 && strong && !terms[f.Reason] {
		f.Reason = reason // of another platform, which has its own words for it
	}
	if path, rest, ok := strings.Cut(f.Message, ": "); ok && f.Container == "" && strings.HasPrefix(path, "spec.") &&
		strings.HasSuffix(path, "}") {
		f.Container, f.Message = containerOf(path), rest // kubectl of 2026
	}
	if m := podPrefix.FindStringSubmatch(f.Message); m != nil && left.name == "" {
		left.name, f.Message = m[1], f.Message[len(m[0]):]
	}
	if left.kind == "Node" {
		f.Pod = nil
	} else if left.name != "" {
		f.Pod = t.reader.pod(left.namespace, left.name, left.uid, f.Place)
		t.pod = f.Pod
	} else if d := t.describe; d == nil || !d.other {
		f.Pod = t.onNode(t.ofRow(f), f)
	} else if ofWorkload[f.Reason] {
		f.Pod = t.reader.pod(d.pod.Namespace, d.pod.Name, "", f.Place)
	}
	if f.Pod == nil && left.kind != "Node" {
		return
	}
	if f.date(left); !t.add(f) {
		return
	}
	if m := exited.FindStringSubmatch(f.Message); m != nil && f.Reason == "Failed" && f.Pod != nil {
		end := &Fact{Place: f.Place, Source: FromText, Kind: Terminated, Pod: f.Pod, Container: f.Container, Count: -1,
			Instance: -1, Text: f.Text}
		end.setExit(m[1])
		t.add(end)
	}
	if t.event, t.width = f, t.raw; f.Aged {
		f.section = t.ages(f.Place)
		f.section.facts = append(f.section.facts, f)
	}
}

// ofRow returns the pod of an event that names none in its columns. A message that another pod was
// assigned to a node begins the table of that pod.
func (t *textReader) ofRow(f *Fact) *Pod {
	p := t.ofText(f.Place)
	m := assigned.FindStringSubmatch(f.Message)
	if m == nil || p == nil || !p.Unnamed {
		return p
	}
	if t.scheduled != "" && t.scheduled != m[2] {
		t.pod, t.unnamed = nil, nil
		p = t.ofText(f.Place)
	}
	t.scheduled = m[2]
	return p
}

// sentFrom matches the node of the kubelet in a row up to kubectl 1.19.
var sentFrom = regexp.MustCompile(`\d[smhdy]\)?\s+kubelet, ([a-z0-9][-a-z0-9.]*)\s|\{kubelet ([a-z0-9][-a-z0-9.]*)\}`)

// onNode returns the pod of an event in a table of a pod: a pod is on one node, so an event of the
// kubelet of another node is about another pod.
func (t *textReader) onNode(p *Pod, f *Fact) *Pod {
	m := sentFrom.FindStringSubmatch(f.Text)
	if m == nil || p == nil {
		return p
	}
	node := m[1] + m[2]
	if t.nodes[p] == nil {
		t.nodes[p] = map[string]*Pod{node: p}
	} else if on := " on " + node; t.nodes[p][node] == nil { // without a name if the other has none
		t.nodes[p][node] = t.newPod(p.Namespace, strings.TrimPrefix(p.Name+on, on), "", f.Place)
	}
	return t.nodes[p][node]
}

// date sets the count of an event, and its times or its ages.
func (f *Fact) date(left columns) {
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

// podRow reads a row of kubectl get pods, or of a script that polls pods: READY, STATUS and
// RESTARTS are its anchor.
func (t *textReader) podRow(line string, words []word, at Place) bool {
	for i := 0; i+1 < len(words) && i < 8; i++ {
		if !strings.Contains(words[i].text, "/") || !digit(words[i].text[0]) {
			continue
		}
		m := status.FindStringSubmatch(line[words[i].start:])
		if m != nil && (m[3] != "" || terms[strings.TrimPrefix(m[2], "Init:")]) {
			return t.statusRow(line, words[:i], m, at)
		}
		if m = sentenceStatus.FindStringSubmatch(line[words[i].start:]); m != nil {
			return t.statusRow(line, words[:i], m, at)
		}
	}
	return false
}

// NodeNotReady is the reason of a fact about a node that kubectl get nodes shows. The message names
// it.
const NodeNotReady = "NodeNotReady"

// nodeRow reads a row of kubectl get nodes. STATUS, AGE and VERSION are its anchor, from
// 1.8 on with ROLES.
func (t *textReader) nodeRow(line string, at Place) bool {
	m := nodeStatus.FindStringSubmatch(line)
	if m != nil && strings.HasPrefix(m[2], "NotReady") {
		t.add(&Fact{Place: at, Source: FromText, Kind: Log, Reason: NodeNotReady, Message: m[1], Count: 1,
			Text: brief(line)})
	}
	return m != nil
}

// statusRow reads the words before READY, and the columns from it on.
func (t *textReader) statusRow(line string, before []word, m []string, at Place) bool {
	f := &Fact{Place: at, Source: FromWatch, Kind: Row, Value: m[1], Reason: m[2], Count: -1, Aged: true,
		Text: brief(line)}
	if m[3] != "" {
		f.Count = count0(m[3])
	}
	f.ages[0] = parseAge(m[5])
	f.Age, f.AgeWithin = f.ages[0].at, f.ages[0].unit
	ago := parseAge(m[4])
	f.Ago, f.AgoWithin = ago.at, ago.unit
	if gates := lastColumn.FindStringSubmatch(line); gates != nil && gates[1] != m[1] {
		f.Message = "readiness gates " + gates[1]
	}
	names := []string{""}
	for _, w := range before {
		kind, name, slash := strings.Cut(w.text, "/")
		switch {
		case w.text[0] == '+' && isAge(w.text[1:]):
			f.ages[0] = parseAge(w.text[1:])
		case (isName(strings.TrimSuffix(w.text, ":")) || isElided(w.text)) && strings.ContainsAny(w.text, lower):
			names = append(names, strings.TrimSuffix(w.text, ":"))
		case slash && isPodKind(kind):
			names = append(names, name)
		}
	}
	switch n := len(names); {
	case n == 1:
		if f.Pod = t.ofText(at); f.Pod != nil && f.Pod.Unnamed && !t.follows(f) { // of another pod
			t.pod, t.unnamed = nil, nil
			f.Pod = t.ofText(at)
		}
	case n < 5:
		f.Pod = t.reader.pod(names[n-2], names[n-1], "", at)
	default:
		return false // a sentence
	}
	if f.Pod = t.madeAnew(f); f.Pod == nil {
		return true
	}
	if m := onNode.FindStringSubmatch(line); m != nil {
		f.Pod.Node = m[1]
	}
	if f.Listing = t.listing; t.add(f) {
		t.rows = append(t.rows, f)
	}
	return true
}

// madeAnew returns the pod of a row: a new one if the pod of this name was being deleted, and is
// younger now.
func (t *textReader) madeAnew(f *Fact) *Pod {
	old := f.Pod
	for _, row := range slices.Backward(t.rows) {
		if row.Pod != old || old == nil {
			continue
		}
		if row.Reason == "Terminating" && f.Reason != row.Reason && f.ages[0].at < row.ages[0].at {
			old.Replaced = true
			f.Pod = t.newPod(old.Namespace, old.Name, "", f.Place)
			t.bare[old.Name] = append(t.bare[old.Name], cmp.Or(f.Pod, old))
		}
		break
	}
	return f.Pod
}

// isElided reports whether a word is a name that a person has shortened, such as web-....
func isElided(s string) bool {
	name, is := strings.CutSuffix(s, "...")
	return is && isName(strings.TrimSuffix(name, "-"))
}

// follows reports whether a row that names no pod can be a later one about the pod of those before
// it: its restarts and its age are not less.
func (t *textReader) follows(f *Fact) bool {
	for _, row := range slices.Backward(t.rows) {
		if row.Pod == f.Pod {
			return f.Count >= row.Count && f.ages[0].at >= row.ages[0].at
		}
	}
	return true
}

var (
	// status matches the columns of kubectl get pods from READY on. A STATUS is Running, Init:0/2
	// or Signal:9.
	status     = pattern("status")
	nodeStatus = regexp.MustCompile(`^\s*([a-z0-9][-a-z0-9.]*)\s+((?:Not)?Ready\S*)\s+(?:\S+\s+)?\S+\s+v\d+\.\d+`)
	// sentenceStatus matches them if the STATUS is a sentence, as up to Kubernetes 1.7.
	sentenceStatus = regexp.MustCompile(`^(\d{1,9}/\d{1,9})\s{2,}(\S+(?: \S+)+)\s{2,}(\d{1,9})()\s+(\S+)\s*$`)
	// onNode matches the columns from AGE to NODE of kubectl get pods -o wide.
	onNode     = regexp.MustCompile(`\s\d+[smhdy]\S*\s+(?:[\da-f.:]+|<none>)\s+([a-z0-9][-a-z0-9.]*[a-z0-9])(?:\s|$)`)
	lastColumn = regexp.MustCompile(`<none>\s+(\d+/\d+)$`) // READINESS GATES
	objectKind = regexp.MustCompile(`^[A-Za-z.]{2,}$`)
)
