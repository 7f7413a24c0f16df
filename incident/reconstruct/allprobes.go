package reconstruct

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
)

// allProbes is the part in which several probes of a container fail for the same reason: a program that is down fails them all.
const allProbes = "probes"

// tryTogether returns behaviors that fail all probes of a container, if at least two of them failed in the same way.
func tryTogether(s *search, c *v1.Container) []choice {
	list := []choice{{name: "none"}}
	groups := map[string][]outage{}
	probes := map[string]int{}
	var kinds []string
	for _, probe := range probesOf(c) {
		before := map[string]bool{}
		for _, o := range s.outages(c, probe) {
			kind := commonWord(o)
			if groups[kind] == nil {
				kinds = append(kinds, kind)
			}
			if groups[kind] = append(groups[kind], o); !before[kind] {
				probes[kind]++
			}
			before[kind] = true
		}
	}
	for _, kind := range kinds {
		if probes[kind] < 2 {
			continue
		}
		outages := groups[kind]
		slices.SortStableFunc(outages, func(a, b outage) int { return cmp.Compare(a.first, b.first) })
		first, last, says := outages[0].first, outages[0].last, ""
		tick := period(incident.ProbeOf(c, probesOf(c)[0]))
		for i, o := range outages {
			last = max(last, o.last)
			if i > 0 {
				says += ". "
			}
			says += o.says
		}
		for _, probe := range probesOf(c) {
			tick = min(tick, period(incident.ProbeOf(c, probe)))
		}
		word := kind
		var answers []string
		if outages[0].answer != "" {
			word, answers = outages[0].word, []string{outages[0].answer}
		}
		add := func(name, when string) {
			list = append(list, choice{name: name, answers: answers, rules: []rule{{fmt.Sprintf("%s%s: %s", when, allProbes, word), says}}})
		}
		after := max(s.since(c, first), 0)
		begins := []string{fmt.Sprintf("after: %s, ", between(after-tick, after)), ""}
		add("window", fmt.Sprintf("at: %s, for: %s, ", between(first-tick, first), between(last-first+time.Millisecond, last-first+tick)))
		for _, begin := range begins {
			add("each life", begin)
			for _, length := range lengths(last - first) {
				add("each life for", fmt.Sprintf("%sfor: %s, ", begin, value.Format(length)))
			}
		}
	}
	return list
}

// lengths returns lengths of windows to try, up to a time: each about a third longer than the one before.
func lengths(longest time.Duration) []time.Duration {
	var list []time.Duration
	for d := 1500 * time.Millisecond; d < min(longest, 5*time.Minute); d = (d + d/3).Round(100 * time.Millisecond) {
		list = append(list, d)
	}
	return list
}

// commonWord returns an answer that fails probes with different handlers as an outage does, or what defines it.
func commonWord(o outage) string {
	switch o.word {
	case "500", "1", "NOT_SERVING":
		return "fail"
	case late:
		return "hang"
	}
	if o.answer != "" {
		return answerName.ReplaceAllString(o.answer, "")
	}
	return o.word
}
