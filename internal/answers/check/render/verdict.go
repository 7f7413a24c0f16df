package render

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/report"
)

// Counts says how many findings a report has, and how many requirements are not met.
func Counts(v *check.Verdict) string {
	var parts []string
	add := func(n int, word string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, printable.Plural(n, word)))
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
		parts = append(parts, fmt.Sprintf("%d %s not checked", v.NotChecked,
			printable.Plural(v.NotChecked, "workload")))
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
	if len(r.Workloads) == 1 {
		return r.Workloads[0].Title() + ": " + Counts(v)
	}
	return fmt.Sprintf("%d %s, %d %s: %s", v.Workloads, printable.Plural(v.Workloads, "workload"), v.Containers,
		printable.Plural(v.Containers, "container"), Counts(v))
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
	text := []string{fmt.Sprintf("%d %s %s no readiness probe%s: %s pods are Ready as soon as %s%s. %s", n,
		printable.Plural(n, "workload"), have, outside, their, run, and, few(v.NoReadiness, 5))}
	without := slices.Clone(v.NoReadiness)
	without = slices.DeleteFunc(without, func(name string) bool { return !slices.Contains(v.NoProbes, name) })
	others := slices.DeleteFunc(slices.Clone(v.NoReadiness),
		func(name string) bool { return slices.Contains(v.NoProbes, name) })
	switch len(without) {
	case 0:
	case n:
		text = append(text, map[bool]string{true: "Its containers have no probes at all (no-probes).",
			false: "Their containers have no probes at all (no-probes)."}[n == 1])
	case 1:
		text = append(text, "One of them has no probes at all (no-probes): "+without[0])
	default:
		names := few(without, 5)
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

// few lists some names, and says how many more there are.
func few(names []string, most int) string {
	if more := len(names) - most; more > 1 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// where returns the place of a group: that of its first container.
func where(g *check.Group) string {
	return fmt.Sprintf("%s:%d", g.Containers[0].File, g.Containers[0].Line)
}

// worthFirst is how many changes the verdict names in full.
const worthFirst = 3

// verdict writes the block at the top.
func (t *writer) verdict() {
	nodes := fmt.Sprintf("Kubernetes %s, %s nodes", strings.Join(t.r.Kubernetes, ", "), t.r.Delays)
	t.Item(report.Cell{Text: Headline(t.r), Style: report.Bold}, "", nodes)
	for _, line := range Unready(t.r) {
		t.Line(0, line, report.Plain)
	}
	for _, line := range Measured(t.r) {
		t.Line(0, line, report.Plain)
	}
	if names := passedOver(t.r); len(names) > 0 {
		t.Line(0, "--start, --stop and --require without a name are not about sidecars: "+few(names, 5), report.Dim)
	}
	if len(t.r.Workloads) == 1 {
		t.one(&t.r.Workloads[0])
		return
	}
	for _, w := range t.r.Workloads {
		if w.Problem != "" {
			t.Line(0, w.Title()+" was not checked: "+w.Problem, report.Bad)
		}
	}
	for _, m := range Missed(t.r) {
		t.Item(report.Cell{Text: "FAIL  " + m.Name + "  ", Style: report.Bad}, m.Text, "")
	}
	for _, f := range notSimulated(t.r) {
		t.Line(0, "not simulated: "+f.Name+" ("+f.Text+")", report.Dim)
	}
	changes := Changes(t.r)
	if len(changes) > 0 {
		t.Gap()
		t.Line(0, "Worth changing first", report.Bold)
	}
	for i, c := range changes {
		t.Item(report.Cell{Text: fmt.Sprintf("%d. ", i+1), Style: severityStyle[c.Severity]}, c.Containers+": "+
			c.Summary, c.Where)
		if c.Fix != "" {
			t.Line(3, c.Fix, report.Dim)
		}
	}
	_, others := worth(t.r)
	t.others(others)
}

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
		list[i].Text = few(names[list[i].Name], 3)
	}
	return list
}

// others writes a line for each severity and kind of the findings that are left.
func (t *writer) others(list []check.Group) {
	if len(list) > 0 {
		t.Gap()
		t.Line(0, "Also", report.Bold)
	}
	for len(list) > 0 {
		g := list[0]
		alike := func(o check.Group) bool { return o.ID == g.ID && o.Severity == g.Severity }
		var names []string
		clause, several := g.Summary, false
		for _, o := range list {
			if alike(o) {
				names = append(names, o.Names()...)
				several = several || o.Summary != clause
			}
		}
		list = slices.DeleteFunc(list, alike)
		slices.Sort(names)
		names = slices.Compact(names)
		text := few(names, 3) + ": " + clause
		if several {
			text = few(names, 5)
		}
		t.Item(report.Cell{Text: fmt.Sprintf("%-7s  %-18s  ", g.Severity, g.ID), Style: severityStyle[g.Severity]},
			text, "")
	}
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
		text := few(names[k], 5)
		if k.reason != "" {
			text = k.reason + ": " + text
		}
		list = append(list, Fact{k.requirement, text})
	}
	return list
}

// Changes returns what is most worth changing in all workloads: the containers, what happens to
// them, the place of the first one, and the change.
func Changes(r *check.Report) (list []Change) {
	first, _ := worth(r)
	for _, g := range first {
		list = append(list, Change{few(g.Names(), 4), g.Summary, where(&g), g.Fix, g.Severity})
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

// Change is a change that is worth making.
type Change struct {
	Containers, Summary, Where, Fix string
	Severity                        check.Severity
}

// one writes the findings and the requirements of the only workload.
func (t *writer) one(w *check.Workload) {
	if w.Problem != "" {
		t.Line(0, "not checked: "+w.Problem, report.Bad)
	}
	if len(w.NotSimulated) > 0 {
		t.Line(0, "not simulated: "+strings.Join(w.NotSimulated, ", "), report.Dim)
	}
	for _, g := range t.r.Verdict.Findings {
		head := fmt.Sprintf("%-7s  %s", g.Severity, g.ID)
		if len(w.Containers) > 1 {
			var names []string
			for _, p := range g.Containers {
				names = append(names, p.Container)
			}
			head += "  " + few(names, 4)
		}
		t.finding(head, g.Finding)
	}
	for _, v := range w.Requirements {
		WriteRequirement(&t.Writer, &v)
	}
	var fine []string
	for _, c := range w.Containers {
		if len(c.Findings) == 0 && c.HasProbes() && !t.shown(w, &c) {
			fine = append(fine, c.Name)
		}
	}
	if len(fine) > 0 {
		t.Line(0, "ok       "+strings.Join(fine, ", "), report.Good)
	}
	if len(w.WithoutProbes) > 0 && len(t.r.Verdict.NoProbes) == 0 && !has(w, check.NoProbes) {
		t.Line(0, "Without probes: "+strings.Join(w.WithoutProbes, ", "), report.Plain)
	}
}

// more says which flags show more.
func (t *writer) more(hidden bool) {
	var parts []string
	if hidden {
		parts = append(parts, "--details for all tables")
	}
	if len(t.r.Verdict.Findings) > 0 {
		parts = append(parts, "--explain ID for a finding")
	}
	if len(parts) > 0 {
		t.Gap()
		t.Line(0, "More: "+strings.Join(append(parts, "-o html for a page"), ", "), report.Dim)
	}
}
