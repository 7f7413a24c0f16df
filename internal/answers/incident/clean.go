package incident

import (
	"bytes"
	"regexp"
	"strings"
)

// escape matches an escape sequence of a terminal (ECMA-48).
var escape = regexp.MustCompile(`\x1b(?:\[[^\x40-\x7e\n]*[\x40-\x7e]?|[^\[\n])?`)

// entities replaces the entities and the line breaks of HTML.
var entities = strings.NewReplacer("&quot;", `"`, "&#34;", `"`, "&#39;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&",
	"&nbsp;", " ", "<br>", "", "<br/>", "", "<br />", "")

// tags matches tags of HTML inside a line, and entity what shows that its text is escaped.
var (
	tags   = regexp.MustCompile(`</?(?:span|b|i|em|strong|font|a|p|div|td|tr|li)(?: [^>\n]*)?>`)
	entity = regexp.MustCompile(`&(?:quot|gt|#39);`)
)

// masked matches what a person wrote in place of a part of a name, such as <redacted>-0.
var masked = regexp.MustCompile(`([-/["=.]<|^<|<)([A-Za-z0-9][A-Za-z0-9 _-]{0,30})>(-?)`)

// unmask makes a part of a name of such a text. Tags of HTML, and the words of kubectl for what is
// not there, stay.
func unmask(data []byte) []byte {
	return masked.ReplaceAllFunc(data, func(all []byte) []byte {
		m := masked.FindSubmatch(all)
		text := strings.ToLower(strings.NewReplacer(" ", "-", "_", "-").Replace(strings.TrimSpace(string(m[2]))))
		if len(m[1]) == 1 && len(m[3]) == 0 || absent[text] {
			return all
		}
		return append(append(bytes.TrimSuffix(m[1], []byte("<")), text...), m[3]...)
	})
}

var absent = wordSet("none nil unknown unset invalid")

// clean returns a text without what terminals and people put around its lines: colour codes, quote
// marks, hard spaces. The number of lines stays.
func clean(data []byte) []byte {
	for _, c := range [][2]string{{"\x00", ""}, {"\u00a0", " "}, {"\u200b", ""}} {
		if bytes.Contains(data, []byte(c[0])) {
			data = bytes.ReplaceAll(data, []byte(c[0]), []byte(c[1]))
		}
	}
	if bytes.Contains(data, []byte("</")) {
		data = tags.ReplaceAll(data, nil)
	}
	if bytes.Contains(data, []byte("&")) && entity.Match(data) {
		data = []byte(entities.Replace(string(data)))
	}
	if bytes.Contains(data, []byte("<")) {
		data = unmask(data)
	}
	if bytes.Contains(data, []byte("\x1b")) {
		data = escape.ReplaceAll(data, nil)
	}
	if !bytes.HasPrefix(data, []byte(">")) && !bytes.Contains(data, []byte("\n>")) {
		return data
	}
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		line, rest, more := bytes.Cut(data, []byte("\n"))
		// the end of a value in a log is a mark alone
		for len(line) > 0 && line[0] == '>' && (len(line) > 1 || bytes.HasPrefix(rest, []byte(">"))) {
			line = bytes.TrimPrefix(line[1:], []byte(" "))
		}
		out = append(out, line...)
		if data = rest; more {
			out = append(out, '\n')
		}
	}
	return out
}

var otherRows = Patterns(table("otherrows"))

// unframed returns a line without the frame of a table or of code, bars and back-quotes, and a row
// of another tool in the form of kubectl.
func unframed(line string) string {
	if strings.Contains(line, "INFO: ") || strings.Contains(line, "ready:") {
		for _, row := range otherRows {
			line = row.Words.ReplaceAllString(line, row.Name)
		}
	}
	trimmed := strings.TrimSpace(line)
	switch {
	case strings.Contains(trimmed, "│"):
		return strings.ReplaceAll(line, "│", " ")
	case strings.HasPrefix(trimmed, "|"), strings.Contains(trimmed, "Normal |"), strings.Contains(trimmed, "Warning |"):
		return strings.TrimRight(strings.ReplaceAll(strings.Trim(trimmed, "|"), "|", " "), " ")
	case len(trimmed) > 2 && trimmed[0] == '+' && (letter(trimmed[1]) || trimmed[1:3] == "  "): // of a change
		return strings.Replace(line, "+", "", 1)
	case len(trimmed) > 1 && trimmed[0] == '`' && !strings.HasPrefix(trimmed, "```"):
		return strings.Trim(trimmed, "`")
	}
	return line
}

// bold matches a column that Markdown prints bold.
var bold = regexp.MustCompile(`\*\*([^\s*]+)\*\*`)

// uncommented returns a line without the mark of a comment, behind which scripts show outputs, and
// whether it has one. The prompt of root looks like one.
func uncommented(line string) (text string, comment bool) {
	mark := commentMark.FindString(line)
	if mark == "" {
		return line, false
	}
	if _, _, prompt := prompted(strings.TrimSpace(line)); prompt {
		return line, false
	}
	return line[len(mark):], true
}

var commentMark = regexp.MustCompile(`^\s*(?:#+(?:\s|$)|//\s)`)

// fence matches the beginning of a line that begins or ends a block of code.
var fence = regexp.MustCompile("^(?:```|~~~|</?(?:pre|details|summary|code)|\\{(?:code|noformat)|\\[/?code)")

// ruled reports whether a line only separates: dashes, dots, the frame of a table.
func ruled(trimmed string) bool {
	return strings.Trim(trimmed, "-=_+*~.:|<>…─━═┌┐└┘├┤┬┴┼╭╮╰╯{}[](),; \t") == ""
}

// titles are the words of the headers of tables.
var titles = listed("titles")

// headed reports whether the words of a line are the header of a table.
func headed(words []word) bool {
	for _, w := range words {
		if !titles[strings.ToLower(w.text)] {
			return false
		}
	}
	return len(words) > 1
}

var (
	// typed matches what a person typed into a shell: a prompt, a client of the cluster or another
	// tool, and its arguments.
	typed = pattern("typed")
	// podArgument matches the pod that the arguments of a client name.
	podArgument = pattern("podArgument")
)

// prose matches Chinese, Japanese or Korean right after a word: a sentence that begins with a
// command.
var prose = regexp.MustCompile(`[a-z][\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]`)

// prompted returns the pod that a line of a shell names, if it does, and whether the command prints
// the log of a program.
func prompted(trimmed string) (pod string, logs, is bool) {
	if !strings.ContainsAny(trimmed, "$#%>❯➜") && !strings.Contains(trimmed, "kube") &&
		!strings.HasPrefix(trimmed, "oc ") {
		return "", false, false // a search costs less
	}
	m := typed.FindStringSubmatch(trimmed)
	if m == nil || m[1] == "" && (m[2] == "" || m[2] == "k") || prose.MatchString(m[4]) {
		return "", false, false
	}
	if m[2] == "" {
		return "", m[3] != "", true
	}
	if p := podArgument.FindStringSubmatch(m[4]); p != nil {
		pod = p[1]
	}
	return pod, strings.HasPrefix(m[4], "logs ") || strings.HasPrefix(m[4], "exec "), true
}

func isPodKind(s string) bool { return s == "pod" || s == "pods" || s == "po" || s == "Pod" }
