package diff

import (
	"fmt"
	"strings"
	"time"

	"probesim.dev/trace"
)

// Measure is what a run comes to in one respect, for a pod or one of its containers.
type Measure struct {
	Pod, Container string
	What           string
	Value          string
}

// Measures returns what a run comes to, pod by pod in the order in which they came: when it became Ready first, how long it
// was not Ready since, restarts of containers, runs of probes, and how all ended.
func (r Run) Measures() []Measure {
	var all []Measure
	tallies := r.tallies()
	for _, t := range tallies {
		all = append(all, t.measures(r.End)...)
	}
	return all
}

// tally is what is counted of a pod.
type tally struct {
	pod     string
	status  *trace.PodStatus
	first   time.Duration // Ready; never if it was not
	since   time.Duration // the last change of Ready
	unready time.Duration
	lost    int // how often it stopped being Ready
	removed time.Duration

	containers []*containerTally
}

type containerTally struct {
	name     string
	restarts int
	stops    int
	exit     string
	probes   map[trace.Probe]*probeTally
}

type probeTally struct{ runs, failures int }

const never = time.Duration(-1 << 63)

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
	case trace.PodRemoved:
		t.removed = r.T
	case trace.StatusPatched:
		t.turn(r.Status.Ready, r.T)
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
		t.container(r.Container).addProbe(r)
	}
}

// turn notes that the pod is Ready or not from now on.
func (t *tally) turn(ready bool, now time.Duration) {
	was := t.status != nil && t.status.Ready
	switch {
	case ready && t.first == never:
		t.first = now
	case ready && !was:
		t.unready += now - t.since
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
	c := &containerTally{name: name, exit: "none", probes: map[trace.Probe]*probeTally{}}
	t.containers = append(t.containers, c)
	return c
}

func (c *containerTally) addProbe(r *trace.Record) {
	p := c.probes[r.Probe]
	if p == nil {
		p = &probeTally{}
		c.probes[r.Probe] = p
	}
	p.runs++
	if r.Result == trace.Failure || r.Result == trace.Error {
		p.failures++
	}
}

func (t *tally) measures(end time.Duration) []Measure {
	if t.removed != never {
		end = t.removed
	}
	unready, ready := t.unready, t.status != nil && t.status.Ready
	if t.first != never && !ready {
		unready += max(0, end-t.since)
	}
	list := []Measure{
		{What: "first Ready", Value: moment(t.first)},
		{What: "not Ready since then", Value: trace.FormatTime(unready)},
		{What: "times that Ready was lost", Value: fmt.Sprint(t.lost)},
		{What: "removed", Value: moment(t.removed)},
	}
	if t.status != nil {
		list = append(list, Measure{What: "phase in the end", Value: strings.TrimSpace(t.status.Phase + " " + t.status.Reason)})
	}
	for _, c := range t.containers {
		list = append(list, Measure{Container: c.name, What: "restarts", Value: fmt.Sprint(c.restarts)},
			Measure{Container: c.name, What: "stops by the kubelet", Value: fmt.Sprint(c.stops)},
			Measure{Container: c.name, What: "last exit", Value: c.exit})
		for _, kind := range []trace.Probe{trace.Startup, trace.Liveness, trace.Readiness} {
			if p := c.probes[kind]; p != nil {
				list = append(list, Measure{Container: c.name, What: string(kind) + " probes", Value: fmt.Sprintf("%d, %d failed", p.runs, p.failures)})
			}
		}
	}
	for i := range list {
		list[i].Pod = t.pod
	}
	return list
}

func moment(t time.Duration) string {
	if t == never {
		return "never"
	}
	return trace.FormatTime(t)
}

// Row is one respect in which runs were measured, with what each came to.
type Row struct {
	Pod, Container string
	What           string
	Values         []string // by run; empty where there was nothing to measure
}

// Changed returns the respects in which runs come to something else, in the order of the first run that has them.
func Changed(runs ...Run) []Row {
	var rows []*Row
	index := map[Measure]*Row{}
	for i, r := range runs {
		for _, m := range r.Measures() {
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
		for _, v := range row.Values {
			if v != row.Values[0] {
				changed = append(changed, *row)
				break
			}
		}
	}
	return changed
}
