package diff

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/show/history"
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

// measures summarizes a run, pod by pod in the order of their first records: when the pod first
// became Ready and for how long it was not Ready afterwards, the restarts and exits of its
// containers, and their numbers of probes.
func (r Run) measures() []measure {
	var all []measure
	for _, p := range history.Read(r.Records, r.End).Pods {
		add := func(container, what, value string) { all = append(all, measure{p.Name, container, what, value}) }
		first, unready, lost := readiness(p, r.End)
		add("", "first Ready", moment(first))
		add("", "not Ready afterwards", trace.FormatTime(virtual.At(unready)))
		add("", "lost Ready (times)", fmt.Sprint(lost))
		add("", "removed", moment(p.Removed))
		if s := p.Status; s != nil {
			add("", "final phase", strings.TrimSpace(s.Phase+" "+s.Reason))
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
			add(c.Name, "restarts", fmt.Sprint(restarts))
			add(c.Name, "stops by the kubelet", fmt.Sprint(stops))
			add(c.Name, "last exit", exit)
			for _, kind := range trace.ProbeTypes {
				if n := len(c.Probes[kind]); n > 0 {
					add(c.Name, string(kind)+" probes", fmt.Sprintf("%d, %d failed", n, failures(c.Probes[kind])))
				}
			}
		}
	}
	return append(all, objectMeasures(r)...)
}

// readiness returns when a pod first became Ready, how long it was not Ready afterwards, and how
// often it stopped being Ready.
func readiness(p *history.Pod, end virtual.Time) (first virtual.Time, unready time.Duration, lost int) {
	end = min(end, p.Removed)
	first = history.Forever
	for i, f := range p.Ready {
		switch {
		case f.On:
			first = min(first, f.At)
		case first != history.Forever:
			lost++
			until := end
			if i+1 < len(p.Ready) {
				until = p.Ready[i+1].At
			}
			unready += max(0, until.Sub(f.At))
		}
	}
	return first, unready, lost
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

// objectMeasures summarizes Deployments and Services.
func objectMeasures(r Run) []measure {
	var list []measure
	for _, n := range trace.NumbersOfObjects(r.Records, r.End) {
		if n.IsService() {
			list = append(list, measure{Pod: n.Name, What: "lost requests", Value: fmt.Sprintf("%.1f", n.Lost)})
			continue
		}
		took, fewest := "not complete", "never complete"
		if n.Complete {
			took = trace.FormatTime(virtual.At(n.Took))
		}
		if n.Fewest >= 0 {
			fewest = fmt.Sprint(n.Fewest)
		}
		list = append(list, measure{Pod: n.Name, What: "rollout took", Value: took},
			measure{Pod: n.Name, What: "fewest Ready", Value: fewest})
	}
	return list
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
	var changed []Row
	for _, row := range rows {
		if slices.ContainsFunc(row.Values, func(v string) bool { return v != row.Values[0] }) {
			changed = append(changed, *row)
		}
	}
	return changed
}
