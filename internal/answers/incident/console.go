package incident

import (
	"regexp"
	"strings"
)

// console is what the lines of a web console say about the next event.
type console struct {
	event bool // the next line is the message of an event
	count int
}

var (
	// consolePod matches the pod and the namespace of an event in the console of OpenShift, whose
	// badges P and NS a browser copies as letters.
	consolePod = regexp.MustCompile(`^PodP ?([a-z0-9][-a-z0-9.]*?)(?:NamespaceNS([a-z0-9][-a-z0-9]*))?$`)
	consoleIn  = regexp.MustCompile(`^NamespaceNS ?([a-z0-9][-a-z0-9]*)$`)
	consoleFor = regexp.MustCompile(`^(\d{1,9}) times in the last `)
	// headline matches the title of a part of a report, such as --- Description for web-1 ---.
	headline = regexp.MustCompile(`^(?:-{3,}|={3,}|>{3,}) .*[A-Za-z]`)
)

// consoleLine reads a line around the message of an event in a web console.
func (t *textReader) consoleLine(trimmed string, at Place) bool {
	switch {
	case strings.HasPrefix(trimmed, "PodP"):
		m := consolePod.FindStringSubmatch(trimmed)
		if m == nil || !isName(m[1]) {
			return false
		}
		t.endBlock()
		t.console, t.event = console{}, nil
		t.pod = t.reader.pod(m[2], m[1], "", at)
	case strings.HasPrefix(trimmed, "NamespaceNS") && t.pod != nil && t.pod.Namespace == "":
		if m := consoleIn.FindStringSubmatch(trimmed); m != nil {
			t.pod.Namespace = m[1]
		}
	case strings.HasPrefix(trimmed, "Generated from "):
		t.endBlock()
		t.console, t.event = console{event: true}, nil
	default:
		if m := consoleFor.FindStringSubmatch(trimmed); t.console.event && m != nil {
			t.console.count = count0(m[1])
			return true
		}
		return false
	}
	return true
}

// heading reads a line that only separates, the header of a table, or the title of a part of a
// report. The part is about the pod that the title names, if the text has named it before.
func (t *textReader) heading(trimmed string, at Place) bool {
	switch {
	case ruled(trimmed):
		t.dotted(trimmed)
		return true
	case headed(t.words):
		t.listing++
		if t.section != nil && len(t.section.facts) > 0 && strings.Contains(strings.ToLower(trimmed), "reason") {
			t.section = nil // the table of another command
		}
		return true
	case !headline.MatchString(trimmed):
		return false
	}
	for _, w := range t.words {
		if t.reader.bare[w.text] != nil && strings.Contains(w.text, "-") {
			t.flush()
			t.asked, t.askedAt, t.program = w.text, at, strings.Contains(strings.ToLower(trimmed), "logs ")
		}
	}
	return true
}

// dotted notes that dots stand for rows of a table that a person left out.
func (t *textReader) dotted(trimmed string) {
	dots := strings.Contains(trimmed, "..") || strings.Contains(trimmed, "…")
	t.rec.Abridged = t.rec.Abridged || dots && t.section != nil && len(t.section.facts) > 0
}
