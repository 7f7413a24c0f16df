package shrink

import (
	"regexp"
	"slices"
	"strconv"

	"probesim.dev/internal/strict"
)

// answerFields lists the fields that hold answers.
var answerFields = map[string]bool{
	"liveness": true, "readiness": true, "startup": true, "probes": true, "postStart": true, "preStop": true,
	"then": true,
}

// unfoldAnswers replaces each list of answers by one of its answers.
func (s *shrinker) unfoldAnswers() {
	s.eachField(func(key string, n *strict.Node) {
		if !answerFields[key] || n.Kind != strict.Sequence {
			return
		}
		list := *n
		for _, item := range list.Items {
			a, ok := parseAnswer(item.Value)
			if !ok || item.Value == "repeat" {
				continue
			}
			a.count = 1
			*n = strict.Node{Kind: strict.Scalar, Tag: "!!str", Value: a.String()}
			if s.edited() {
				return
			}
		}
		*n = list
	})
}

// answer is an answer in the notation of the file: WORD in LATENCY xCOUNT.
type answer struct {
	word, latency string
	count         int
}

var answerPattern = regexp.MustCompile(`^(\S+)(?: +in +(\S+))?(?: +x(\d+))?$`)

func parseAnswer(text string) (answer, bool) {
	m := answerPattern.FindStringSubmatch(text)
	if m == nil {
		return answer{}, false
	}
	a := answer{word: m[1], latency: m[2], count: 1}
	if m[3] != "" {
		a.count, _ = strconv.Atoi(m[3])
	}
	return a, true
}

func (a answer) String() string {
	s := a.word
	if a.latency != "" {
		s += " in " + a.latency
	}
	if a.count > 1 {
		s += " x" + strconv.Itoa(a.count)
	}
	return s
}

// simplerWords returns the words that are simpler than a word, the simplest first.
func simplerWords(word string) []string {
	simple := []string{"ok", "fail"}
	if i := slices.Index(simple, word); i >= 0 {
		return simple[:i]
	}
	return simple
}

// simpler returns simpler answers, the simplest first.
func (a answer) simpler() []string {
	var list []string
	add := func(b answer) { list = append(list, b.String()) }
	for _, word := range simplerWords(a.word) {
		add(answer{word: word, count: a.count})
	}
	if a.latency != "" {
		add(answer{word: a.word, count: a.count})
		for _, word := range simplerWords(a.word) {
			add(answer{word, a.latency, a.count})
		}
	}
	for _, count := range simplerNumbers(int64(a.count)) {
		add(answer{a.word, a.latency, int(count)})
	}
	for _, latency := range simplerTimes(a.latency) {
		add(answer{a.word, latency, a.count})
	}
	return list
}
