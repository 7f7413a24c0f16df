package render

import (
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/plan"
)

// Command returns the command that shows the run behind a finding, or an empty string if nothing
// shows it. Where a time is a range, the command makes a hundred runs, each with a time from the
// range.
func Command(f *check.Finding) string {
	if len(f.Versions) > 0 {
		var commands []string
		for _, v := range f.Versions {
			words := "probesim check " + path(f.File) + " --kubernetes " + v + delays(f.Delays, typical)
			if f.Start != "" {
				words += " --start " + f.Start
			}
			commands = append(commands, words)
		}
		return strings.Join(commands, "; ")
	}
	if f.Witness != "" {
		return WitnessCommand(f.File, f.Kubernetes, f.Delays, f.Witness)
	}
	words := []string{"probesim run", path(f.File)}
	for _, app := range f.App {
		words = append(words, "--app", simulate.Quote(app))
	}
	if slices.ContainsFunc(f.App, func(app string) bool { return strings.Contains(app, "..") }) {
		words = append(words, "--seed 1..100")
	}
	return strings.Join(words, " ") + version(f.Kubernetes) + delays(f.Delays, fixed)
}

// RequirementCommand returns the command that shows why a requirement is not met, or an empty
// string if no run shows it.
func RequirementCommand(v *check.Verification) string {
	if v.Witness == "" {
		return ""
	}
	return WitnessCommand(v.File, v.Kubernetes, v.Delays, v.Witness)
}

// WitnessCommand returns the commands that find a run which shows a row of a file, and run it. An
// empty version is the newest.
func WitnessCommand(file, kubernetes, nodes, row string) string {
	return "probesim check " + path(file) + version(kubernetes) + delays(nodes, typical) +
		" --witness witnesses --row " + simulate.Quote(row) + "; probesim run witnesses"
}

// path returns a file as a command takes it.
func path(file string) string {
	if file == plan.Stdin {
		return "-"
	}
	return simulate.Quote(file)
}

// The nodes that 'probesim check' and 'probesim run' take without --delays.
const (
	typical = "typical"
	fixed   = "default"
)

// delays returns the flag for nodes, or nothing for those that a command takes anyway.
func delays(nodes, anyway string) string {
	if nodes == "" || nodes == anyway {
		return ""
	}
	return " --delays " + nodes
}

// version returns the flag for a version of Kubernetes, or nothing for the newest one.
func version(kubernetes string) string {
	if kubernetes == "" || kubernetes == profile.Newest().Version {
		return ""
	}
	return " --kubernetes " + kubernetes
}
