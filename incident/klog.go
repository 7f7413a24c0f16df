package incident

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"probesim.dev/trace"
)

var (
	// klogLine matches a line of klog, after the prefix of a journal: severity, month and day, time, thread, file and line.
	klogLine = regexp.MustCompile(`^(?:.*?\s)?[IWEF](\d{2})(\d{2}) (\d{2}):(\d{2}):(\d{2})\.(\d{6})\s+\d+ ([\w.-]+\.go):(\d+)\] (.*)$`)
	// e2eLine matches a line of the log of an end-to-end test.
	e2eLine = regexp.MustCompile(`^(\w{3}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2})\.(\d{3}): (?:INFO|FAIL): (.*)$`)

	// The forms of lines without keys, up to 1.20.
	oldProbe   = regexp.MustCompile(`(?s)^(Liveness|Readiness|Startup) probe for "([^"_]+)_([^"(]+)\(([^)]*)\):([^"]+)" (failed \((\w+)\)|errored|succeeded|warning)(?::\s?(.*))?$`)
	oldSync    = regexp.MustCompile(`^SyncLoop \((ADD|UPDATE|DELETE|REMOVE|RECONCILE)(?:, "[^"]*")?\): "([^"]*)"`)
	oldProbeOf = regexp.MustCompile(`^SyncLoop \(container unhealthy\): "([^"_]+)_([^"(]+)\(([^)]*)\)"`)
	oldPLEG    = regexp.MustCompile(`^SyncLoop \(PLEG\): "([^"_]+)_([^"(]+)\(([^)]*)\)", event: &pleg\.PodLifecycleEvent\{ID:"([^"]*)", Type:"(\w+)", Data:"(\w*)`)
	podName    = regexp.MustCompile(`([a-z0-9][-a-z0-9.]*)_([a-z0-9][-a-z0-9]*)\(([^)]*)\)`)
	plegFields = regexp.MustCompile(`"?Type"?:"?(\w+)"?,?\s*"?Data"?:"?(\w*)`)
	plegPod    = regexp.MustCompile(`"ID":"([^"]+)"`)
	backOff    = regexp.MustCompile(`[Bb]ack-off (\S+) restarting failed container=(\S+) pod=([^_\s]+)_([^\s(]+)\(([^)]*)\)`)
	startedPod = regexp.MustCompile(`^Started pod (\S+) in namespace (\S+)$`)
	initially  = regexp.MustCompile(`^Initial restart count of pod (\S+) is (\d+)$`)
	nowCount   = regexp.MustCompile(`^Restart count of pod (\S+)/(\S+) is now (\d+)`)
)

// logLine reads a line of a log. It returns false for other lines. Lines of the kubelet that tell nothing about pods are read and
// ignored.
func (t *textReader) logLine(line string, at Place) bool {
	if m := klogLine.FindStringSubmatch(line); m != nil {
		when := logTime(m[1], m[2], m[3], m[4], m[5], m[6], time.Microsecond)
		body := m[9]
		use := func(body string, at Place) { t.klog(body, when, at) }
		if openValue(body) {
			t.open = &openLine{text: body, at: at, done: func(text string) bool { return !openValue(text) }, use: use}
			return true
		}
		use(body, at)
		return true
	}
	if m := e2eLine.FindStringSubmatch(line); m != nil {
		month, err := time.Parse("Jan", m[1])
		if err != nil {
			return false
		}
		day, number := m[2], strconv.Itoa(int(month.Month()))
		t.e2e(m[7], logTime(number, day, m[3], m[4], m[5], m[6]+"000", time.Millisecond), at)
		return true
	}
	return strings.HasPrefix(line, "STEP: ") || strings.HasPrefix(line, "[It] ")
}

// openValue reports whether a value of several lines, which begins with =< at the end of a line, has no end yet: a line with > (klog's
// format of values with line breaks).
func openValue(text string) bool {
	i := strings.Index(text+"\n", "=<\n")
	return i >= 0 && !strings.Contains(text[i+2:], "\n >") && !strings.Contains(text[i+2:], "\n>")
}

// logTime returns a time of a log, whose year is 2000 until the year is known.
func logTime(month, day, hour, minute, second, micros string, within time.Duration) Moment {
	n := func(s string) int { return count0(s) }
	return Moment{time.Date(2000, time.Month(n(month)), n(day), n(hour), n(minute), n(second), n(micros)*1000, time.UTC), within}
}

func (t *textReader) addLog(f *Fact) {
	f.Source, f.Last = FromLog, f.When
	if f.Pod != nil && t.add(f) {
		t.logTimes = append(t.logTimes, f)
	}
}

// klog reads the text of a line.
func (t *textReader) klog(body string, when Moment, at Place) {
	f := &Fact{Place: at, When: when, Count: 1}
	title, values := "", map[string]string{}
	if strings.HasPrefix(body, `"`) {
		title, values = keyValues(body)
		f.Container = values["containerName"]
	}
	switch {
	case title == "Probe failed" || title == "Probe errored" || title == "Probe succeeded" || title == "Probe terminated redirects":
		f.Kind, f.Probe, f.Message = ProbeRun, trace.Probe(strings.ToLower(values["probeType"])), values["output"]+values["err"]
		f.Result = map[string]trace.Result{"Probe failed": trace.Failure, "Probe errored": trace.Error, "Probe succeeded": trace.Success}[title]
		if f.Result == "" {
			f.Result = trace.Warning
		}
	case title == "SyncLoop (probe)":
		f.Kind, f.Probe, f.Value = ProbeSync, trace.Probe(values["probe"]), values["status"]
	case title == "SyncLoop (PLEG): event for pod":
		m := plegFields.FindStringSubmatch(values["event"])
		if m == nil {
			return
		}
		f.Kind, f.Reason, f.Message = Lifecycle, m[1], m[2]
		if id := plegPod.FindStringSubmatch(values["event"]); id != nil {
			values["podUID"] = id[1]
		}
	case strings.HasPrefix(title, "SyncLoop ") && (values["pods"] != "" || values["pod"] != ""):
		f.Kind, f.Reason = Log, strings.TrimPrefix(title, "SyncLoop ")
		values["pod"] = firstOf(values["pods"], values["pod"])
	case title == "Killing container with a grace period":
		f.Kind, f.Reason, f.Message = Log, "Killing", "grace period "+values["gracePeriod"]+"s"
	case title == "Message for Container of pod" || title == "Container failed liveness probe, will be restarted":
		f.Kind, f.Reason, f.Message = Log, "Message", values["containerMessage"]
	default:
		t.oldKlog(body, f)
		return
	}
	namespace, name, _ := strings.Cut(values["pod"], "/")
	if name == "" {
		return
	}
	f.Pod = t.reader.pod(namespace, name, values["podUID"], at)
	t.addLog(f)
}

// firstOf returns the first pod in a list such as ["default/web"], or else a single pod.
func firstOf(list, single string) string {
	list = strings.Trim(list, "[]")
	first, _, _ := strings.Cut(strings.ReplaceAll(list, ",", " "), " ")
	if first = strings.Trim(first, `"`); first != "" {
		return first
	}
	return single
}

// oldKlog reads a line without keys.
func (t *textReader) oldKlog(body string, f *Fact) {
	at := f.Place
	if m := oldProbe.FindStringSubmatch(body); m != nil {
		f.Kind, f.Probe, f.Container, f.Message = ProbeRun, trace.Probe(strings.ToLower(m[1])), m[5], m[8]
		f.Pod = t.reader.pod(m[3], m[2], m[4], at)
		switch {
		case m[6] == "errored":
			f.Result = trace.Error
		case m[6] == "succeeded":
			f.Result = trace.Success
		case m[6] == "warning":
			f.Result = trace.Warning
		default:
			f.Result = trace.Failure
		}
		t.addLog(f)
		return
	}
	if m := oldPLEG.FindStringSubmatch(body); m != nil {
		f.Kind, f.Reason, f.Message, f.Pod = Lifecycle, m[5], m[6], t.reader.pod(m[2], m[1], m[3], at)
		t.addLog(f)
		return
	}
	if m := oldProbeOf.FindStringSubmatch(body); m != nil {
		f.Kind, f.Probe, f.Value, f.Pod = ProbeSync, trace.Liveness, "unhealthy", t.reader.pod(m[2], m[1], m[3], at)
		t.addLog(f)
		return
	}
	if m := oldSync.FindStringSubmatch(body); m != nil {
		for _, p := range podName.FindAllStringSubmatch(m[2], 100) {
			t.addLog(&Fact{Place: at, When: f.When, Count: 1, Kind: Log, Reason: m[1], Pod: t.reader.pod(p[2], p[1], p[3], at)})
		}
		return
	}
	if m := backOff.FindStringSubmatch(body); m != nil {
		f.Kind, f.Reason, f.Message, f.Container = Log, "BackOff", "back-off "+m[1], m[2]
		f.Pod = t.reader.pod(m[4], m[3], m[5], at)
		t.addLog(f)
	}
}

// keyValues reads a structured line: a quoted title, and keys with values.
func keyValues(body string) (title string, values map[string]string) {
	values = map[string]string{}
	prefix, err := strconv.QuotedPrefix(body)
	if err != nil {
		return "", values
	}
	title, _ = strconv.Unquote(prefix)
	rest := body[len(prefix):]
	for {
		rest = strings.TrimLeft(rest, " \n\t")
		key, after, found := strings.Cut(rest, "=")
		if !found || strings.ContainsAny(key, " \"") {
			return title, values
		}
		var value string
		switch {
		case strings.HasPrefix(after, `"`):
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				values[key] = strings.TrimPrefix(after, `"`) // cut off
				return title, values
			}
			value, _ = strconv.Unquote(quoted)
			rest = after[len(quoted):]
		case strings.HasPrefix(after, "<\n"):
			end := strings.Index(after, "\n >")
			if end < 0 {
				end = max(strings.Index(after, "\n>"), 1)
			}
			value = strings.ReplaceAll(after[min(2, end):end], "\n\t", "\n")
			value = strings.TrimPrefix(value, "\t")
			rest = strings.TrimLeft(after[end:], "\n >")
		case strings.HasPrefix(after, "{") || strings.HasPrefix(after, "[") || strings.HasPrefix(after, "&{"):
			end := strings.IndexAny(after, "}]")
			if end < 0 {
				end = len(after) - 1
			}
			value, rest = after[:end+1], after[end+1:]
		default:
			value, rest, _ = strings.Cut(after, " ")
		}
		values[key] = value
	}
}

// e2e reads a line of the log of an end-to-end test.
func (t *textReader) e2e(text string, when Moment, at Place) {
	f := &Fact{Place: at, When: when, Kind: Restarts}
	if m := startedPod.FindStringSubmatch(text); m != nil {
		f.Kind, f.Value, f.Pod = Phase, "Running", t.reader.pod(m[2], m[1], "", at)
	} else if m := initially.FindStringSubmatch(text); m != nil {
		f.Pod = t.reader.pod("", m[1], "", at)
	} else if m := nowCount.FindStringSubmatch(text); m != nil {
		f.Count, f.Pod = count0(m[3]), t.reader.pod(m[1], m[2], "", at)
	}
	t.addLog(f)
}
