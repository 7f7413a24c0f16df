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

// startProblems have the names of the phrases for the words of the message that says why a
// container does not start. The first that fits counts; an empty name stands for the cause itself.
var startProblems = []struct {
	cause Cause
	words *regexp.Regexp
	name  string
}{
	{Configuration, regexp.MustCompile(`(?i)run as ?(non-)?root|runAsUser|non-root`), "run as root"},
	{Configuration, regexp.MustCompile(`(?i)not found|couldn't find|non-existent|no such`), ""},
	{Configuration, regexp.MustCompile(``), "configuration open"},
	{CannotStart, regexp.MustCompile(`(?i)deadline ?exceeded|timed? ?out`), "not started in time"},
	{CannotStart, regexp.MustCompile(`(?i)exec|mount|command|entrypoint|permission|no such file|not a directory|chdir`), ""},
	{CannotStart, regexp.MustCompile(``), "cannotStart open"},
}

// wordsFor returns the name of the phrase for a cause with a message, or nothing.
func wordsFor(cause Cause, message string) string {
	for _, p := range startProblems {
		if p.cause == cause && p.words.MatchString(message) {
			return p.name
		}
	}
	return ""
}

// imageProblems have the names of the phrases that say why an image cannot be pulled, by words of
// the message.
var imageProblems = []struct {
	words *regexp.Regexp
	name  string
}{
	{regexp.MustCompile(`is blocked in .*registries\.conf`), "image blocked"},
	{regexp.MustCompile(`pull policy of Never`), "image never"},
	{regexp.MustCompile(`(?i)unauthorized|denied|authentication|forbidden`), "image refused"},
	{regexp.MustCompile(`(?i)not found|manifest unknown|does not exist`), "image missing"},
	{regexp.MustCompile(`(?i)toomanyrequests|rate limit`), "image limited"},
	{regexp.MustCompile(`(?i)timeout|no such host|refused|no route|x509`), "image unreachable"},
	{regexp.MustCompile(`(?i)invalidimagename|invalid reference`), "image invalid"},
}
