package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
)

// measured is a container with what its pods show.
type measured struct {
	name   string
	probed bool
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
			all = append(all, measured{name, c.HasProbes(), c.Measured})
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

// overview says what is measured of the containers of several workloads.
func overview(all []measured) (lines []string) {
	pods, starts, containers := 0, 0, 0
	var closest *measured
	var killed, reasons []string
	unknown := map[string][]string{}
	slices.SortStableFunc(all, func(a, b measured) int {
		return cmp.Or(cmp.Compare(b.Kills, a.Kills), cmp.Compare(b.Restarts, a.Restarts))
	})
	for i := range all {
		m := &all[i]
		if m.Start != nil {
			containers++
			starts, pods = starts+m.Starts, pods+m.Pods
		}
		if m.Start != nil && m.Margin != nil && (closest == nil || *m.Margin < *closest.Margin) {
			closest = m
		}
		if m.Unknown != "" && m.probed {
			if unknown[m.Unknown] == nil {
				reasons = append(reasons, m.Unknown)
			}
			unknown[m.Unknown] = append(unknown[m.Unknown], m.name)
		}
		if m.Kills > 0 {
			killed = append(killed, fmt.Sprintf("%s (%d by probes)", m.name, m.Kills))
		} else if m.Restarts > 0 {
			killed = append(killed, fmt.Sprintf("%s (%d)", m.name, m.Restarts))
		}
	}
	if containers > 0 {
		text := fmt.Sprintf("Starts of %s are measured in %d pods.", printable.Count(containers, "container"), pods)
		if closest != nil {
			text += " The closest call: " + closest.name + ", " + closest.ClosestCall() + "."
		}
		lines = append(lines, text)
	}
	for _, because := range reasons {
		lines = append(lines, "Not measured ("+because+"): "+printable.Some(unknown[because], 5))
	}
	if len(killed) > 0 {
		lines = append(lines, "Restarts: "+printable.Some(killed, 5))
	}
	return lines
}
