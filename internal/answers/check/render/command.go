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
	if f.NoRun {
		return ""
	}
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
	seeds := slices.ContainsFunc(f.App, func(app string) bool { return strings.Contains(app, "..") })
	return runCommand(f.File, f.App, seeds, f.Kubernetes, f.Delays)
}

// RequirementCommand returns the command with runs that show why a requirement is not met, or an
// empty string if it is met or no run shows it.
func RequirementCommand(v *check.Verification) string {
	if v.Met || v.Value == nil {
		return ""
	}
	return runCommand(v.File, v.App, true, v.Kubernetes, v.Delays)
}

// runCommand returns the command that runs a file with what happens to its programs.
func runCommand(file string, apps []string, seeds bool, kubernetes, nodes string) string {
	words := []string{"probesim run", path(file)}
	for _, app := range apps {
		words = append(words, "--app", simulate.Quote(app))
	}
	if seeds {
		words = append(words, "--seed 1..100")
	}
	return strings.Join(words, " ") + version(kubernetes) + delays(nodes, fixed)
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
