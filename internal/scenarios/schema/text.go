package schema

import (
	_ "embed"
	"strings"
)

//go:embed fields.txt
var fieldsText string

// texts has the descriptions in fields.txt, by TYPE or TYPE.FIELD.
var texts = parseTexts(fieldsText)

// parseTexts reads entries: a line with a name, followed by indented lines of text. Lines that
// begin with # are comments.
func parseTexts(file string) map[string]string {
	entries := map[string]string{}
	name := ""
	for line := range strings.Lines(file) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "  "):
			entries[name] = strings.TrimSpace(entries[name] + " " + strings.TrimSpace(line))
		default:
			name = line
		}
	}
	return entries
}
