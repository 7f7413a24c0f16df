package diff

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/show/history"
	"probesim.dev/internal/show/summary"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// measure is one number or fact that summarizes a run, about a pod or one of its containers.
type measure struct {
	Pod       string // namespace/name, or an object such as "Deployment default/web"
	Container string // empty if the measure is about the pod
	What      string // label for people, for example "restarts"
	Value     string
}

// measures summarizes a run, pod by pod in the order of their first records: its numbers, the exits
// of its containers, and their numbers of probes.
func (r Run) measures() (all []measure) {
	add := func(pod, container, what, value string) { all = append(all, measure{pod, container, what, value}) }
	list := summary.Measure(r.Records, r.End)
	numbers := func(of string) {
		i := slices.IndexFunc(list, func(p summary.Pod) bool { return p.Name == of })
		for k, v := range list[i].Values() {
			if kind := summary.Kinds[k]; v != nil && kind.Key != "restarts" { // its containers have them
				add(of, "", kind.Label, kind.Text(*v))
			}
		}
	}
	for _, p := range history.Read(r.Records, r.End).Pods {
		numbers(p.Name)
		lost := 0
		for i, f := range p.Ready {
			if i > 0 && !f.On {
				lost++
			}
		}
		add(p.Name, "", "lost Ready (times)", fmt.Sprint(lost))
		add(p.Name, "", "removed", moment(p.Removed))
		if s := p.Status; s != nil {
			add(p.Name, "", "final phase", strings.TrimSpace(s.Phase+" "+s.Reason))
		}
		for _, c := range p.Containers {
			if len(c.Runs) == 0 {
				continue
			}
			restarts, stops, exit := 0, 0, "none"
			for i := range c.Runs {
				run := &c.Runs[i]
				if run.Number > 0 {
					restarts++
				}
				if run.Stopping != history.Forever {
					stops++
				}
				if run.Exited != history.Forever {
					exit = fmt.Sprintf("%s, code %d", trace.FormatTime(run.Exited), run.Code)
				}
			}
			add(p.Name, c.Name, "restarts", fmt.Sprint(restarts))
			add(p.Name, c.Name, "stops by the kubelet", fmt.Sprint(stops))
			add(p.Name, c.Name, "last exit", exit)
			for _, kind := range trace.ProbeTypes {
				if n := len(c.Probes[kind]); n > 0 {
					add(p.Name, c.Name, string(kind)+" probes",
						fmt.Sprintf("%d, %d failed", n, failures(c.Probes[kind])))
				}
			}
		}
	}
	for _, p := range list {
		if p.Object != nil {
			numbers(p.Name)
		}
	}
	return all
}

// failures returns the number of probe runs that failed or ended with an error.
func failures(runs []*trace.Record) (n int) {
	for _, r := range runs {
		if r.Result == trace.Failure || r.Result == trace.Error {
			n++
		}
	}
	return n
}

func moment(t virtual.Time) string {
	if t == history.Forever {
		return "never"
	}
	return trace.FormatTime(t)
}

// Row compares one measure over several runs.
type Row struct {
	Pod       string   `json:"pod"`
	Container string   `json:"container,omitempty"`
	What      string   `json:"what"`
	Values    []string `json:"values"` // one for each run; empty if the run does not have the measure
}

// Changed returns the measures that differ between runs, in the order in which the runs list them.
func Changed(runs ...Run) []Row {
	var rows []*Row
	index := map[measure]*Row{}
	for i, r := range runs {
		for _, m := range r.measures() {
			key := m
			key.Value = ""
			row := index[key]
			if row == nil {
				row = &Row{m.Pod, m.Container, m.What, make([]string, len(runs))}
				index[key] = row
				rows = append(rows, row)
			}
			row.Values[i] = m.Value
		}
	}
	changed := []Row{}
	for _, row := range rows {
		if slices.ContainsFunc(row.Values, func(v string) bool { return v != row.Values[0] }) {
			changed = append(changed, *row)
		}
	}
	return changed
}
