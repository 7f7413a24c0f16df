package report

import (
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/history"
	"probesim.dev/internal/show/summary"
	"probesim.dev/trace"
)

// ordinal splits the name of a replica, such as default/web-2, into the part that all replicas
// share and its number. For other names, it returns the name and -1.
func ordinal(pod string) (string, int64) {
	i := strings.LastIndexByte(pod, '-')
	if i < 0 || i+1 == len(pod) || strings.Trim(pod[i+1:], "0123456789") != "" {
		return pod, -1
	}
	n, err := strconv.ParseInt(pod[i+1:], 10, 64)
	if err != nil || pod[i+1:] != strconv.FormatInt(n, 10) {
		return pod, -1
	}
	return pod[:i+1], n
}

// namesOf formats the names of pods for display: "web-0..2" for replicas, "db, web-1" for others.
func namesOf(pods []string) string {
	var parts []string
	for i := 0; i < len(pods); {
		prefix, n := ordinal(pods[i])
		var replicas summary.Seeds
		for ; n >= 0 && i < len(pods); i++ {
			other, m := ordinal(pods[i])
			if other != prefix || m < 0 {
				break
			}
			replicas.Add(m)
		}
		if n < 0 {
			i++
		}
		name := trace.PodName(prefix)
		if n >= 0 {
			name += replicas.String()
		}
		parts = append(parts, printable.Text(name))
	}
	return strings.Join(parts, ", ")
}

// alike is a set of pods whose lanes look the same, and these lanes.
type alike struct {
	pods  []*history.Pod
	lanes []*Lane
	rows  []row
}

// groupAlike draws the lanes of each pod, and groups the pods whose lanes look the same. Pods may
// differ in when they were added.
func (d *drawing) groupAlike(pods []*history.Pod, lanes [][]*Lane) []*alike {
	var groups []*alike
	for i, p := range pods {
		g := &alike{pods: []*history.Pod{p}, lanes: lanes[i]}
		for _, l := range g.lanes {
			g.rows = append(g.rows, d.draw(l))
		}
		if len(g.lanes) == 1 {
			g.rows[0].exits(d.scale, d.g, exits(p))
		}
		if i := slices.IndexFunc(groups, func(other *alike) bool { return g.same(other) }); i >= 0 {
			groups[i].pods = append(groups[i].pods, p)
			continue
		}
		groups = append(groups, g)
	}
	return groups
}

func (g *alike) same(other *alike) bool {
	if len(g.lanes) != len(other.lanes) || !slices.EqualFunc(actions(g.pods[0]), actions(other.pods[0]),
		func(a, b history.Mark) bool { return a.At == b.At && a.What == b.What }) {
		return false
	}
	first := min(1, len(g.lanes)-1) // the first lane of several has the name and the marks of the pod
	for i := first; i < len(g.lanes); i++ {
		if first > 0 && g.lanes[i].Label != other.lanes[i].Label || !slices.Equal(g.rows[i], other.rows[i]) {
			return false
		}
	}
	return true
}

// actions returns the actions on a pod, without its addition.
func actions(p *history.Pod) []history.Mark {
	return slices.DeleteFunc(slices.Clone(p.Marks),
		func(m history.Mark) bool { return m.Record != nil && m.Record.Kind == trace.PodAdded })
}

// name returns the names of the pods for display.
func (g *alike) name() string {
	names := make([]string, len(g.pods))
	for i, p := range g.pods {
		names[i] = p.Name
	}
	return namesOf(names)
}
