package render

import (
	"strings"

	"probesim.dev/check"
	"probesim.dev/scenarios/simulate"
)

// Command returns the command that shows the run behind a finding, or an empty string if a healthy program shows it.
func Command(f *check.Finding) string {
	if len(f.App) == 0 {
		return ""
	}
	words := []string{"probesim run", simulate.Quote(f.File)}
	for _, app := range f.App {
		words = append(words, "--app", simulate.Quote(app))
	}
	return strings.Join(words, " ")
}
