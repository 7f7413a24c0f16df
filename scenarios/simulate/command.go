package simulate

import (
	"fmt"
	"strings"

	"probesim.dev/scenarios"
)

// Command returns the shell command that repeats a run. It uses the path from which the scenario was loaded.
func Command(plan *scenarios.Plan) string {
	text := "probesim run " + Quote(plan.Scenario.File) + " --run " + Quote("^"+plan.Scenario.Metadata.Name+"$") + " --kubernetes " + plan.Version
	if plan.Seed != nil {
		text += fmt.Sprintf(" --seed %d", *plan.Seed)
	}
	return text
}

// Quote quotes a word for a POSIX shell if necessary.
func Quote(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
