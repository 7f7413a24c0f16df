package simulate

import (
	"fmt"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/scenarios"
)

// Command returns the shell command that repeats a run. It uses the path from which the scenario
// was loaded.
func Command(plan *scenarios.Plan) string {
	text := "probesim run"
	for _, word := range Words(plan.Scenario) {
		text += " " + Quote(word)
	}
	text += " --run " + Quote("^"+plan.Scenario.Metadata.Name+"$") + " --kubernetes " + plan.Version
	if plan.Seed != nil {
		text += fmt.Sprintf(" --seed %d", *plan.Seed)
	}
	return text
}

// Words returns the words after the name of a command that load a scenario.
func Words(s *scenarios.Scenario) []string {
	if s.Command != nil {
		return s.Command
	}
	return []string{s.Path()}
}

// Quote quotes a word for a shell if necessary. A word that is safe to print gets the quotes of
// POSIX. Any other word gets the $'...' of bash, zsh and ksh, with escapes.
func Quote(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("-_./:=@%+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	if printable.Text(word) != word {
		return "$'" + escaped(word) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// escaped returns the escapes of a word for $'...'. It escapes bytes, since shells differ in their
// escapes of other characters.
func escaped(word string) string {
	var b strings.Builder
	for i := range len(word) {
		switch c := word[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c > '~' || c == '#':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
