package verdict

import (
	"cmp"
	_ "embed"
	"regexp"
	"strings"
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

// problems have the names of the phrases for what the message of an event says about a cause. The
// first that fits counts; an empty name stands for the words of the cause itself.
var problems = []struct {
	cause Cause
	words *regexp.Regexp
	name  string
}{
	{Configuration, regexp.MustCompile(`(?i)run as ?(non-)?root|runAsUser|non-root`), "run as root"},
	{Configuration, regexp.MustCompile(`(?i)not found|couldn't find|non-existent|no such`), ""},
	{Configuration, regexp.MustCompile(``), "configuration open"},
	{CannotStart, regexp.MustCompile(`(?i)deadline ?exceeded|timed? ?out`), "not started in time"},
	{Image, regexp.MustCompile(`is blocked in .*registries\.conf`), "image blocked"},
	{Image, regexp.MustCompile(`pull policy of Never`), "image never"},
	{Image, regexp.MustCompile(`(?i)unauthorized|denied|authentication|forbidden`), "image refused"},
	{Image, regexp.MustCompile(`(?i)not found|manifest unknown|does not exist`), "image missing"},
	{Image, regexp.MustCompile(`(?i)toomanyrequests|rate limit`), "image limited"},
	{Image, regexp.MustCompile(`(?i)timeout|no such host|refused|no route|x509`), "image unreachable"},
	{Image, regexp.MustCompile(`(?i)invalidimagename|invalid reference`), "image invalid"},
}

// problem returns the name of the phrase for a cause with a message, or nothing.
func problem(cause Cause, message string) string {
	for _, p := range problems {
		if p.cause == cause && p.words.MatchString(message) {
			return p.name
		}
	}
	return ""
}
