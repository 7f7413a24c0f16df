package render

import (
	"slices"
	"strings"

	"probesim.dev/check"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/simulate"
)

// Command returns the command that shows the run behind a finding, or an empty string if nothing shows it. Where a time is
// a range, the command makes a hundred runs, each with a time from the range.
func Command(f *check.Finding) string {
	var version string
	if f.Kubernetes != "" && f.Kubernetes != profile.Newest().Version {
		version = " --kubernetes " + f.Kubernetes
	}
	file := simulate.Quote(f.File)
	if f.File == "stdin" { // where - stands for it
		file = "-"
	}
	if f.Witness != "" {
		check := "probesim check " + file + version
		if f.Delays != "" {
			check += " --delays " + f.Delays
		}
		return check + " --witness witnesses; probesim run witnesses --run " + simulate.Quote(f.Witness)
	}
	if f.ID == check.VersionsDiffer { // about rows without a witness
		return ""
	}
	words := []string{"probesim run", file}
	for _, app := range f.App {
		words = append(words, "--app", simulate.Quote(app))
	}
	if slices.ContainsFunc(f.App, func(app string) bool { return strings.Contains(app, "..") }) {
		words = append(words, "--seed 1..100")
	}
	return strings.Join(words, " ") + version
}
