package diff

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	for _, t := range r.tallies() {
		all = append(all, t.measures(r.End)...)
	}
	return append(all, objectMeasures(r)...)
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

// tally counts what happens to a pod.
type tally struct {
	pod     string
	status  *trace.PodStatus
	first   virtual.Time // first became Ready, or never
	since   virtual.Time // last change of Ready
	unready time.Duration
	lost    int // number of times the pod stopped being Ready
	removed virtual.Time

	containers []*containerTally
}

type containerTally struct {
	name     string
	restarts int
	stops    int
	exit     string

	runs, failures map[trace.Probe]int
}

const never = virtual.Min

func (r Run) tallies() []*tally {
	var order []*tally
	byPod := map[string]*tally{}
	for i := range r.Records {
		rec := &r.Records[i]
		if rec.Pod == "" || !rec.Kind.Observable() {
			continue
		}
		t := byPod[rec.Pod]
		if t == nil {
			t = &tally{pod: rec.Pod, first: never, removed: never}
			byPod[rec.Pod] = t
			order = append(order, t)
		}
		t.add(rec)
	}
	return order
}

func (t *tally) add(r *trace.Record) {
	switch r.Kind {
	case trace.PodAdded:
		t.removed = never // a mirror pod comes again
	case trace.PodRemoved:
		t.removed = r.T
	case trace.StatusPatched:
		t.setReady(r.Status.Ready, r.T)
		t.status = r.Status
	case trace.ContainerStarted:
		if r.Instance > 0 {
			t.container(r.Container).restarts++
		}
	case trace.ContainerStopping:
		t.container(r.Container).stops++
	case trace.ContainerExited:
		t.container(r.Container).exit = fmt.Sprintf("%s, code %d", trace.FormatTime(r.T), r.ExitCode)
	case trace.ProbeExecuted:
		c := t.container(r.Container)
		c.runs[r.Probe]++
		if r.Result == trace.Failure || r.Result == trace.Error {
			c.failures[r.Probe]++
		}
	}
}

// setReady counts a status of the pod.
func (t *tally) setReady(ready bool, now virtual.Time) {
	was := t.status != nil && t.status.Ready
	switch {
	case ready && t.first == never:
		t.first = now
	case ready && !was:
		t.unready += now.Sub(t.since)
	case !ready && was:
		t.lost++
	}
	if ready != was {
		t.since = now
	}
}

func (t *tally) container(name string) *containerTally {
	for _, c := range t.containers {
		if c.name == name {
			return c
		}
	}
	c := &containerTally{name: name, exit: "none", runs: map[trace.Probe]int{}, failures: map[trace.Probe]int{}}
	t.containers = append(t.containers, c)
	return c
}

func (t *tally) measures(end virtual.Time) []measure {
	if t.removed != never {
		end = t.removed
	}
	unready, ready := t.unready, t.status != nil && t.status.Ready
	if t.first != never && !ready {
		unready += max(0, end.Sub(t.since))
	}
	list := []measure{
		{What: "first Ready", Value: moment(t.first)},
		{What: "not Ready afterwards", Value: trace.FormatTime(virtual.At(unready))},
		{What: "lost Ready (times)", Value: fmt.Sprint(t.lost)},
		{What: "removed", Value: moment(t.removed)},
	}
	if t.status != nil {
		list = append(list, measure{What: "final phase",
			Value: strings.TrimSpace(t.status.Phase + " " + t.status.Reason)})
	}
	for _, c := range t.containers {
		list = append(list, measure{Container: c.name, What: "restarts", Value: fmt.Sprint(c.restarts)},
			measure{Container: c.name, What: "stops by the kubelet", Value: fmt.Sprint(c.stops)},
			measure{Container: c.name, What: "last exit", Value: c.exit})
		for _, kind := range trace.ProbeTypes {
			if n := c.runs[kind]; n > 0 {
				list = append(list, measure{Container: c.name, What: string(kind) + " probes",
					Value: fmt.Sprintf("%d, %d failed", n, c.failures[kind])})
			}
		}
	}
	for i := range list {
		list[i].Pod = t.pod
	}
	return list
}

func moment(t virtual.Time) string {
	if t == never {
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
	var changed []Row
	for _, row := range rows {
		if slices.ContainsFunc(row.Values, func(v string) bool { return v != row.Values[0] }) {
			changed = append(changed, *row)
		}
	}
	return changed
}
