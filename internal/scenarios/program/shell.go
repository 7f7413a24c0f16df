package program

import (
	"regexp"
	"strings"
)

// The words of a shell script, with quotes and expansions that have no brackets in them. A script
// with other words is not understood.
const (
	expansionPattern = "`[^`]*`|\\$\\([^()]*\\)|\\$\\(\\([^()]*\\)\\)|\\$\\{[^{}]*\\}|\\$"
	quotedPattern    = `'[^']*'|"(?:\\.|[^"\\$` + "`" + `]|` + expansionPattern + `)*"`
	wordPattern      = `(?:` + quotedPattern + `|` + expansionPattern + `|\\.|[^\s;&|<>(){}'"\\$` + "`" + `])+`
)

var (
	// A token is a comment, a redirection, the end of a command or a word.
	shellToken = regexp.MustCompile(`(?s)^[ \t]*(?:#[^\n]*|[0-9]*(?:>>|>&|<&|>|<)[ \t]*` + wordPattern +
		`|(&&|\|\||[|&;\n])|(` + wordPattern + `))`)
	substitution = regexp.MustCompile("`([^`]*)`|\\$\\(([^()]*)\\)")
	unquoted     = strings.NewReplacer(`'`, "", `"`, "", `\`, "")
)

// shellWord is a word of a command in a shell script.
type shellWord struct {
	text    string   // without quotes
	expands bool     // the text depends on a variable, a pattern or another command
	runs    []string // scripts that the shell runs to expand the word
}

func newShellWord(text string) shellWord {
	w := shellWord{text: unquoted.Replace(text), expands: strings.ContainsAny(text, "$`*?~")}
	for _, m := range substitution.FindAllStringSubmatch(text, -1) {
		w.runs = append(w.runs, m[1]+m[2])
	}
	return w
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func (w *shellWord) isAssignment() bool { return assignment.MatchString(w.text) }

// firstCommand reads the words of the first command of a script, what ends it, ";" (or a new line),
// "&&", "||", "|", "&", or "" at the end of the script, and the rest. It returns false if it does
// not understand the script.
func firstCommand(script string) (words []shellWord, end, rest string, ok bool) {
	for {
		m := shellToken.FindStringSubmatch(script)
		if m == nil {
			return words, "", "", strings.Trim(script, " \t") == ""
		}
		script = script[len(m[0]):]
		switch end, word := m[1], m[2]; {
		case end != "":
			return words, strings.Replace(end, "\n", ";", 1), script, len(words) > 0 || end == "\n"
		case word != "":
			words = append(words, newShellWord(word))
		}
	}
}
