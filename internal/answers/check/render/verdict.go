package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
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

// probesMissing says that a workload has no readiness or liveness probe.
func probesMissing(w *check.Workload) (list []string) {
	if w.NoReadiness && !saysUnready(w) {
		list = append(list, unreadyWorkload(w))
	}
	if len(w.NoLiveness) > 0 {
		list = append(list, fmt.Sprintf("Nothing restarts %s in a hang: there is no liveness probe.",
			printable.And(w.NoLiveness)))
	}
	return list
}

// Unready says which workloads have no readiness probe, in sentences, or returns nothing. Of one
// workload, it also says which containers have no liveness probe.
func Unready(r *check.Report) []string {
	without, n := r.Verdict.NoProbes, len(r.Verdict.NoReadiness)
	if len(r.Workloads) == 1 {
		return probesMissing(&r.Workloads[0])
	} else if n == 0 {
		return nil
	}
	sidecars := slices.ContainsFunc(r.Workloads,
		func(w check.Workload) bool { return w.NoReadiness && hasReadySidecar(&w) })
	text := []string{fmt.Sprintf("%s %s no readiness probe%s: pods get traffic whether they can serve or not. %s",
		printable.Count(n, "workload"), map[bool]string{true: "has", false: "have"}[n == 1],
		map[bool]string{true: " outside sidecars"}[sidecars], printable.Some(r.Verdict.NoReadiness, 5))}
	if len(without) == n {
		text = append(text, "Without any probe (no-probes): all of these")
	} else if len(without) > 0 {
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

// measured is a container with what its pods show.
type measured struct {
	name string
	*check.Measured
}

// Measured says what the pods of the workloads show: how long starts took, which one was closest to
// a kill, and how often probes killed programs. It returns nothing if nothing is measured.
func Measured(r *check.Report) (lines []string) {
	var all []measured
	for i := range r.Workloads {
		w := &r.Workloads[i]
		for k := range w.Containers {
			c := &w.Containers[k]
			if c.Measured == nil {
				continue
			}
			name := w.Name
			switch {
			case len(r.Workloads) == 1:
				name = c.Name
			case len(w.Containers) > 1:
				name += "/" + c.Name
			}
			all = append(all, measured{name, c.Measured})
		}
	}
	if len(r.Workloads) == 1 {
		for _, m := range all {
			if text := m.sentence(); text != "" {
				lines = append(lines, text)
			}
		}
		return lines
	}
	return overview(all)
}

// sentence says what is measured of a container.
func (m *measured) sentence() string {
	var parts []string
	if m.Start != nil {
		text := fmt.Sprintf("%s: starts measured in %s: %s", m.name, printable.Count(m.Pods, "pod"), m.Start)
		switch {
		case !m.Used:
			text += " (not used: --start or an annotation says how long they take)"
		case m.Older:
			text += " (of an older revision; of the newest, none is: " + m.Unknown + ")"
		}
		parts = append(parts, text)
	} else if m.Unknown != "" {
		parts = append(parts, "no start is measured: "+m.Unknown)
	}
	if m.Stop != nil {
		parts = append(parts, "stops measured: "+m.Stop.String())
	}
	if call := m.ClosestCall(); call != "" {
		parts = append(parts, call)
	}
	if text := m.killed(); text != "" {
		parts = append(parts, text)
	}
	if len(parts) > 0 && m.Start == nil {
		parts[0] = m.name + ": " + parts[0]
	}
	return strings.Join(parts, "; ")
}

// killed says how often the probes killed the container, or how often it started again for a reason
// that no event tells.
func (m *measured) killed() string {
	times := func(n int) string { return printable.Count(n, "time") }
	switch {
	case m.Kills > 0 && m.Restarts > m.Kills:
		return "its probes have killed it " + times(m.Kills) + ", and it restarted " + times(m.Restarts)
	case m.Kills > 0:
		return "its probes have killed it " + times(m.Kills)
	case m.Restarts > 0:
		return "it restarted " + times(m.Restarts)
	}
	return ""
}

// mostMeasured is of how many containers of several workloads the verdict has what is measured.
const mostMeasured = 3

// overview says in how many pods the containers of several workloads are measured, and what of
// those that their probes have killed most often, or else came closest to it.
func overview(all []measured) (lines []string) {
	margin := func(m measured) value.Seconds {
		if m.Margin == nil || m.Start == nil {
			return value.Seconds(value.Never)
		}
		return *m.Margin
	}
	slices.SortStableFunc(all, func(a, b measured) int {
		return cmp.Or(cmp.Compare(b.Kills, a.Kills), cmp.Compare(b.Restarts, a.Restarts),
			cmp.Compare(margin(a), margin(b)))
	})
	containers, pods := 0, 0
	for i, m := range all {
		if m.Start != nil {
			containers, pods = containers+1, pods+m.Pods
		}
		if text := m.sentence(); text != "" && i < mostMeasured {
			lines = append(lines, text)
		}
	}
	if containers > len(lines) {
		text := fmt.Sprintf("Starts of %s are measured in %d pods.", printable.Count(containers, "container"), pods)
		lines = append([]string{text}, lines...)
	}
	return lines
}

// youSay is the head of the column with the known starts of a container, or empty.
func youSay(c *check.Container) string {
	if c.Start == nil {
		return ""
	}
	if c.Measured != nil && c.Measured.Used {
		return "measured"
	}
	return "you say"
}

// Fact is something about a container that has no range.
type Fact struct{ Name, Text string }

// NotAbout says of a sidecar that the command line without its name is not about it, if it says
// something. Otherwise, it returns an empty string.
func NotAbout(r *check.Report, w *check.Workload, c *check.Container) string {
	passedOver := r.Start != nil && c.Start == nil || r.Stop != nil && c.Stop == nil ||
		slices.ContainsFunc(w.Requirements, func(v check.Verification) bool {
			return !slices.Contains(v.Containers, c.Name) && !strings.Contains(v.Requirement, "/")
		})
	if c.Sidecar == "" || !passedOver {
		return ""
	}
	return fmt.Sprintf("A sidecar (%s): --start, --stop and --require without a name are not about it.", c.Sidecar)
}

// Facts returns what happens to a container after the deletion of its pod and if it never comes up,
// when it exits, and the share of the known starts that come up.
func Facts(c *check.Container) []Fact {
	var list []Fact
	if d := c.Deleted; d != nil && d.Condition == "" {
		list = append(list, Fact{"deleted -> SIGTERM, SIGKILL", check.FormatUp(d.SIGTERM) + ", " +
			check.FormatUp(d.SIGKILL)})
	} else if d != nil {
		list = append(list, Fact{"deleted -> SIGTERM", "from " + check.FormatUp(d.SIGTERM) + ", " + d.Condition},
			Fact{"deleted -> SIGKILL", check.FormatUp(d.SIGKILL)})
	}
	if c.Kill != nil {
		list = append(list, Fact{"stuck start: killed at the earliest after", c.Kill.String()})
	}
	if text := starts(c.Restarts); text != "" {
		list = append(list, Fact{"stuck start: starts at", text})
	}
	if c.Deleted != nil && c.Deleted.Exit != nil {
		list = append(list, Fact{fmt.Sprintf("deleted -> exit (stop of %s)", c.Stop),
			check.FormatDown(c.Deleted.Exit.Min) + " - " +
				check.FormatUp(c.Deleted.Exit.Max)})
	}
	if c.StartShare != nil {
		list = append(list, Fact{fmt.Sprintf("starts of %s that come up", c.Start), check.Percent(*c.StartShare)})
	}
	return list
}

// starts formats the starts of a container that never comes up: the first ones, and the distance
// between the last ones.
func starts(times []value.Seconds) string {
	const shown = 3
	var texts []string
	for _, s := range times[:min(shown, len(times))] {
		texts = append(texts, check.Clock(s))
	}
	text := strings.Join(texts, " ")
	if len(times) <= shown+2 {
		return text
	}
	var distances []value.Seconds
	for i := len(times) - 3; i < len(times); i++ {
		distances = append(distances, times[i]-times[i-1])
	}
	least, greatest := check.Clock(slices.Min(distances)), check.Clock(slices.Max(distances))
	if text += " … every " + least; least != greatest {
		text += " to " + greatest
	}
	return text
}

// best describes the best value of a time. It is empty if there is none, because the worst value
// says so.
func best(t *check.Time) string {
	if t.Best.IsNever() {
		return ""
	}
	return check.FormatDown(t.Best)
}

// Requirement describes the result for a requirement in one line.
func Requirement(v *check.Verification) string {
	if v.Value == nil {
		return v.Requirement + ": " + v.Reason
	}
	text := v.Requirement + ": " + v.Row.Format(*v.Value) + " in container " + v.Container
	if v.Case != "" {
		text += ", " + v.Case
	}
	return text + " (" + v.Kubernetes + ")"
}

// Margin describes how far a value is from its requirement, or returns an empty string if that has
// no meaning.
func Margin(v *check.Verification) string {
	switch {
	case v.Margin == nil:
		return ""
	case *v.Margin < 0:
		return check.FormatUp(-*v.Margin) + " short of it"
	}
	return "margin " + check.FormatDown(*v.Margin)
}
