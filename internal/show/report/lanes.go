package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/history"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Lane is a line of a timeline: states during spans, and marks of records. The text draws it in
// characters. A page has it as JSON for its script.
//
// Its kind is node, kubelet, object (the name of a Deployment or Service), set (the Ready pods of
// one of several ReplicaSets), wanted (those of a Deployment), level, lost, pod, ready, life, rule
// (of the behavior of a container), condition or probe.
type Lane struct {
	Label  string   `json:"label"`
	Of     string   `json:"of"`   // subject
	Kind   string   `json:"kind"` // see below
	Depth  int      `json:"depth"`
	Pod    int      `json:"pod"` // number of the pod; -1 for the node
	Bars   []Bar    `json:"bars,omitempty"`
	Labels []string `json:"labels,omitempty"` // of the marks, if any

	Records []*trace.Record    `json:"-"` // of the marks
	Marks   []history.Mark     `json:"-"` // actions from outside
	Actions []history.Action   `json:"-"`
	History *history.Container `json:"-"` // of a life
	Wanted  []history.Level    `json:"-"` // of a level: less is a warning
	Empty   string             `json:"-"` // why there are no bars
	From    virtual.Time       `json:"-"` // where that stands
}

// Bar is a state during a span.
type Bar struct {
	From  virtual.Time `json:"from"`
	To    virtual.Time `json:"to"`
	State string       `json:"state"`
	Text  string       `json:"text,omitempty"`
	Step  int64        `json:"step,omitempty"` // of the record that started it, or 0
	Part  float64      `json:"part,omitempty"` // height of a level, as a part of the lane

	Record *trace.Record `json:"-"`
	Value  int           `json:"-"` // of a level, or of lost requests a second
}

// Lanes returns the lanes of the node, of Deployments and of Services: how many pods are Ready, are
// endpoints and get requests, and how many requests are lost.
func Lanes(h *history.History) []*Lane {
	var all []*Lane
	if len(h.Marks) > 0 {
		all = append(all, markLane("node", "node", -1, h.Marks))
	}
	if len(h.Kubelet) > 0 {
		l := &Lane{Label: "kubelet", Of: "node", Kind: "kubelet", Pod: -1}
		all = append(all, l.condition(h.Kubelet, h.End, nil))
	}
	for _, w := range h.Workloads {
		name := printable.Text(trace.PodName(w.Name))
		all = append(all, &Lane{Label: name, Of: "Deployment " + name, Kind: "object", Pod: -1})
		ready := levelLane(readyLabel(w), name, w.Ready, 1, h.End)
		ready.Kind, ready.Wanted = "wanted", w.Desired
		for _, s := range w.ReplicaSets {
			if len(w.ReplicaSets) > 1 {
				set := levelLane(printable.Text(trace.PodName(s.Name)), name, s.Ready, greatest(w.Ready), h.End)
				set.Kind = "set"
				all = append(all, set)
			}
		}
		all = append(all, ready)
	}
	for _, s := range h.Services {
		name := printable.Text(trace.PodName(s.Name))
		all = append(all, &Lane{Label: "service " + name, Of: "Service " + name, Kind: "object", Pod: -1},
			levelLane("endpoints", name, s.Endpoints, 1, h.End))
		for _, r := range s.Routers {
			all = append(all, levelLane(printable.Text(r.Name), name, r.Targets, 1, h.End))
			if len(r.Losses) > 0 {
				all = append(all, lossLane(r, name))
			}
		}
	}
	return all
}

// readyLabel is the label of the lane of the Ready pods of a Deployment, with the number at the end
// and the wanted number.
func readyLabel(w *history.Workload) string {
	if len(w.Ready) == 0 || len(w.Desired) == 0 {
		return "Ready"
	}
	return fmt.Sprintf("Ready %d/%d", w.Ready[len(w.Ready)-1].Value, w.Desired[len(w.Desired)-1].Value)
}

// levelLane shows a number as the height of a bar, in relation to the greatest number of the lane
// or of another one.
func levelLane(label, of string, levels []history.Level, most int, end virtual.Time) *Lane {
	l := &Lane{Label: label, Of: of, Kind: "level", Depth: 1, Pod: -1}
	most = max(most, greatest(levels))
	for i, v := range levels {
		to := end
		if i+1 < len(levels) {
			to = levels[i+1].At
		}
		if to > v.At {
			l.Bars = append(l.Bars, Bar{From: v.At, To: to, State: "level", Text: strconv.Itoa(v.Value), Value: v.Value,
				Part: float64(v.Value) / float64(most), Record: v.Record})
		}
	}
	return l
}

func greatest(levels []history.Level) (most int) {
	for _, v := range levels {
		most = max(most, v.Value)
	}
	return most
}

// lossLane shows how many requests a second are lost, and marks of those that are lost at once.
// Losses of several pods at one time share a bar.
func lossLane(r *history.Router, of string) *Lane {
	l := &Lane{Label: fmt.Sprintf("lost %.0f", r.Lost()), Of: of, Kind: "lost", Depth: 1, Pod: -1}
	var edges []virtual.Time
	for _, loss := range r.Losses {
		if edges = append(edges, loss.From, loss.To); loss.From == loss.To {
			l.Records = append(l.Records, loss.Record)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	most := 0.0
	for i := range len(edges) - 1 {
		b := Bar{From: edges[i], To: edges[i+1], State: "lost"}
		for _, loss := range r.Losses {
			if loss.From <= b.From && loss.To >= b.To {
				b.Part, b.Record = b.Part+loss.Rate, loss.Record
			}
		}
		if b.Part > 0 {
			b.Text, b.Value, most = fmt.Sprintf("%.0f/s", b.Part), int(math.Round(b.Part)), max(most, b.Part)
			l.Bars = append(l.Bars, b)
		}
	}
	for i := range l.Bars {
		l.Bars[i].Part /= most
	}
	return l
}

// PodLanes returns the lanes of a pod, numbered, in a run that ends at end. The first one has its
// name and the actions on it, and the second one Ready.
func PodLanes(p *history.Pod, number int, end virtual.Time) []*Lane {
	name := podName(p)
	end = min(end, p.Removed)
	lanes := []*Lane{markLane(name, "pod", number, p.Marks), readyLane(p, number, end)}
	lanes = appendActions(lanes, &Lane{Label: "volumes", Of: name, Depth: 1, Pod: number}, p.Waits, end)
	for _, c := range p.Containers {
		lanes = append(lanes, containerLanes(c, p, number, end)...)
	}
	return lanes
}

func podName(p *history.Pod) string { return printable.Text(trace.PodName(p.Name)) }

// readyLane shows Ready of a pod, or says why it is unknown.
func readyLane(p *history.Pod, number int, end virtual.Time) *Lane {
	l := &Lane{Label: "Ready", Of: podName(p), Kind: "ready", Depth: 1, Pod: number, From: p.Added}
	switch {
	case len(p.Ready) > 0 || len(p.Unknown) > 0:
	case len(p.Containers) == 0:
		l.Empty = "no container started during the run"
	default:
		l.Empty = "no status during the run"
	}
	return l.condition(p.Ready, end, p.Unknown)
}

func containerLanes(c *history.Container, p *history.Pod, number int, end virtual.Time) []*Lane {
	name := printable.Text(c.Name)
	of := podName(p) + "/" + name
	lane := func(label, kind string) *Lane {
		return &Lane{Label: label, Of: of, Kind: kind, Depth: 2, Pod: number}
	}
	life := lane(name, "life")
	life.Depth = 1
	lanes := []*Lane{life.life(c, p, end)}
	var last *Lane
	for i, w := range c.Windows {
		if i == 0 || w.Rule != c.Windows[i-1].Rule {
			last = lane(w.Name, "rule")
			lanes = append(lanes, last)
		}
		last.Bars = append(last.Bars, Bar{From: w.From, To: w.To, State: "window", Text: w.Says})
	}
	lanes = appendActions(lanes, lane("pull", ""), c.Pulls, end)
	lanes = appendActions(lanes, lane("hooks", ""), c.Hooks, end)
	if len(c.Probes[trace.Startup]) > 0 {
		lanes = append(lanes, lane("Started", "condition").condition(c.Started, end, c.Unknown[history.LaneStarted]))
	}
	if len(p.Containers) > 1 && len(c.Probes[trace.Readiness]) > 0 {
		lanes = append(lanes, lane("Ready", "condition").condition(c.Ready, end, c.Unknown[history.LaneReady]))
	}
	for _, probe := range trace.ProbeTypes {
		if runs := c.Probes[probe]; len(runs) > 0 {
			l := lane(string(probe), "probe")
			l.Records = runs
			lanes = append(lanes, l.hatch(c.Unknown[string(probe)]))
		}
	}
	return lanes
}

// markLane shows actions from outside, such as steps of the scenario.
func markLane(name, kind string, pod int, marks []history.Mark) *Lane {
	l := &Lane{Label: name, Of: name, Kind: kind, Pod: pod, Marks: marks}
	for _, m := range marks {
		l.Records = append(l.Records, m.Record)
		l.Labels = append(l.Labels, m.What)
	}
	return l
}

// condition shows a condition from its first known value to end.
func (l *Lane) condition(flips []history.Flip, end virtual.Time, unknown []history.Span) *Lane {
	for i, f := range flips {
		to := end
		if i+1 < len(flips) {
			to = min(end, flips[i+1].At)
		}
		state := "no"
		if f.On {
			state = "yes"
		}
		if to > f.At {
			l.Bars = append(l.Bars, Bar{From: f.At, To: to, State: state, Record: f.Record})
		}
		if f.Record != nil {
			l.Records = append(l.Records, f.Record)
		}
	}
	return l.hatch(unknown)
}

// life shows the life of a container: waiting, running, stop pending, stopping and exits.
func (l *Lane) life(c *history.Container, p *history.Pod, end virtual.Time) *Lane {
	l.History = c
	for _, s := range c.Life(p, end) {
		text := printable.Text(s.Reason)
		if s.State == history.Running {
			text = "#" + strconv.Itoa(s.Number)
		}
		l.Bars = append(l.Bars, Bar{From: s.From, To: s.To, State: s.State, Text: text, Record: s.Record})
	}
	for i := range c.Runs {
		l.Records = append(l.Records, c.Runs[i].Records...)
	}
	return l.hatch(c.Unknown[history.LaneLife])
}

// appendActions appends a lane of actions, if there are any: a bar for each, and a mark at its end.
func appendActions(lanes []*Lane, l *Lane, actions []history.Action, end virtual.Time) []*Lane {
	if len(actions) == 0 {
		return lanes
	}
	l.Kind, l.Actions = "condition", actions
	for i := range actions {
		a := &actions[i]
		l.Bars = append(l.Bars, Bar{From: a.From, To: a.Until(end), State: "busy", Text: a.What, Record: a.Record()})
		if a.End != nil {
			l.Records = append(l.Records, a.End)
		}
	}
	return append(lanes, l)
}

// hatch adds bars for the time about which a recording tells nothing.
func (l *Lane) hatch(spans []history.Span) *Lane {
	for _, s := range spans {
		l.Bars = append(l.Bars, Bar{From: s.From, To: s.To, State: "unknown"})
	}
	return l
}

// lasts reports whether a lane of actions has one that takes a second or longer.
func (l *Lane) lasts(end virtual.Time) bool { return l.Actions == nil || history.Lasts(l.Actions, end) }

// exits returns the exits of all containers of a pod.
func exits(p *history.Pod) (all []history.Instance) {
	for _, c := range p.Containers {
		all = slices.Concat(all, c.Runs)
	}
	return all
}
