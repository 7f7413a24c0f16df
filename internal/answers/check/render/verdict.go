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

// Unready says which workloads are Ready as soon as they run, in sentences, or returns nothing.
func Unready(r *check.Report) []string {
	v := &r.Verdict
	n := len(v.NoReadiness)
	switch {
	case n == 0:
		return nil
	case len(r.Workloads) == 1 && saysUnready(&r.Workloads[0]):
		return nil
	case len(r.Workloads) == 1:
		return []string{unreadyWorkload(&r.Workloads[0], len(v.NoProbes) == 1)}
	}
	their, have := "their", "have"
	if n == 1 {
		their, have = "its", "has"
	}
	outside, and := "", ""
	if slices.ContainsFunc(r.Workloads, func(w check.Workload) bool { return w.NoReadiness && hasReadySidecar(&w) }) {
		outside, and = " outside sidecars", " and the sidecars are Ready"
	}
	startup := 0
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.NoReadiness && waitsForStartup(w) {
			startup++
		}
	}
	run := "they run"
	switch {
	case startup == n:
		run = "their startup probes succeed"
	case startup > 0:
		run = fmt.Sprintf("they run (%d: as soon as their startup probes succeed)", startup)
	}
	text := []string{fmt.Sprintf("%s %s no readiness probe%s: %s pods are Ready as soon as %s%s. %s",
		printable.Count(n, "workload"), have, outside, their, run, and, printable.Some(v.NoReadiness, 5))}
	without := v.NoProbes
	others := slices.DeleteFunc(slices.Clone(v.NoReadiness),
		func(name string) bool { return slices.Contains(without, name) })
	switch len(without) {
	case 0:
	case n:
		text = append(text, map[bool]string{true: "Its containers have no probes at all (no-probes).",
			false: "Their containers have no probes at all (no-probes)."}[n == 1])
	case 1:
		text = append(text, "One of them has no probes at all (no-probes): "+without[0])
	default:
		names := printable.Some(without, 5)
		if len(others) < len(without) && len(others) <= 5 {
			names = "all but " + strings.Join(others, ", ")
		}
		text = append(text, fmt.Sprintf("%d of them have no probes at all (no-probes): %s", len(without), names))
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

// unreadyWorkload says that the pods of a workload are Ready although the program need not be up,
// in a sentence.
func unreadyWorkload(w *check.Workload, noProbes bool) string {
	who, what, when := "No container has", "a readiness probe", "it runs"
	if noProbes {
		what = "probes"
	}
	if waitsForStartup(w) {
		when = "its startup probe succeeds"
	}
	if hasReadySidecar(w) {
		who, when = "Except sidecars, no container has", "its sidecars are"
	}
	return fmt.Sprintf("%s %s: the pod is Ready as soon as %s.", who, what, when)
}

// waitsForStartup reports whether an ordinary container has a startup probe.
func waitsForStartup(w *check.Workload) bool {
	return slices.ContainsFunc(w.Containers,
		func(c check.Container) bool { return c.Sidecar == "" && hasProbe(&c, "startup") })
}

// hasReadySidecar reports whether a sidecar has a readiness probe.
func hasReadySidecar(w *check.Workload) bool {
	return slices.ContainsFunc(w.Containers, func(c check.Container) bool {
		return c.Sidecar != "" && hasProbe(&c, "readiness")
	})
}

func hasProbe(c *check.Container, kind string) bool {
	return slices.ContainsFunc(c.Probes, func(p check.Probe) bool { return p.Type == kind })
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
