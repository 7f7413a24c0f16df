package incident

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// spoken matches the beginnings of messages of the kubelet. A search without its groups costs less.
var (
	spoken    = regexp.MustCompile(alternatives(table("spoken")))
	anySpoken = regexp.MustCompile(regexp.MustCompile(`\(\?P<\w+>`).ReplaceAllString(spoken.String(), "(?:"))
)

// hints are parts of what spoken matches: a search for them costs less.
var hints = []string{" probe ", "ontainer", "ack-off", "mage ", " assigned ", "PostStartHook", "not found", "find key",
	"low on resource", "EmptyDir", "for volume", "Preempted in", " syncing ", " hook ", "sandbox", "nodes are"}

// spokenIn returns where the words of a message begin in a line, or -1, and the reason of its
// event.
func spokenIn(line string) (start int, reason string, strong bool) {
	if !slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(line, hint) }) ||
		!anySpoken.MatchString(line) {
		return -1, "", false
	}
	m := spoken.FindStringSubmatchIndex(line)
	for i, name := range spoken.SubexpNames() {
		if m != nil && name != "" && m[2*i] >= 0 {
			reason, weak := strings.CutPrefix(name, "weak")
			return m[2*i], reason, !weak
		}
	}
	return -1, "", false
}

// speaks reports whether a line begins with the words of a message.
func speaks(trimmed string) bool {
	start, _, strong := spokenIn(trimmed)
	return strong && start == 0
}

// spokenEvent reads a line with the words of a message.
func (t *textReader) spokenEvent(line string, words []word, at Place) bool {
	start, reason, strong := spokenIn(line)
	if start < 0 || t.program && strings.ToLower(line[start:start+1]) == line[start:start+1] { // of its own probe
		return false
	}
	for len(words) > 0 && words[len(words)-1].start >= start {
		words = words[:len(words)-1]
	}
	left, named, name := columnsOf(words), "", ""
	for _, w := range words {
		if terms[w.text] && isCamel(w.text) {
			named = w.text
		}
	}
	if !strong && !t.console.event && (named == "" || left.unknown > 0) {
		return false
	}
	left.count, t.console = cmp.Or(left.count, t.console.count), console{}
	f := &Fact{Place: at, Source: FromText, Reason: cmp.Or(named, reason), AtLeast: left.count == 0, Text: brief(line)}
	f.Message = saidFrom(line, start)
	if next := probeIn.FindStringIndex(f.Message); next != nil { // two messages in one line
		defer t.spokenEvent(strings.Repeat(" ", start+next[0]+1)+f.Message[next[0]+1:], nil, at)
		f.Message = f.Message[:next[0]+1]
	}
	if len(words) == 2 && isNumber(words[0].text) { // 3 Unhealthy: ..
		left.count, f.AtLeast = count0(words[0].text), false
	}
	if left.unknown == 0 {
		for _, n := range left.names {
			if strings.Contains(n, "-") || len(t.bare[n]) > 0 {
				name = n
			}
		}
		if isPodKind(left.kind) {
			name = cmp.Or(left.name, name)
		}
	}
	if m := podArgument.FindStringSubmatch(" " + line[:start]); m != nil && name == "" && strings.Contains(m[1], "-") {
		name = m[1]
	}
	left.namespace, left.name = "", name
	for _, m := range [][]string{keyedPod.FindStringSubmatch(line[:start]), inPod.FindStringSubmatch(f.Message)} {
		if m != nil {
			left.name, left.namespace = m[1], m[2]
		}
	}
	t.place(f, left)
	return true
}

// probeIn matches a further message about a probe behind the first one.
var probeIn = regexp.MustCompile(`.(?:Liveness|Readiness|Startup) probe failed: `)

// saidFrom returns the message that begins in a line, up to the end of what a person quotes.
func saidFrom(line string, start int) string {
	said := strings.TrimRight(line[start+1:], "`*_ ")
	for _, quote := range []string{"`", `"`} {
		if end := strings.LastIndex(said, quote); end >= 0 && strings.Count(line[:start], quote)%2 == 1 {
			said = said[:end]
		}
	}
	if said = strings.ToUpper(line[start:start+1]) + said; strings.Count(said, `"`)%2 == 1 {
		said = strings.TrimSuffix(said, `"`)
	}
	return said
}

var exited = pattern("exited")

// spokenEnd reads a line that says why a container waits, or how it ended: OOMKilled, exit code N.
func (t *textReader) spokenEnd(line string, at Place) bool {
	if t.spokenState(line, at) {
		return true
	}
	lower := strings.ToLower(line)
	oom := !aboutNoPod(line) && asserted(line, oomKilled) != nil
	// of kubectl exec
	coded := strings.Contains(lower, "code") || strings.Contains(lower, "exit=")
	if !oom && !coded || t.program || strings.Contains(lower, "command terminated") {
		return false
	}
	f := &Fact{Place: at, Source: FromText, Kind: Terminated, Count: -1, Instance: -1, Text: brief(line)}
	if m := asserted(line, exited); m != nil {
		f.setExit(line[m[2]:m[3]])
	}
	if oom {
		f.Reason = "OOMKilled"
	}
	if f.ExitKnown && f.Reason == "" && !ofContainers.MatchString(line) && t.pod == nil && t.describe == nil &&
		t.asked == "" && t.unnamed == nil {
		return false // of any program
	}
	return (f.ExitKnown || f.Reason != "") && t.addEnd(f)
}

var runnerEnd = pattern("runnerEnd")

// aboutNoPod reports whether a line explains the word OOMKilled, or ends the log of a runner of CI.
func aboutNoPod(line string) bool { return glossary.MatchString(line) || runnerEnd.MatchString(line) }

// glossary matches an item of a list, or of a table, that explains the word.
var glossary = regexp.MustCompile("^[\\s|*#-]*[*`]*OOMKilled[*`]*\\s*(?:[:|–—-]|[A-Za-z])")

// ofContainers matches words of a line that is about a container.
var ofContainers = regexp.MustCompile(`(?i)\b(?:containers?|pods?|kubelet|(?:last )?state|sigkill|sigterm|oom\w*)\b|CrashLoop`)

var (
	// namedPod and the others match the parts of a sentence, or of labels, about a container that
	// waits: alerts have them, and metrics.
	namedPod = regexp.MustCompile(`\b[Pp]od[ "=:/]+(?:([a-z0-9][-a-z0-9]*)/)?([a-z0-9][-a-z0-9.]*[a-z0-9])"?(?: \(([a-z0-9][-a-z0-9]*)\))?`)
	namedIn  = regexp.MustCompile(`\b(namespace|[cC]ontainer)[ "=:/]+([a-z0-9][-a-z0-9]*)`)
	// keyedPod matches the keys of a pod and its namespace before a message.
	keyedPod = regexp.MustCompile(`\bpod=([a-z0-9][-a-z0-9.]*)(?: (?:ns|namespace)=([a-z0-9][-a-z0-9]*))?`)
	// inPod matches the pod, and its namespace, at the end of a message.
	inPod    = regexp.MustCompile(`^Back-off .* in pod ([a-z0-9.]+-[-a-z0-9.]*\w)(?:_([-a-z0-9]+))?(?:\(\S*)?$`)
	waitsFor = pattern("waitsFor")
)

// waits are parts of what waitsFor matches: a search for them costs less.
var waits = []string{"BackOff", "ErrImage", "ImageName", "Error", "OOMKilled", "is Pending", "is crash", "restarting "}

// spokenState reads a line that says of a named pod why a container of it waits or ended.
func (t *textReader) spokenState(line string, at Place) bool {
	if !slices.ContainsFunc(waits, func(hint string) bool { return strings.Contains(line, hint) }) {
		return false
	}
	why := asserted(line, waitsFor)
	if why == nil {
		return false
	}
	_, reason, _ := cutLast(" "+line[why[0]:why[1]], " ")
	f := &Fact{Place: at, Source: FromText, Kind: Waiting, Reason: reason, Count: -1, Text: brief(line)}
	if !t.namedBy(line, f) {
		return false
	}
	switch f.Reason {
	case "OOMKilled":
		f.Kind, f.Instance = Terminated, -1
	case "looping", "times": // of an alert about restarts
		f.Kind, f.Reason, f.Message, f.Count, f.AtLeast = Event, "BackOff", f.Text, 1, true
	}
	if f.Pod != nil {
		t.add(f)
	}
	return true
}

// namedBy gives a fact the pod and the container that a sentence, or labels, name. It returns false
// if they name no pod.
func (t *textReader) namedBy(line string, f *Fact) bool {
	m := namedPod.FindStringSubmatch(line)
	if m == nil || m[1] == "" && len(t.bare[m[2]]) == 0 && !strings.ContainsAny(m[0], `-"=:/`) { // a sentence
		return false
	}
	in := map[string]string{"namespace": m[1], "container": m[3]}
	for _, m := range namedIn.FindAllStringSubmatch(line, 10) {
		key := strings.ToLower(m[1])
		in[key] = cmp.Or(in[key], m[2])
	}
	f.Pod, f.Container = t.reader.pod(in["namespace"], m[2], "", f.Place), in["container"]
	return true
}

func (t *textReader) addEnd(f *Fact) bool {
	if !t.namedBy(f.Text, f) {
		f.Pod = t.ofText(f.Place)
	}
	if f.Pod != nil {
		t.add(f)
	}
	return true
}

// denied matches words that deny the next ones, or ask for them, deniedBy those that deny the ones
// before, such as the value of a field, and doubted those among them.
var denied, deniedBy, oomKilled = pattern("denied"), pattern("deniedBy"), regexp.MustCompile(`OOMKilled`)
var doubted = regexp.MustCompile(`(?i)\b(?:would|should|could|might|(?:not|never) (?:re-?start|kill)\w*)\b`)

// asserted returns where the first words in a line are that it does not deny, with their groups, or
// nil.
func asserted(line string, words *regexp.Regexp) []int {
	for _, m := range words.FindAllStringSubmatchIndex(line, 20) {
		if !denied.MatchString(line[:m[0]]) && !deniedBy.MatchString(line[m[1]:]) &&
			!doubted.MatchString(line[m[0]:m[1]]) {
			return m
		}
	}
	return nil
}

// waitedFor matches a workload in the words of kubectl rollout status, of Helm and of others.
var waitedFor = pattern("waitedFor")

// WaitsFor returns the namespace and the name of a workload in the lines that were not read, or
// nothing.
func (r *Recording) WaitsFor() (namespace, name string) {
	for _, u := range r.Unread {
		if m := inNamespace.FindStringSubmatch(u.Text); m != nil {
			namespace = m[1]
		}
		for _, m := range waitedFor.FindAllStringSubmatch(u.Text, 10) {
			reports := m[2] == "kube-state-metrics" || strings.HasSuffix(u.Text, "successfully rolled out")
			if name == "" && !reports && strings.ContainsAny(m[2], lower) &&
				(m[1] != "" || strings.ContainsAny(m[0], `"/:=-`)) {
				namespace, name = cmp.Or(m[1], namespace), m[2]
			}
		}
	}
	return namespace, name
}

// inNamespace matches a namespace in a command, or in the labels of an alert.
var inNamespace = regexp.MustCompile(`(?:(?:^|\s)(?:-n|--namespace)[ =]|\bnamespace[:=] ?"?|\bin namespace )` +
	`([a-z0-9][-a-z0-9]*)`)

var printedState = pattern("printedState")

// printedEnd reads the end of a container in the form in which Go prints a ContainerStatus:
// operators have it in their events. The line has its own meaning, too.
func (t *textReader) printedEnd(line string, at Place) {
	start := strings.Index(line, "ContainerStateTerminated{")
	if start < 0 {
		return
	}
	m := printedState.FindStringSubmatch(line[start:])
	if m == nil {
		return
	}
	when := func(text string) Moment {
		if at, err := time.Parse("2006-01-02 15:04:05 -0700 MST", text); err == nil && plausible(at) {
			return Moment{at.UTC(), time.Second}
		}
		return Moment{}
	}
	f := &Fact{Place: at, Source: FromText, Kind: Terminated, Reason: m[2], When: when(m[3]), Last: when(m[4]),
		Count: -1, Instance: -1, Text: brief(line[start:])}
	f.setExit(m[1])
	f.Previous = strings.LastIndex(line[:start], "LastTerminationState:") > strings.LastIndex(line[:start], " State:")
	_, name, _ := cutLast(line[:start], "{Name:")
	if name, _, _ = strings.Cut(name, " "); isContainer(name) {
		f.Container = name
	}
	t.addEnd(f)
}
