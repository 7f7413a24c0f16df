package verdict

import (
	"cmp"
	_ "embed"
	"strings"

	"probesim.dev/internal/answers/incident"
)

// phrase has the words for a ruling, for a class of failures, or for an exit. A word in braces
// stands for a value.
type phrase struct{ sentence, advice, question, command string }

//go:embed phrases.txt
var phrasesText string

// phrases has the entries of phrases.txt by their names.
var phrases = parsePhrases(phrasesText)

func parsePhrases(file string) map[string]phrase {
	all := map[string]phrase{}
	var name string
	var p phrase
	part := &p.sentence
	for line := range strings.Lines(file) {
		text := strings.TrimSpace(line)
		label, rest, _ := strings.Cut(text, ": ")
		switch {
		case text == "" || text[0] == '#':
			continue
		case line[0] != ' ':
			name, p, part = text, phrase{}, &p.sentence
			continue
		case label == "Do":
			text, part = rest, &p.advice
		case label == "Ask":
			text, part = rest, &p.question
		case label == "Run":
			text, part = rest, &p.command
			text = cmp.Or(all[text].sentence, text)
		}
		*part = strings.TrimSpace(*part + " " + text)
		all[name] = p
	}
	return all
}

//go:embed problems.txt
var problemsText string

// problems have what the message of an event says about a cause.
var problems = incident.Patterns(problemsText)

// problem returns the name of the phrase for a cause with a message, or nothing.
func problem(cause Cause, message string) string {
	for _, p := range problems {
		if of, name, _ := strings.Cut(p.Name, ": "); of == string(cause) && p.Words.MatchString(message) {
			return name
		}
	}
	return ""
}
