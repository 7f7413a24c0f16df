package incident

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/trace"
)

var (
	// klogLine matches the beginning of a line of klog, which may follow the prefix of a journal:
	// severity, month and day, time, thread, file and line.
	klogLine = pattern("klogLine")
	// journalLine matches the beginning of a line of a journal whose program writes no prefix of
	// klog, or of which somebody cut it off: month and day, time, node, program.
	journalLine = pattern("journalLine")
	// ringLine matches the beginning of a line of the kernel's ring buffer, with its time as dmesg
	// writes it.
	ringLine = regexp.MustCompile(`^\s*\[ *(?:[\d.]+|[A-Z][a-z]{2} ([A-Z][a-z]{2} [ \d]\d [\d:]{8}) \d{4})\] +`)
	// nodeMemory matches lines about the memory of the node, not about the limit of a container:
	// those of cAdvisor, of the kubelet (oom_watcher_linux.go at v1.37.2), and of the kernel.
	nodeMemory = pattern("nodeMemory")
	// limitReached and invoked match lines of the kernel about the memory limit of a cgroup
	// (mm/oom_kill.c of Linux 4.15 and 6.12), and about the process that asked for more.
	limitReached = pattern("limitReached")
	invoked      = regexp.MustCompile(`^(\S{1,15}) invoked oom-killer: |Kill(?:ed)? process \d+ \(([^)\s]{1,15})\)`)
	// pressed matches a line of the eviction manager of a kubelet, or a condition of kubectl
	// describe node, that says that the node is short of a resource.
	pressed = regexp.MustCompile(`node conditions - observed: \[\w+Pressure|^\s*(?:Memory|Disk|PID)Pressure\s+True\b`)
	// failedSync matches an error of a sync of a pod (NewSyncResult in
	// pkg/kubelet/container/sync_result.go at v1.37.2).
	failedSync = regexp.MustCompile(`failed to "(\w+)" for "([^"]+)" with (\w+): "((?:[^"\\]|\\.)*)`)
	// e2eLine matches a line of the log of an end-to-end test about a pod.
	e2eLine = pattern("e2eLine")
	// dumped and dumpedContainer match what an end-to-end test writes about the pods of a node
	// (logPodStates in test/e2e/framework/debug/dump.go at v1.37.2).
	dumped          = regexp.MustCompile(`(?:INFO: |\] )([a-z0-9][-a-z0-9.]*) started at .* container statuses recorded\)$`)
	dumpedContainer = regexp.MustCompile(`(?:INFO: |\] )\s*(?:Init container|Container) (\S+) ready: (true|false), restart count (\d+)$`)

	// eventFor matches an event of the scheduler or the kubelet that an end-to-end test writes
	// (dumpEventsInNamespace in the same file).
	eventFor = pattern("eventFor")

	podName = regexp.MustCompile(`(?:^|[^-._a-z0-9])([a-z0-9][-a-z0-9.]*)_([a-z0-9][-a-z0-9]*)\((?:([^)]*)\))?`)
	// sandboxName matches the name of a sandbox in a runtime: that of the pod, its namespace, its
	// UID and a number, as in containerd (makeSandboxName in internal/cri/server/helpers.go), and
	// with k8s before it in dockershim and CRI-O.
	sandboxName = pattern("sandboxName")
	// the old form, with or without the UID, and today's
	podRef = pattern("podRef")
	plegOf = regexp.MustCompile(`(?:"?ID"?:"?([^",\s]*)"?,?\s*)?"?Type"?:"?(\w+)"?,?\s*"?Data"?:"?(\w*)`)
	// keyValue matches a key with its value: a quoted one, one of several lines, an object or a
	// list, or a word.
	keyValue = regexp.MustCompile(`(?s)([\w.]+)=("(?:[^"\\]|\\.)*"?|<\n(.*?)(?:\n ?>|$)|&?[\[{][^}\]]*[}\]]?|[^ \n]*)`)
	// oldLines have the forms of lines up to 1.20, which have no keys. The names of their groups
	// are the keys of today.
	oldLines = Patterns(table("oldlines"))
)

// isKlog returns where the parts of klogLine are in a line, or nil.
func isKlog(line string) []int {
	if !strings.Contains(line, ".go:") {
		return nil
	}
	return klogLine.FindStringSubmatchIndex(line)
}

// logLine reads a line of a log. It returns false for other lines. Lines of the kubelet that tell
// nothing about pods are read and ignored.
func (t *textReader) logLine(line string, at Place) bool {
	if strings.Contains(line, ".go:") {
		line = strings.ReplaceAll(line, "**", "") // bold in Markdown
	}
	if strings.Contains(line, "Pressure") && pressed.MatchString(line) {
		t.addLog(&Fact{Place: at, Kind: Log, Reason: "EvictionThresholdMet", Count: 1, Text: brief(line)})
		return true
	}
	if t.dumpLine(line, at) || t.dumpedEvent(line, at) {
		return true
	}
	if i := strings.Index(line, `{"ts":`); i > 0 && json.Valid([]byte(line[i:])) {
		return t.jsonLog(item{json.RawMessage(line[i:]), func(int) Place { return at }}.parse())
	}
	if m := isKlog(line); m != nil {
		when, text := logTime("0102 15:04:05", line[m[4]:m[5]], time.Microsecond), brief(line[m[2]:])
		t.klogOrSign(t.joined(unwrapped(line, m[2], m[1]), at, complete), when, at, text, line)
		return true
	}
	var m []int
	if len(line) > 6 && line[3] == ' ' && line[6] == ' ' { // a search costs less
		m = journalLine.FindStringSubmatchIndex(line)
	}
	if m != nil {
		when := logTime("Jan _2 15:04:05", line[m[2]:m[3]], time.Second)
		t.klogOrSign(line[m[1]:], when, at, brief(line), line[m[1]:])
		return true
	}
	if ring := ringLine.FindStringSubmatch(line); ring != nil {
		when := logTime("Jan _2 15:04:05", ring[1], time.Second)
		return t.klogOrSign(line[len(ring[0]):], when, at, brief(line), line)
	}
	// without its time
	trimmed := strings.TrimSpace(line)
	if strings.Contains(line, ` probe for "`) && oldLines[0].Words.MatchString(trimmed) {
		t.klog(trimmed, Moment{}, at, brief(line))
		return true
	}
	if !strings.Contains(line, ": INFO: ") {
		return strings.HasPrefix(line, "STEP: ") || strings.HasPrefix(line, "[It] ")
	}
	if m := e2eLine.FindStringSubmatch(line); m != nil {
		f := &Fact{Place: at, When: logTime("Jan _2 15:04:05", m[1], time.Millisecond), Kind: Restarts,
			Count: count0(m[5] + m[8]), Text: brief(line)}
		if f.Pod = t.reader.pod(m[3]+m[6], m[2]+m[4]+m[7], "", at); m[2] != "" {
			f.Kind, f.Value = Phase, "Running"
		}
		t.addLog(f)
		return true
	}
	t.spokenState(line, at)
	return true
}

// unwrapped returns the body of a line of klog, which another program can have quoted, as k0s does
// in msg="..".
func unwrapped(line string, start, body int) string {
	quoted, _ := strconv.QuotedPrefix(line[max(start-1, 0):])
	inner, err := strconv.Unquote(quoted)
	rest := line[max(start-1, 0)+len(quoted):]
	if err == nil && quoted[0] == '"' && (rest == "" || strings.ContainsAny(rest[:1], " ,}")) {
		return strings.TrimRight(inner[body-start:], "\n")
	}
	return strings.TrimRight(line[body:], "`")
}

// dumpLine reads a line of what an end-to-end test writes about the pods of a node.
func (t *textReader) dumpLine(line string, at Place) bool {
	if !strings.Contains(line, " container statuses recorded)") && !strings.Contains(line, ", restart count ") {
		return false
	}
	if m := dumped.FindStringSubmatch(line); m != nil {
		t.pod = t.reader.pod("", m[1], "", at)
		return true
	}
	m := dumpedContainer.FindStringSubmatch(line)
	if m == nil || !isContainer(m[1]) || t.pod == nil {
		return false
	}
	for _, f := range []*Fact{{Kind: Ready, Value: m[2]}, {Kind: Restarts, Count: count0(m[3])}} {
		f.Place, f.Source, f.Pod, f.Container, f.Text = at, FromText, t.pod, m[1], brief(line)
		t.add(f)
	}
	return true
}

// dumpedEvent reads an event of a pod in the log of an end-to-end test.
func (t *textReader) dumpedEvent(line string, at Place) bool {
	if !strings.Contains(line, " - event for ") {
		return false
	}
	m := eventFor.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	left := columns{kind: "Pod", name: m[2]}
	left.addDate(goTime, m[1])
	t.place(&Fact{Place: at, Reason: m[3], Message: m[4], AtLeast: true, Text: brief(m[0])}, left)
	return true
}

// complete reports whether a value of several lines, which begins with =< at the end of a line, has
// its end: a line with > (klog's format of values with line breaks).
func complete(text string) bool {
	_, value, open := strings.Cut(text+"\n", "=<\n")
	return !open || strings.Contains("\n"+value, "\n >") || strings.Contains("\n"+value, "\n>")
}

// noYear is the year of times of a log until the year is known.
const noYear = 2000

// logTime returns a time of a log without a year.
func logTime(layout, text string, within time.Duration) Moment {
	at, err := time.Parse(layout, text)
	if err != nil {
		return Moment{}
	}
	return Moment{at.AddDate(noYear, 0, 0), within}
}

func (t *textReader) addLog(f *Fact) {
	f.Source, f.Last = FromLog, f.When
	counts := f.Pod != nil || f.Reason == "SystemOOM" || f.Reason == CgroupOOM || ofNode[f.Reason]
	if counts && t.add(f) && f.When.Known() && f.When.At.Year() == noYear {
		t.logTimes = append(t.logTimes, f)
	}
}

// podInJSON matches a pod in a line of a log in JSON.
var podInJSON = regexp.MustCompile(`\{"name":"([^"]*)","namespace":"([^"]*)"\}`)

// jsonLog reads a line of a log in JSON (--logging-format=json of the kubelet). It returns false
// for other objects.
func (t *textReader) jsonLog(o *object) bool {
	var milliseconds float64
	if json.Unmarshal(o.fields["ts"], &milliseconds) != nil || o.text("msg") == "" || o.fields["caller"] == nil {
		return false
	}
	body := strconv.Quote(o.text("msg"))
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		body += " " + key + "=" + podInJSON.ReplaceAllString(string(o.fields[key]), `"$2/$1"`)
	}
	when := Moment{time.UnixMicro(int64(milliseconds * 1000)).UTC(), time.Microsecond}
	if !plausible(when.At) {
		when = Moment{}
	}
	t.klog(body, when, o.at, brief(string(o.whole)))
	return true
}

// klogOrSign reads the text of a line, which can be a sign. It returns false if it is neither.
func (t *textReader) klogOrSign(body string, when Moment, at Place, text, line string) bool {
	used := len(t.rec.Facts)
	t.klog(body, when, at, text)
	return len(t.rec.Facts) > used || t.sign(line, at)
}

// klog reads the text of a line.
func (t *textReader) klog(body string, when Moment, at Place, text string) {
	f := &Fact{Place: at, When: when, Count: 1, Text: text}
	if t.memory(body, f) {
		return
	}
	title, values := keyValues(body)
	f.Container, f.Probe = values["containerName"], trace.Probe(strings.ToLower(values["probeType"]+values["probe"]))
	result, isProbe := results[strings.TrimPrefix(title, "Probe ")]
	event := plegOf.FindStringSubmatch(values["event"])
	switch {
	case isProbe:
		f.Kind, f.Result, f.Message = ProbeRun, result, values["output"]+values["err"]
	case title == "SyncLoop (probe)":
		f.Kind, f.Value = ProbeSync, values["status"]
	case title == "SyncLoop (container unhealthy)":
		f.Kind, f.Probe, f.Value = ProbeSync, trace.Liveness, "unhealthy"
	case strings.HasPrefix(title, "SyncLoop (PLEG)"):
		if event == nil {
			return
		}
		f.Kind, f.Reason, f.Message = Lifecycle, event[2], event[3]
		values["podUID"] = cmp.Or(values["podUID"], event[1])
	case strings.HasPrefix(title, "Error syncing pod"):
		t.failedSyncs(f, values)
		return
	case title == "PreStop hook not completed in grace period":
		f.Kind, f.Reason, f.Message = Log, "PreStopTimeout", values["gracePeriod"]+"s"
	case strings.HasPrefix(title, "Killing container"):
		f.Kind, f.Reason, f.Message = Log, "Killing", "grace period "+values["gracePeriod"]+"s"
	case title == "ExecSync cmd from runtime service failed" && strings.Contains(values["err"], "DeadlineExceeded"):
		// which the kubelet counts as a failure since 1.20 (ExecProbeTimeout)
		f.Kind, f.Result, f.Message = ProbeRun, trace.Failure, "command timed out"
		f.Value = strings.Trim(values["cmd"], "[]")
		t.execs = append(t.execs, f)
		return
	case title == "is unhealthy":
		f.Kind, f.Reason, f.Message = Log, "Killing", body
	case strings.HasPrefix(strings.ToLower(title), "createpodsandbox for pod"):
		f.Kind, f.Reason, f.Message = Log, "CreatePodSandboxError", values["err"]
	case title == "Message for Container of pod" || strings.HasSuffix(title, " probe, will be restarted"):
		f.Kind, f.Reason, f.Message = Log, "Message", cmp.Or(values["containerMessage"], title)
	case values["backOff"] != "":
		f.Kind, f.Reason, f.Message = Log, "BackOff", "back-off "+values["backOff"]
	case strings.HasPrefix(title, "SyncLoop ") || strings.ToUpper(title) == title && title != "":
		f.Kind, f.Reason = Log, strings.TrimPrefix(title, "SyncLoop ")
	default:
		return
	}
	t.addOf(values, at, f)
}

// addOf adds a fact to each pod that the values of a line name, or keeps it for the container whose
// ID they have.
func (t *textReader) addOf(values map[string]string, at Place, f *Fact) {
	pods := values["pods"] + " " + values["pod"]
	if _, id, has := cutLast(strings.TrimSuffix(strings.Trim(values["containerID"], `{}"`), `"`), "/"); has {
		if f.Container != "" {
			t.ids[id] = f.Container
		}
		if pods == " " {
			t.ofID[id] = append(t.ofID[id], f)
		}
	}
	for _, m := range podRef.FindAllStringSubmatch(pods, 100) {
		each := *f
		each.Pod = t.reader.pod(m[2]+m[4], m[1]+m[5], cmp.Or(m[3], values["podUID"]), at)
		t.addLog(&each)
	}
}

// memory adds the fact of a line about memory that a node or a container ran out of. It returns
// false for other lines.
func (t *textReader) memory(body string, f *Fact) bool {
	if m := invoked.FindStringSubmatch(body); m != nil {
		t.invoked = m[1] + m[2]
	}
	switch {
	case nodeMemory.MatchString(body):
		f.Kind, f.Reason, f.Message = Log, "SystemOOM", body
	case limitReached.MatchString(body):
		f.Kind, f.Reason, f.Message = Log, CgroupOOM, cmp.Or(t.invoked, "a process")
	default:
		return false
	}
	t.addLog(f)
	return true
}

// failedSyncs adds what the error of a sync says about the containers of the pod, and its sandbox.
func (t *textReader) failedSyncs(f *Fact, values map[string]string) {
	for _, m := range podRef.FindAllStringSubmatch(values["pods"]+values["pod"], 1) {
		pod := t.reader.pod(m[2]+m[4], m[1]+m[5], cmp.Or(m[3], values["podUID"]), f.Place)
		for _, m := range failedSync.FindAllStringSubmatch(values["err"], maxContainers) {
			each := *f
			each.Pod, each.Kind, each.Reason, each.Message = pod, Log, m[3], strings.ReplaceAll(m[4], `\"`, `"`)
			if m[1] == "StartContainer" && isContainer(m[2]) {
				each.Kind, each.Container, each.Count = Waiting, m[2], -1
			}
			t.addLog(&each)
			if backOff, _, is := strings.Cut(m[4], " restarting failed"); is {
				again := each
				again.Kind, again.Reason, again.Message, again.Count = Log, "BackOff", strings.ToLower(backOff), 1
				t.addLog(&again)
			}
		}
	}
}

// keyValues reads a structured line: a quoted title, and keys with values. It reads old lines, too.
func keyValues(body string) (title string, values map[string]string) {
	values = map[string]string{}
	prefix, err := strconv.QuotedPrefix(body)
	if err != nil || body[0] != '"' {
		for _, old := range oldLines {
			if m := old.Words.FindStringSubmatch(body); m != nil {
				for i, name := range old.Words.SubexpNames() {
					values[name] = m[i]
				}
				break
			}
		}
		return values["title"], values
	}
	title, _ = strconv.Unquote(prefix)
	for _, m := range keyValue.FindAllStringSubmatch(body[len(prefix):], -1) {
		value := m[2]
		if value == "<" { // the value of several lines is cut off
			value = "(cut off)"
		} else if strings.HasPrefix(value, "<\n") {
			value = strings.TrimPrefix(strings.ReplaceAll(m[3], "\n\t", "\n"), "\t")
		} else if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}
		values[m[1]] = strings.TrimPrefix(value, `"`) // of a value that is cut off
	}
	return title, values
}
