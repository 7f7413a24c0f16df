package incident

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// spoken matches the beginnings of messages of the kubelet, in groups with the reasons of their
// events. They are the anchors of lines that no command prints: a person's own table, or a line of
// a chat. A weak one needs a reason beside it.
var spoken = regexp.MustCompile(
	`(?P<Unhealthy>(?:Liveness|Readiness|Startup) probe (?:failed|errored|warning)(?::|$)|` +
		`(?:liveness|readiness|startup) probe failed:)` +
		`|(?P<weakUnhealthy>(?:Liveness|Readiness|Startup) probe (?:failed|errored))` +
		`|(?P<BackOff>Back-off (?:restarting failed (?:docker )?container|pulling image))` +
		`|(?P<FailedSync>Error syncing pod, skipping: )|(?P<FailedHook>(?:Exec|Http) lifecycle hook \()` +
		`|(?P<SandboxChanged>Pod sandbox changed, it will be killed)` +
		`|(?P<FailedScheduling>\d+/\d+ nodes are available: \d+ (?:Insufficient|Too many|node\(s\)) )` +
		`|(?P<FailedPostStartHook>FailedPostStartHook)` +
		`|(?P<Killing>[Cc]ontainer [a-z0-9][-a-z0-9]* (?:failed (?:liveness|startup) probe|` +
		`definition changed|resize requires restart))` +
		`|(?P<Failed>(?:secrets?|configmaps?) "[^"]+" not found|couldn't find key \S+ in )` +
		`|(?P<Evicted>The node was low on resource: )|(?P<Preempting>Preempted in order to admit critical pod)` +
		`|(?P<weakFailed>Failed to pull image)|(?P<weakKilling>Stopping container )` +
		`|(?P<FailedAttachVolume>(?:AttachVolume\.Attach failed|Multi-Attach error) for volume )` +
		`|(?P<FailedMount>MountVolume\.\w+ failed for volume )` +
		`|(?P<Scheduled>^\s*Successfully assigned [a-z0-9][-a-z0-9]*/\S+ to \S+$)` +
		`|^[\s*•-]*(?:(?P<Created>Created container [a-z0-9][-a-z0-9]*$)|(?P<Started>Started container [a-z0-9][-a-z0-9]*$))` +
		`|(?P<weakCreated>Created container)|(?P<weakStarted>Started container)` +
		`|(?P<weakScheduled>Successfully assigned )` +
		`|(?P<weakPulled>Container image |Successfully pulled image )|(?P<weakPulling>Pulling image )`)

// hints are parts of what spoken matches: a search for them costs less.
var hints = []string{" probe ", "ontainer", "ack-off", "mage ", " assigned ", "PostStartHook", "not found", "find key",
	"low on resource", "for volume", "Preempted in", " syncing ", " hook ", "sandbox", "nodes are"}

// spokenIn returns where the words of a message begin in a line, or -1, and the reason of its
// event.
func spokenIn(line string) (start int, reason string, strong bool) {
	if !slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(line, hint) }) {
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
	if start < 0 {
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
	if m := keyedPod.FindStringSubmatch(line[:start]); m != nil {
		left.name, left.namespace = m[1], m[2]
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

var exited = regexp.MustCompile(`(?i)\b(?:exit|(?:exits|exited|terminated) with(?: exit)?) code ?[:=]? ?(\d{1,3})\b`)

// spokenEnd reads a line that says why a container waits, or how it ended: OOMKilled, exit code N.
func (t *textReader) spokenEnd(line string, at Place) bool {
	if t.spokenState(line, at) {
		return true
	}
	lower := strings.ToLower(line)
	oom := strings.Contains(line, "OOMKilled") && !glossary.MatchString(line)
	// of kubectl exec
	if !oom && !strings.Contains(lower, "code") || t.program || strings.Contains(lower, "command terminated") {
		return false
	}
	f := &Fact{Place: at, Source: FromText, Kind: Terminated, Count: -1, Instance: -1, Text: brief(line)}
	if m := exited.FindStringSubmatchIndex(line); m != nil && !denied.MatchString(line[:m[0]]) {
		f.setExit(line[m[2]:m[3]])
	}
	if before, _, _ := strings.Cut(line, "OOMKilled"); oom && !denied.MatchString(before) {
		f.Reason = "OOMKilled"
	}
	if f.ExitKnown && f.Reason == "" && !ofContainers.MatchString(line) && t.pod == nil && t.describe == nil &&
		t.asked == "" && t.unnamed == nil {
		return false // of any program
	}
	return (f.ExitKnown || f.Reason != "") && t.addEnd(f)
}

// glossary matches an item of a list, or of a table, that explains the word.
var glossary = regexp.MustCompile("^[\\s|*#-]*[*`]*OOMKilled[*`]*\\s*(?:[:|–—-]|[A-Za-z])")

// ofContainers matches words of a line that is about a container.
var ofContainers = regexp.MustCompile(`(?i)\b(?:containers?|pods?|kubelet|(?:last )?state|sigkill|sigterm|oom\w*)\b|CrashLoop`)

var (
	// namedPod and the others match the parts of a sentence, or of labels, about a container that
	// waits: alerts have them, and metrics.
	namedPod = regexp.MustCompile(`\b[Pp]od[ "=:/]+(?:([a-z0-9][-a-z0-9]*)/)?([a-z0-9][-a-z0-9.]*[a-z0-9])"?(?: \(([a-z0-9][-a-z0-9]*)\))?`)
	namedIn  = regexp.MustCompile(`\b(namespace|container)[ "=:/]+([a-z0-9][-a-z0-9]*)`)
	// keyedPod matches the keys of a pod and its namespace before a message.
	keyedPod = regexp.MustCompile(`\bpod=([a-z0-9][-a-z0-9.]*)(?: (?:ns|namespace)=([a-z0-9][-a-z0-9]*))?`)
	waitsFor = regexp.MustCompile(`\b(CrashLoopBackOff|ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|` +
		`CreateContainerConfigError|CreateContainerError|RunContainerError|PostStartHookError|OOMKilled)\b|` +
		`to be running, status is Pending$`)
)

// waits are parts of what waitsFor matches: a search for them costs less.
var waits = []string{"BackOff", "ErrImage", "ImageName", "Error", "OOMKilled", "is Pending"}

// spokenState reads a line that says of a named pod why a container of it waits or ended.
func (t *textReader) spokenState(line string, at Place) bool {
	if !slices.ContainsFunc(waits, func(hint string) bool { return strings.Contains(line, hint) }) {
		return false
	}
	why := waitsFor.FindStringIndex(line)
	if why == nil || denied.MatchString(line[:why[0]]) {
		return false
	}
	m := namedPod.FindStringSubmatch(line)
	if m == nil || m[1] == "" && len(t.bare[m[2]]) == 0 && !strings.ContainsAny(m[0], `-"=:/`) { // a sentence
		return false
	}
	in := map[string]string{"namespace": m[1], "container": m[3]}
	for _, m := range namedIn.FindAllStringSubmatch(line, 10) {
		in[m[1]] = cmp.Or(in[m[1]], m[2])
	}
	_, reason, _ := cutLast(" "+line[why[0]:why[1]], " ")
	f := &Fact{Place: at, Source: FromText, Kind: Waiting, Reason: reason, Count: -1, Text: brief(line),
		Pod: t.reader.pod(in["namespace"], m[2], "", at)}
	if f.Container = in["container"]; f.Reason == "OOMKilled" {
		f.Kind, f.Instance = Terminated, -1
	}
	if f.Pod != nil {
		t.add(f)
	}
	return true
}

func (t *textReader) addEnd(f *Fact) bool {
	if f.Pod = t.ofText(f.Place); f.Pod != nil {
		t.add(f)
	}
	return true
}

// denied matches words that deny the next ones, or ask for them.
var denied = regexp.MustCompile(
	"(?i)\\b(?:not|no|never|without|if|whether|neither|nor|(?:is|was|does|did)n't)(?:\\s+\\S+){0,3}[\\s(*`\"']*$")

// waitedFor matches a workload in the words of kubectl rollout status, of Helm and of others.
var waitedFor = regexp.MustCompile(`(?i)(?:^|[\s"'(])(?:deployments?|statefulsets?|daemon ?sets?|jobs?)(?:\.\w+)?(?: is not ready: |[ "/:=]+)` +
	`(?:([a-z0-9][-a-z0-9]*)/)?([a-z0-9][-a-z0-9.]*[a-z0-9])\b`)

// signs match lines that say why a program or a pod does not run, although they are no events: the
// last words of a program, and those of the runtime, of the API and of the kubelet.
var signs = regexp.MustCompile(`exec format error|(?:^|\s)panic: |(?i:reason|status)\W{1,6}DeadlineExceeded\b|` +
	`(?:configmaps?|secrets?) "[^"]+" not found|\bOutOfMemoryError\b|cannot allocate memory`)

// sign keeps a line that may say why a program does not run. Fatal lines of klog do.
func (t *textReader) sign(line string, at Place) bool {
	m := isKlog(line)
	fatal := m != nil && line[m[2]] == 'F'
	if !fatal && !signs.MatchString(line) {
		return false
	}
	if m != nil {
		line = line[m[1]:]
	}
	if t.skip(at, line); len(t.rec.Signs) < maxProblems {
		t.rec.Signs = append(t.rec.Signs, Unread{at, strings.TrimSpace(line[:min(len(line), 1000)])})
	}
	return true
}

// WaitsFor returns the namespace and the name of a workload in the lines that were not read, or
// nothing.
func (r *Recording) WaitsFor() (namespace, name string) {
	for _, u := range r.Unread {
		if m := inNamespace.FindStringSubmatch(u.Text); m != nil {
			namespace = m[1]
		}
		for _, m := range waitedFor.FindAllStringSubmatch(u.Text, 10) {
			if name == "" && strings.ContainsAny(m[2], lower) && (m[1] != "" || strings.ContainsAny(m[0], `"/:=`)) {
				namespace, name = cmp.Or(m[1], namespace), m[2]
			}
		}
	}
	return namespace, name
}

// inNamespace matches a namespace in a command, or in the labels of an alert.
var inNamespace = regexp.MustCompile(`(?:(?:^|\s)(?:-n|--namespace)[ =]|\bnamespace[:=] ?"?)([a-z0-9][-a-z0-9]*)`)

var printedState = regexp.MustCompile(
	`ContainerStateTerminated\{ExitCode:(\d*),(?:.*?Reason:(\w*))?(?:.*?StartedAt:([^,]*),FinishedAt:([^,]*),)?`)

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
