package render

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
)

// Counts says how many findings a report has, and how many requirements are not met.
func Counts(v *check.Verdict) string {
	var parts []string
	add := func(n int, word string) {
		if n > 0 {
			parts = append(parts, printable.Count(n, word))
		}
	}
	add(v.Errors, "error")
	add(v.Warnings, "warning")
	add(v.Notes, "note")
	if len(parts) == 0 {
		parts = append(parts, "no findings")
	}
	if v.NotMet > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d requirements not met", v.NotMet, v.Required))
	} else if v.Required > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d requirements met", v.Required, v.Required))
	}
	if v.NotChecked > 0 {
		parts = append(parts, fmt.Sprintf("%s not checked", printable.Count(v.NotChecked, "workload")))
	}
	if v.Ignored > 0 {
		parts = append(parts, fmt.Sprintf("%d ignored", v.Ignored))
	}
	if v.Known > 0 {
		parts = append(parts, fmt.Sprintf("%d known", v.Known))
	}
	return strings.Join(parts, ", ")
}

// Headline answers in one line.
func Headline(r *check.Report) string {
	v := &r.Verdict
	counts := Counts(v)
	if n := len(passedOver(r)); n > 0 {
		counts += ", " + printable.Count(n, "sidecar") + " left out"
	}
	if n := len(r.Excluded); n > 0 {
		counts += ", " + printable.Count(n, "file") + " excluded"
	}
	if len(r.Workloads) == 1 {
		return r.Workloads[0].Title() + ": " + counts
	}
	return fmt.Sprintf("%s, %s: %s", printable.Count(v.Workloads, "workload"),
		printable.Count(v.Containers, "container"), counts)
}

// Unready says which workloads have no readiness probe, in sentences, or returns nothing.
func Unready(r *check.Report) []string {
	without, n := r.Verdict.NoProbes, len(r.Verdict.NoReadiness)
	switch {
	case n == 0, len(r.Workloads) == 1 && saysUnready(&r.Workloads[0]):
		return nil
	case len(r.Workloads) == 1:
		return []string{unreadyWorkload(&r.Workloads[0])}
	}
	outside, have := "", "have"
	if slices.ContainsFunc(r.Workloads, func(w check.Workload) bool { return w.NoReadiness && hasReadySidecar(&w) }) {
		outside = " outside sidecars"
	}
	if n == 1 {
		have = "has"
	}
	text := []string{fmt.Sprintf("%s %s no readiness probe%s: pods get traffic whether they can serve or not. %s",
		printable.Count(n, "workload"), have, outside, printable.Some(r.Verdict.NoReadiness, 5))}
	switch len(without) {
	case 0:
	case n:
		text = append(text, "Without any probe (no-probes): all of these")
	default:
		text = append(text, "Without any probe (no-probes): "+printable.Some(without, 5))
	}
	return text
}

// saysUnready reports whether a finding says that the pods of a workload have no readiness probe.
func saysUnready(w *check.Workload) bool { return has(w, check.NoProbes) || has(w, check.NoReadiness) }

// has reports whether a container of a workload has a finding of a kind.
func has(w *check.Workload, id check.FindingID) bool {
	return slices.ContainsFunc(w.Containers, func(c check.Container) bool {
		return slices.ContainsFunc(c.Findings, func(f check.Finding) bool { return f.ID == id })
	})
}

// unreadyWorkload says that a workload has no readiness probe, in a sentence.
func unreadyWorkload(w *check.Workload) string {
	who := "No container has"
	if hasReadySidecar(w) {
		who = "Except sidecars, no container has"
	}
	return who + " a readiness probe: the pod gets traffic whether it can serve or not."
}

// hasReadySidecar reports whether a sidecar has a readiness probe.
func hasReadySidecar(w *check.Workload) bool {
	return slices.ContainsFunc(w.Containers, func(c check.Container) bool {
		return c.Sidecar != "" &&
			slices.ContainsFunc(c.Probes, func(p check.Probe) bool { return p.Type == "readiness" })
	})
}

// where returns the place of a group: that of its first container.
func where(g *check.Group) string {
	return fmt.Sprintf("%s:%d", g.Containers[0].File, g.Containers[0].Line)
}

// worthFirst is how many changes the verdict names in full.
const worthFirst = 3

// passedOver returns the sidecars that the command line without their name is not about, if it says
// something.
func passedOver(r *check.Report) (names []string) {
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for k := range w.Containers {
			c := &w.Containers[k]
			if NotAbout(r, w, c) == "" {
				continue
			}
			name := c.Name
			if len(r.Workloads) > 1 {
				name = w.Name + "/" + name
			}
			names = append(names, name)
		}
	}
	return names
}

// notSimulated returns what decides about pods and is not simulated, each with the workloads that
// have it.
func notSimulated(r *check.Report) (list []Fact) {
	names := map[string][]string{}
	for _, w := range r.Workloads {
		if len(w.NotSimulated) == 0 {
			continue
		}
		what := strings.Join(w.NotSimulated, ", ")
		if names[what] == nil {
			list = append(list, Fact{Name: what})
		}
		names[what] = append(names[what], w.Name)
	}
	for i := range list {
		list[i].Text = printable.Some(names[list[i].Name], 3)
	}
	return list
}

// Missed returns each requirement that some workloads do not meet, with these workloads, and each
// reason.
func Missed(r *check.Report) (list []Fact) {
	type key struct{ requirement, reason string }
	var order []key
	names := map[key][]string{}
	for _, w := range r.Workloads {
		for _, v := range w.Requirements {
			if v.Met {
				continue
			}
			k, name := key{v.Requirement, v.Reason}, w.Name
			if v.Value != nil {
				name += " (" + v.Row.Format(*v.Value) + ")"
			}
			if names[k] == nil {
				order = append(order, k)
			}
			names[k] = append(names[k], name)
		}
	}
	for _, k := range order {
		text := printable.Some(names[k], 5)
		if k.reason != "" {
			text = k.reason + ": " + text
		}
		list = append(list, Fact{k.requirement, text})
	}
	return list
}

// worth returns the groups of findings that the verdict names in full, and the others. The
// sentences of Unready say all about NoProbes.
func worth(r *check.Report) (first, others []check.Group) {
	v := r.Verdict
	v.Findings = slices.DeleteFunc(slices.Clone(v.Findings), func(g check.Group) bool { return g.ID == check.NoProbes })
	return v.First(worthFirst)
}
