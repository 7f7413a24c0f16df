package incident

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"probesim.dev/trace"
)

var (
	// klogLine matches the beginning of a line of klog, which may follow the prefix of a journal:
	// severity, month and day, time, thread, file and line.
	klogLine = regexp.MustCompile(`(?:^|[^A-Za-z0-9])([IWEF])(\d{4} \d{2}:\d{2}:\d{2}\.\d{1,9})\s+(?:\d+ ` +
		`+)?[\w.-]+\.go:\d+\]\s+`)
	// e2eLine matches a line of the log of an end-to-end test about a pod.
	e2eLine = regexp.MustCompile(`^(\w{3} +\d{1,2} [\d:]{8}\.\d{3}): INFO: (?:Started pod (\S+) in namespace (\S+)` +
		`|Initial restart count of pod (\S+) is (\d+)|Restart count of pod (\S+)/(\S+) is now (\d+))`)

	podName = regexp.MustCompile(`([a-z0-9][-a-z0-9.]*)_([a-z0-9][-a-z0-9]*)\(([^)]*)\)`)
	// the old form, and today's
	podRef = regexp.MustCompile(podName.String() + `|([a-z0-9][-a-z0-9]*)/([a-z0-9][-a-z0-9.]*)`)
	plegOf = regexp.MustCompile(`(?:"?ID"?:"?([^",\s]*)"?,?\s*)?"?Type"?:"?(\w+)"?,?\s*"?Data"?:"?(\w*)`)
	// keyValue matches a key with its value: a quoted one, one of several lines, an object or a
	// list, or a word.
	keyValue = regexp.MustCompile(`(?s)([\w.]+)=("(?:[^"\\]|\\.)*"?|<\n(.*?)(?:\n ?>|$)|&?[\[{][^}\]]*[}\]]?|[^ \n]*)`)
	// oldProbe and the others are the forms of lines up to 1.20, which have no keys. The names of
	// their groups are the keys of today.
	oldProbe = regexp.MustCompile(`(?s)^(?P<probeType>Liveness|Readiness|Startup) probe for ` +
		`"(?P<pods>[^":]+):(?P<containerName>[^"]+)" (?P<title>failed|errored|succeeded|warning)` +
		`(?: \(\w+\))?(?::\s?(?P<output>.*))?$`)
	oldLines = []*regexp.Regexp{
		oldProbe,
		regexp.MustCompile(`^(?P<title>SyncLoop \(container unhealthy\)): "(?P<pods>[^"]*)"`),
		regexp.MustCompile(`^(?P<title>SyncLoop \(PLEG\)): "(?P<pods>[^"]*)", event: (?P<event>.*)`),
		regexp.MustCompile(
			`^SyncLoop \((?P<title>ADD|UPDATE|DELETE|REMOVE|RECONCILE)(?:, "[^"]*")?\): "(?P<pods>[^"]*)"`),
		regexp.MustCompile(`[Bb]ack-off (?P<backOff>\S+) restarting failed container=(?P<containerName>\S+) ` +
			`pod=(?P<pods>[^_\s]+_\S+\))`),
	}
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
	if m := isKlog(line); m != nil {
		when, text := logTime("0102 15:04:05", line[m[4]:m[5]], time.Microsecond), brief(line[m[2]:])
		t.klog(t.joined(strings.TrimRight(line[m[1]:], "`"), at, complete), when, at, text)
		return true
	}
	// without its time
	if trimmed := strings.TrimSpace(line); strings.Contains(line, ` probe for "`) && oldProbe.MatchString(trimmed) {
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
	}
	return true
}

// complete reports whether a value of several lines, which begins with =< at the end of a line, has
// its end: a line with > (klog's format of values with line breaks).
func complete(text string) bool {
	_, value, open := strings.Cut(text+"\n", "=<\n")
	return !open || strings.Contains("\n"+value, "\n >") || strings.Contains("\n"+value, "\n>")
}

// logTime returns a time of a log, whose year is 2000 until the year is known.
func logTime(layout, text string, within time.Duration) Moment {
	at, err := time.Parse(layout, text)
	if err != nil {
		return Moment{}
	}
	return Moment{at.AddDate(2000, 0, 0), within}
}

func (t *textReader) addLog(f *Fact) {
	f.Source, f.Last = FromLog, f.When
	if f.Pod != nil && t.add(f) && f.When.Known() {
		t.logTimes = append(t.logTimes, f)
	}
}

// klog reads the text of a line.
func (t *textReader) klog(body string, when Moment, at Place, text string) {
	f := &Fact{Place: at, When: when, Count: 1, Text: text}
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
	case title == "Killing container with a grace period":
		f.Kind, f.Reason, f.Message = Log, "Killing", "grace period "+values["gracePeriod"]+"s"
	case title == "Message for Container of pod" || title == "Container failed liveness probe, will be restarted":
		f.Kind, f.Reason, f.Message = Log, "Message", values["containerMessage"]
	case values["backOff"] != "":
		f.Kind, f.Reason, f.Message = Log, "BackOff", "back-off "+values["backOff"]
	case strings.HasPrefix(title, "SyncLoop ") || strings.ToUpper(title) == title && title != "":
		f.Kind, f.Reason = Log, strings.TrimPrefix(title, "SyncLoop ")
	default:
		return
	}
	if _, id, has := cutLast(strings.TrimSuffix(strings.Trim(values["containerID"], `{}"`), `"`), "/"); has &&
		f.Container != "" {
		t.ids[id] = f.Container
	}
	for _, m := range podRef.FindAllStringSubmatch(values["pods"]+" "+values["pod"], 100) {
		each := *f
		each.Pod = t.reader.pod(m[2]+m[4], m[1]+m[5], cmp.Or(m[3], values["podUID"]), at)
		t.addLog(&each)
	}
}

// keyValues reads a structured line: a quoted title, and keys with values. It reads old lines, too.
func keyValues(body string) (title string, values map[string]string) {
	values = map[string]string{}
	prefix, err := strconv.QuotedPrefix(body)
	if err != nil || body[0] != '"' {
		for _, old := range oldLines {
			if m := old.FindStringSubmatch(body); m != nil {
				for i, name := range old.SubexpNames() {
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
		if strings.HasPrefix(value, "<\n") {
			value = strings.TrimPrefix(strings.ReplaceAll(m[3], "\n\t", "\n"), "\t")
		} else if unquoted, err := strconv.Unquote(value); err == nil {
			value = unquoted
		}
		values[m[1]] = strings.TrimPrefix(value, `"`) // of a value that is cut off
	}
	return title, values
}
