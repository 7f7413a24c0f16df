package incident

import (
	"embed"
	"regexp"
	"slices"
	"strings"
)

// Sign is a line that fits no format, and says why something does not run.
type Sign struct {
	Unread
	// Proves is what the line says: a cause of package verdict, and a word that names its phrase.
	Proves string
}

var signs = Patterns(table("signs"))

//go:embed *.txt
var tables embed.FS

// table returns the text of a table.
func table(name string) string {
	text, _ := tables.ReadFile(name + ".txt") // which is there
	return string(text)
}

// Pattern has the words that prove something.
type Pattern struct {
	Name  string
	Words *regexp.Regexp
}

// Patterns reads a table: a line with a name, and below it, indented, the alternatives of a regular
// expression.
func Patterns(table string) (list []Pattern) {
	for _, entry := range heads.FindAllStringSubmatch(table, -1) {
		list = append(list, Pattern{entry[1], regexp.MustCompile(alternatives(entry[2]))})
	}
	return list
}

var patterns = Patterns(table("patterns"))

// pattern returns the expression of patterns.txt with a name.
func pattern(name string) *regexp.Regexp {
	return patterns[slices.IndexFunc(patterns, func(p Pattern) bool { return p.Name == name })].Words
}

// heads matches an entry of a table.
var heads = regexp.MustCompile(`(?m)^([^#\s].*)\n((?: +.*\n)+)`)

// alternatives returns a regular expression of which each line of a text is an alternative.
func alternatives(text string) string {
	var list []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, "(?:"+line+")")
		}
	}
	return strings.Join(list, "|")
}

// sign keeps a line that may say why a program does not run. Fatal lines of klog do.
func (t *textReader) sign(line string, at Place) bool {
	proves, m := "", isKlog(line)
	lower := strings.ToLower(line)
	for i := 0; proves == "" && i < len(signs) && len(t.rec.Signs) < maxProblems; i++ {
		name, hints, _ := strings.Cut(signs[i].Name, ": ")
		hinted := slices.ContainsFunc(strings.Split(hints, "|"),
			func(hint string) bool { return strings.Contains(lower, hint) })
		vague := strings.HasPrefix(name, "vague ") // it counts whatever the line says of it
		switch {
		case !hinted, aboutNoPod(line), name == "ownExit log" && !t.program:
		case vague && !t.comment && signs[i].Words.MatchString(line), !vague && asserted(line, signs[i].Words) != nil:
			proves = name
		}
	}
	if proves == "" && m != nil && line[m[2]] == 'F' {
		proves = "ownExit"
	}
	if proves == "" {
		return false
	}
	if m != nil {
		line = line[m[1]:]
	}
	if t.skip(at, line); len(t.rec.Signs) < maxProblems {
		t.rec.Signs = append(t.rec.Signs, Sign{Unread{at, strings.TrimSpace(line[:min(len(line), 1000)])}, proves})
	}
	return true
}
