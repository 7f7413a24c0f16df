package html

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/history"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// chart is the data of one run for the script of the page. Times are in nanoseconds.
type chart struct {
	From    virtual.Time `json:"from"`
	To      virtual.Time `json:"to"`
	Show    virtual.Time `json:"show,omitempty"` // the visible part begins here at first
	Open    bool         `json:"open"`           // whether pods start unfolded
	Texts   []string     `json:"texts"`          // texts of records, by number
	Records []point      `json:"records"`
	Lanes   []*lane      `json:"lanes"`
	Down    []span       `json:"down"`  // outages of the kubelet
	Flags   []flag       `json:"flags"` // failures of expectations
}

// point is a record: step, time, cause (a step, or 0 if unknown), duration, and the numbers of its
// texts: glyph, subject, title and message.
type point [8]int64

// lane is a line of the timeline. The first lane of a pod has its name. The user can fold the
// others.
type lane struct {
	Label  string   `json:"label"`
	Of     string   `json:"of"`   // subject
	Kind   string   `json:"kind"` // node, kubelet, object, level, pod, ready, life, condition, probe, events or exits
	Depth  int      `json:"depth"`
	Pod    int      `json:"pod"` // number of the pod; -1 for the node
	Bars   []bar    `json:"bars,omitempty"`
	Steps  []int64  `json:"steps,omitempty"`  // records of the marks
	Labels []string `json:"labels,omitempty"` // labels of the marks, if any
	Series []series `json:"series,omitempty"`

	records []*trace.Record // records of Steps
}

// span is a stretch of time.
type span struct {
	From virtual.Time `json:"from"`
	To   virtual.Time `json:"to"`
}

// bar is a state during a span. Step is the record that started it, or 0.
type bar struct {
	span
	State string `json:"state"`
	Text  string `json:"text,omitempty"`
	Step  int64  `json:"step,omitempty"`
	// Part is the height of a level, and Below where it begins, as parts of the lane.
	Part  float64 `json:"part,omitempty"`
	Below float64 `json:"below,omitempty"`

	record *trace.Record
}

// series stands for consecutive equal probe runs or events. The page contains only the first and
// the last. Last and Count are 0 if the lane ends before the series.
type series struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	Count int   `json:"count"`
}

// flag is a moment at which an expectation failed.
type flag struct {
	At   virtual.Time `json:"at"`
	Step int64        `json:"step"`
	Text string       `json:"text"`
}

// maxUnfolded is the maximum number of pods for which pods start unfolded.
const maxUnfolded = 8

// newChart returns the chart of a run, and notes about omitted records.
func newChart(run *report.Run) (*chart, []string) {
	h := run.Drawn()
	c := &chart{To: max(h.End, virtual.At(time.Millisecond)), Show: run.From, Open: len(h.Pods) <= maxUnfolded &&
		run.From == 0,
		// the script expects lists instead of null
		Records: []point{}, Lanes: []*lane{}, Down: []span{}, Flags: []flag{}}
	if len(run.Records) > 0 {
		c.From = min(c.From, run.Records[0].T)
	}
	c.node(h)
	c.objects(h)
	var pods [][]*lane
	for i, p := range h.Pods {
		pods = append(pods, podLanes(p, i, h.End))
	}
	notes := limit(pods, h.End, maxRecords)
	for _, lanes := range pods {
		c.Lanes = append(c.Lanes, lanes...)
	}
	c.flags(run.Expectations)
	c.gather(run.Records)
	return c, notes
}

func (c *chart) node(h *history.History) {
	if len(h.Marks) > 0 {
		c.Lanes = append(c.Lanes, markLane("node", "node", "node", -1, h.Marks))
	}
	if len(h.Kubelet) == 0 {
		return
	}
	l := conditionLane("kubelet", "node", "kubelet", -1, h.Kubelet, h.End)
	for i := range l.Bars {
		b := &l.Bars[i]
		if b.State = map[string]string{"yes": "up", "no": "down"}[b.State]; b.State == "down" {
			c.Down = append(c.Down, b.span)
		}
	}
	c.Lanes = append(c.Lanes, l)
}

// podLanes returns the lanes of a pod, numbered.
func podLanes(p *history.Pod, number int, end virtual.Time) []*lane {
	name := printable.Text(trace.PodName(p.Name))
	end = min(end, p.Removed)
	lanes := []*lane{
		markLane(name, name, "pod", number, p.Marks),
		conditionLane("Ready", name, "ready", number, p.Ready, end),
	}
	lanes[1].Depth = 1
	lanes[1].hatch(p.Unknown)
	if len(p.Waits) > 0 {
		lanes = append(lanes, actionLane("volumes", name, 1, number, p.Waits, end))
	}
	for _, c := range p.Containers {
		lanes = append(lanes, containerLanes(c, p, name, number, end)...)
	}
	if len(p.Events) > 0 {
		lanes = append(lanes, &lane{Label: "events", Of: name, Kind: "events", Depth: 1, Pod: number,
			records: p.Events})
	}
	return append(lanes, &lane{Label: name, Of: name, Kind: "exits", Pod: number, records: exits(p)})
}

// exits returns the exits of all containers, which a folded pod shows.
func exits(p *history.Pod) []*trace.Record {
	var list []*trace.Record
	for _, c := range p.Containers {
		for i := range c.Runs {
			if r := c.Runs[i].Record(trace.ContainerExited); r != nil {
				list = append(list, r)
			}
		}
	}
	slices.SortFunc(list, func(a, b *trace.Record) int { return cmp.Compare(a.Step, b.Step) })
	return list
}

func containerLanes(c *history.Container, p *history.Pod, pod string, number int, end virtual.Time) []*lane {
	name := printable.Text(c.Name)
	of := pod + "/" + name
	lanes := []*lane{lifeLane(c, p, name, of, number, end)}
	if len(c.Probes[trace.Startup]) > 0 {
		lanes = append(lanes, conditionLane("Started", of, "condition", number, c.Started, end).
			hatch(c.Unknown[history.LaneStarted]))
	}
	if len(p.Containers) > 1 && len(c.Probes[trace.Readiness]) > 0 {
		lanes = append(lanes, conditionLane("Ready", of, "condition", number, c.Ready, end).
			hatch(c.Unknown[history.LaneReady]))
	}
	if len(c.Pulls) > 0 {
		lanes = append(lanes, actionLane("pull", of, 2, number, c.Pulls, end))
	}
	if len(c.Hooks) > 0 {
		lanes = append(lanes, actionLane("hooks", of, 2, number, c.Hooks, end))
	}
	for _, probe := range trace.ProbeTypes {
		if runs := c.Probes[probe]; len(runs) > 0 {
			l := &lane{Label: string(probe), Of: of, Kind: "probe", Pod: number, records: runs}
			lanes = append(lanes, l.hatch(c.Unknown[string(probe)]))
		}
	}
	for _, l := range lanes[1:] {
		l.Depth = 2
	}
	return lanes
}

// markLane shows actions from outside.
func markLane(label, of, kind string, pod int, marks []history.Mark) *lane {
	l := &lane{Label: label, Of: of, Kind: kind, Pod: pod}
	for _, m := range marks {
		l.records = append(l.records, m.Record)
		l.Labels = append(l.Labels, m.What)
	}
	return l
}

func conditionLane(label, of, kind string, pod int, flips []history.Flip, end virtual.Time) *lane {
	l := &lane{Label: label, Of: of, Kind: kind, Pod: pod}
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
			l.Bars = append(l.Bars, bar{span: span{f.At, to}, State: state, record: f.Record})
		}
		if f.Record != nil {
			l.records = append(l.records, f.Record)
		}
	}
	return l
}

// lifeLane shows the life of a container: waiting, running, stop pending, stopping and exits.
func lifeLane(c *history.Container, p *history.Pod, name, of string, pod int, end virtual.Time) *lane {
	l := &lane{Label: name, Of: of, Kind: "life", Depth: 1, Pod: pod}
	for _, s := range c.Life(p, end) {
		text := printable.Text(s.Reason)
		if s.State == history.Running {
			text = "#" + strconv.Itoa(s.Number)
		}
		l.Bars = append(l.Bars, bar{span: span{s.From, s.To}, State: s.State, Text: text, record: s.Record})
	}
	for i := range c.Runs {
		l.records = append(l.records, c.Runs[i].Records...)
	}
	return l.hatch(c.Unknown[history.LaneLife])
}

// actionLane shows actions: a bar for each, and a mark at its end.
func actionLane(label, of string, depth, pod int, actions []history.Action, end virtual.Time) *lane {
	l := &lane{Label: label, Of: of, Kind: "condition", Depth: depth, Pod: pod}
	for i := range actions {
		a := &actions[i]
		l.Bars = append(l.Bars, bar{span: span{a.From, a.Until(end)}, State: "busy", Text: a.What, record: a.Record()})
		if a.End != nil {
			l.records = append(l.records, a.End)
		}
	}
	return l
}

// hatch adds bars for the time about which a recording tells nothing.
func (l *lane) hatch(spans []history.Span) *lane {
	for _, s := range spans {
		l.Bars = append(l.Bars, bar{span: span{s.From, s.To}, State: "unknown"})
	}
	return l
}

// flags adds a flag for each marked record of a failure.
func (c *chart) flags(expectations []report.Expectation) {
	for i := range expectations {
		e := &expectations[i]
		if e.Outcome != report.Failed {
			continue
		}
		for _, f := range e.Failures {
			for _, line := range f.Around {
				if line.Mark {
					c.Flags = append(c.Flags, flag{line.Record.T, line.Record.Step, printable.Text(e.Name)})
				}
			}
		}
	}
	slices.SortStableFunc(c.Flags, func(a, b flag) int { return cmp.Compare(a.At, b.At) })
}
