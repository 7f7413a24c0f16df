package program

import (
	"regexp"
	"strings"
)

// shellWord is a word of a command in a shell script.
type shellWord struct {
	text    string   // without quotes
	expands bool     // the text depends on a variable, a pattern or another command
	runs    []string // scripts that the shell runs to expand the word
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func (w *shellWord) isAssignment() bool { return assignment.MatchString(w.text) }

// shellReader reads the commands of a shell script. It knows quotes, expansions and redirections,
// and no more.
type shellReader struct{ rest string }

// command reads the words of the next command without its redirections, and what ends it: ";" (or a
// new line), "&&", "||", "|", "&", or "" at the end of the script. It returns false if it does not
// understand the script.
func (r *shellReader) command() (words []shellWord, end string, ok bool) {
	for {
		r.rest = strings.TrimLeft(r.rest, " \t")
		for _, end := range []string{"&&", "||", "|", "&", ";", "\n"} {
			if rest, found := strings.CutPrefix(r.rest, end); found {
				r.rest = rest
				return words, strings.Replace(end, "\n", ";", 1), len(words) > 0 || end == "\n"
			}
		}
		switch {
		case r.rest == "":
			return words, "", true
		case r.rest[0] == '#':
			if i := strings.IndexByte(r.rest, '\n'); i >= 0 {
				r.rest = r.rest[i:]
			} else {
				r.rest = ""
			}
			continue
		}
		w, ok := r.word()
		if !ok {
			return nil, "", false
		}
		if w == nil {
			continue // a redirection
		}
		words = append(words, *w)
	}
}

var redirection = regexp.MustCompile(`^[0-9]*(>>|>&|<&|>|<)[ \t]*`)

// word reads a word, or skips a redirection and returns nil.
func (r *shellReader) word() (*shellWord, bool) {
	if found := redirection.FindString(r.rest); found != "" {
		r.rest = r.rest[len(found):]
		_, ok := r.plainWord()
		return nil, ok && !strings.HasPrefix(r.rest, "(")
	}
	return r.plainWord()
}

func (r *shellReader) plainWord() (*shellWord, bool) {
	w, quotes := &shellWord{}, false
	var text []byte
	for r.rest != "" && (quotes || strings.IndexByte(" \t\n;&|", r.rest[0]) < 0) {
		switch c := r.rest[0]; {
		case !quotes && strings.IndexByte("(){}<>", c) >= 0:
			return nil, false
		case c == '"':
			quotes = !quotes
			r.rest = r.rest[1:]
		case c == '\'' && !quotes:
			inner, after, closed := strings.Cut(r.rest[1:], "'")
			if !closed {
				return nil, false
			}
			text, r.rest = append(text, inner...), after
		case c == '\\' && len(r.rest) > 1:
			text, r.rest = append(text, r.rest[1]), r.rest[2:]
		case c == '`':
			inner, after, closed := strings.Cut(r.rest[1:], "`")
			if !closed {
				return nil, false
			}
			w.expands, w.runs, r.rest = true, append(w.runs, inner), after
		case c == '$':
			if !r.expansion(w) {
				return nil, false
			}
		default:
			w.expands = w.expands || !quotes && strings.IndexByte("*?[~", c) >= 0
			text, r.rest = append(text, c), r.rest[1:]
		}
	}
	w.text = string(text)
	return w, !quotes
}

// expansion reads a part of a word that begins with a dollar sign.
func (r *shellReader) expansion(w *shellWord) bool {
	w.expands = true
	r.rest = r.rest[1:]
	for _, pair := range []string{"()", "{}"} {
		if r.rest == "" || r.rest[0] != pair[0] {
			continue
		}
		inner, after, closed := cutNested(r.rest[1:], pair[0], pair[1])
		if !closed {
			return false
		}
		if pair == "()" && !strings.HasPrefix(inner, "(") {
			w.runs = append(w.runs, inner)
		}
		r.rest = after
		return true
	}
	return true // the name of a variable follows as text
}

// cutNested cuts text at the closing bracket that belongs to an opening one before the text. Quotes
// hide brackets.
func cutNested(text string, open, closing byte) (inner, after string, closed bool) {
	depth, quote := 1, byte(0)
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == open:
			depth++
		case c == closing:
			if depth--; depth == 0 {
				return text[:i], text[i+1:], true
			}
		}
	}
	return "", "", false
}
