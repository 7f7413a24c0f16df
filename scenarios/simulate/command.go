package simulate

import (
	"fmt"
	"strings"

	"probesim.dev/scenarios"
)

// Command returns the command that makes a run again and shows it. Paths are those that the scenarios were loaded by.
func Command(plan *scenarios.Plan) string {
	text := "probesim run " + Quote(plan.Scenario.File) + " --run " + Quote("^"+plan.Scenario.Metadata.Name+"$") + " --kubernetes " + plan.Version
	if plan.Seed != nil {
		text += fmt.Sprintf(" --seed %d", *plan.Seed)
	}
	return text
}

// Quote quotes a word for a POSIX shell if it has to be.
func Quote(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
