package expect

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/internal/strict"
	"probesim.dev/trace/match"
)

// messageWords are words of the messages that the kubelet writes for probes, containers and images.
var messageWords = strings.Fields(
	`Liveness liveness Readiness readiness Startup startup probe failed errored resulted unknown state warning
statuscode connect connection refused context deadline exceeded Client Timeout exceeded while awaiting
headers command timed Container container Stopping restarted created started Created Started already present
machine accessed Pulling pulled Successfully image Back-off restarting pulling PostStartHook PreStopHook
health service responded redirect terminated`)

var messageWord = regexp.MustCompile(`[A-Za-z-]{5,}`)

// misspelled says that the message of a record that an expectation excludes has a word that no
// message has and that is similar to one of the kubelet's, or "". In a pattern, a word without a
// space beside it can be a part of a longer one.
func (c *checker) misspelled(m *match.Moment) string {
	for _, f := range m.Record.Fields {
		text := f.Match.String()
		if f.Name != "message" || strings.Contains(text, "(?i") {
			continue
		}
		for _, at := range messageWord.FindAllStringIndex(text, -1) {
			word := text[at[0]:at[1]]
			begins, ends := at[0] > 0 && text[at[0]-1] == ' ', at[1] < len(text) &&
				strings.IndexByte(" :", text[at[1]]) >= 0
			known := slices.ContainsFunc(messageWords, func(w string) bool {
				return strings.Contains(w, word) && (!begins || strings.HasPrefix(w, word)) && (!ends ||
					strings.HasSuffix(w, word))
			})
			if meant := strict.Nearest(word, messageWords); !known && meant != "" && !c.says(word) {
				return fmt.Sprintf("no message of the kubelet has the word %s; did you mean %s?", strict.Quote(word),
					strict.Quote(meant))
			}
		}
	}
	return ""
}

// says reports whether the programs of the scenario say a word: it can be in the output of a probe.
func (c *checker) says(word string) bool {
	for i := range c.scenario.Spec.Pods {
		for _, container := range c.scenario.Spec.Pods[i].Containers {
			for _, a := range container.Answers {
				if strings.Contains(a.Body+a.TransportError, word) {
					return true
				}
			}
			for n := range container.Behavior {
				if strings.Contains(container.Behavior[n].Text, word) {
					return true
				}
			}
		}
	}
	return false
}
