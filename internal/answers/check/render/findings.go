package render

import (
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/findings"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/plan"
)

// The rules besides those of findings: requirements that are not met, annotations that differ from
// the command line, workloads without a readiness probe, and pod templates that are not checked.
const (
	readinessRule  = "readiness-missing"
	notCheckedRule = "not-checked"
)

// rules are the rules of Findings.
func rules() (list []findings.Rule) {
	for _, rule := range check.Rules() {
		list = append(list, findings.Rule{ID: string(rule.ID), Text: rule.Text, Help: rule.Kubelet + " " + rule.Do,
			Page: "docs/findings.html#" + string(rule.ID), Joined: rule.ID == check.NoProbes})
	}
	return append(list,
		findings.Unmet,
		findings.Rule{ID: readinessRule, Joined: true, Text: "No container of the workload has a readiness probe.",
			Help: "The pods are Ready as soon as they run, and get traffic before their program is up."},
		findings.Rule{ID: notCheckedRule, Text: "An object with a pod template is not checked.",
			Help: "Check the pods that it makes: kubectl get pods -o json | probesim check -"})
}

// Findings returns the findings, the requirements that are not met, and the workloads without a
// readiness probe. A test case fails because of a finding that is as bad as a severity, or because
// of a requirement. An empty severity lets no finding fail.
func Findings(r *check.Report, failOn check.Severity) *findings.List {
	list := &findings.List{Command: "probesim check", Rules: rules()}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		title := w.Title()
		own := findings.Case{Name: title, File: w.File, Line: w.Line, Problem: w.Problem}
		if w.NoReadiness && !saysUnready(w) {
			own.Add(readinessRule, findings.Note, unreadyWorkload(w), false)
		}
		if len(w.WithoutProbes) > 0 {
			own.Notes = append(own.Notes, "Without probes: "+strings.Join(w.WithoutProbes, ", "))
		}
		if len(w.NotSimulated) > 0 {
			own.Notes = append(own.Notes, "Not simulated: "+strings.Join(w.NotSimulated, ", "))
		}
		list.Cases = append(list.Cases, own)
		for k := range w.Containers {
			c := &w.Containers[k]
			if !c.HasProbes() && len(c.Findings)+len(c.Ignored)+len(c.Known) == 0 {
				continue
			}
			one := findings.Case{Name: title + ", container " + c.Name, File: w.File, Line: c.Line}
			for known, found := range [][]check.Finding{c.Findings, c.Ignored, c.Known} {
				for _, f := range found {
					one.Findings = append(one.Findings,
						findings.Finding{Rule: string(f.ID), Level: findings.Level(f.Severity), File: f.File,
							Line: f.Line, Column: f.Column,
							Title: one.Name + ": " + string(f.ID), Message: f.Text(),
							Command: Command(&f), Fails: failOn != "" && f.Severity.AtLeast(failOn),
							Known: []string{"", "ignored by an annotation or the configuration",
								"known in the baseline"}[known]})
				}
			}
			list.Cases = append(list.Cases, one)
		}
		Require(list, title, w.Requirements)
	}
	for i := range r.Others {
		o := &r.Others[i]
		if o.Template == "" {
			continue
		}
		c := findings.Case{Name: o.Kind + " " + o.Name, File: o.File, Line: o.Line, Skipped: NotChecked(o)}
		c.Add(notCheckedRule, findings.Warning, c.Skipped, false)
		list.Cases = append(list.Cases, c)
	}
	return list
}

// Require adds the cases of the requirements on a workload.
func Require(list *findings.List, title string, all []check.Verification) {
	for i := range all {
		v := &all[i]
		list.Require(findings.Finding{File: v.File, Line: v.Line, Column: v.Column, Title: title,
			Message: Requirement(v), Command: RequirementCommand(v)}, v.Requirement, v.Met)
	}
}

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
