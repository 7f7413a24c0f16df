package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/history"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// maxPods is the maximum number of pods for which a timeline has a lane for each probe. With more
// pods, each pod has one lane.
const maxPods = 8

// maxLanes is the maximum number of pods in a timeline.
const maxLanes = 60

// Timeline draws the run as lanes over virtual time: Ready for each pod, and for each container its
// instances and a mark for each probe run. It compresses long stretches without changes if that
// makes the rest more detailed, and marks them on the axis. Pods whose lanes look the same, such as
// replicas, share them.
func Timeline(w io.Writer, run *Run, o document.Options) error {
	h := run.Drawn()
	lanes := lanesOf(h)
	to := run.To
	if to == 0 {
		to = h.End
	}
	if len(h.Pods) > maxPods {
		lanes = append(lanes, lane{label: Plural(len(h.Pods), "pod")}) // the label of a group of pods
	}
	d := &drawing{o: o, g: glyphsOf(o), gutter: gutter(lanes, o.Columns()), drawn: map[cell]bool{}}
	d.scale = newScale(run.From, to, o.Columns()-d.gutter-1, h.Changes)
	for _, l := range nodeLanes(h) {
		d.lane(l, l.draw(d))
	}
	d.pods(h)
	if len(lanes) == 0 {
		fmt.Fprintln(&d.body, "  "+o.Paint(dim, "no pod was added during the run"))
	}
	return d.write(w)
}

// lane is a line of the timeline.
type lane struct {
	label string
	style document.Style
	draw  func(*drawing) row
}

type drawing struct {
	o      document.Options
	g      *glyphs
	scale  *scale
	gutter int
	body   strings.Builder
	drawn  map[cell]bool // cells for the legend to explain
}

func gutter(lanes []lane, width int) int {
	n := 0
	for _, l := range lanes {
		n = max(n, len(l.label))
	}
	return min(n, max(width/4, 13)) + 2 // 13: "    readiness"
}

func (d *drawing) lane(l lane, r row) {
	for _, c := range r {
		d.drawn[c] = true
	}
	label := shorten(l.label, d.gutter-2, d.g.ellipsis)
	fmt.Fprintln(&d.body, strings.TrimRight(d.o.Paint(l.style, label)+strings.Repeat(" ", d.gutter-len([]rune(label)))+
		r.render(d.o), " "))
}

func (d *drawing) write(w io.Writer) error {
	labels, line := d.scale.axis(d.o, d.o.Columns()-d.gutter)
	margin := strings.Repeat(" ", d.gutter)
	legend := d.legend()
	if legend != "" {
		legend = "\n" + legend
	}
	_, err := fmt.Fprintf(&printable.Writer{To: w, Color: d.o.Color}, "%s%s\n%s%s\n%s%s", margin, labels.render(d.o),
		margin, line.render(d.o), d.body.String(), legend)
	return err
}

// pods draws the lanes of the pods. Pods whose lanes look the same share them.
func (d *drawing) pods(h *history.History) {
	if len(h.Pods) > maxPods {
		d.compact(h)
		return
	}
	for _, g := range d.groupAlike(h.Pods, func(p *history.Pod) []lane { return podLanes(h, p) }) {
		if len(g.pods) > 1 {
			g.rows[0] = markLane(d, actions(g.pods[0]))
			g.lanes[0].label = g.name()
			if g.rows[0].all(0, len(g.rows[0]), 0) { // there is room for long names
				for _, line := range document.Wrap(g.lanes[0].label, d.o.Columns(), 20) {
					fmt.Fprintln(&d.body, d.o.Paint(bold, line))
				}
				g.lanes, g.rows = g.lanes[1:], g.rows[1:]
			}
		}
		for i, l := range g.lanes {
			d.lane(l, g.rows[i])
		}
	}
}

func lanesOf(h *history.History) []lane {
	all := nodeLanes(h)
	for _, p := range h.Pods {
		if len(h.Pods) > maxPods {
			all = append(all, compactLane(h, p))
		} else {
			all = append(all, podLanes(h, p)...)
		}
	}
	return all
}

func nodeLanes(h *history.History) []lane {
	var all []lane
	if len(h.Marks) > 0 {
		all = append(all, lane{label: "node", style: bold, draw: func(d *drawing) row { return markLane(d, h.Marks) }})
	}
	if len(h.Kubelet) > 0 {
		all = append(all, condition("kubelet", h.Kubelet, h.End))
	}
	return append(all, objectLanes(h)...)
}

func condition(label string, flips []history.Flip, end virtual.Time, unknown ...history.Span) lane {
	return lane{label: label, draw: func(d *drawing) row {
		r := conditionLane(d.scale, d.g, flips, end)
		r.hatch(d.scale, d.g, unknown)
		return r
	}}
}

// readyLane draws Ready of a pod, or says why it is unknown.
func readyLane(h *history.History, p *history.Pod, d *drawing) row {
	if len(p.Ready) > 0 || len(p.Unknown) > 0 {
		r := conditionLane(d.scale, d.g, p.Ready, min(h.End, p.Removed))
		r.hatch(d.scale, d.g, p.Unknown)
		return r
	}
	r, why := make(row, d.o.Columns()-d.gutter), "no status during the run"
	if len(p.Containers) == 0 {
		why = "no container started during the run"
	}
	r.text(max(0, min(d.scale.column(p.Added), len(r)-len(why))), why, dim)
	return r
}

func podName(p *history.Pod) string { return printable.Text(trace.PodName(p.Name)) }

func podLanes(h *history.History, p *history.Pod) []lane {
	end := min(h.End, p.Removed)
	lanes := []lane{
		{label: podName(p), style: bold, draw: func(d *drawing) row { return markLane(d, p.Marks) }},
		{label: "  Ready", draw: func(d *drawing) row { return readyLane(h, p, d) }},
	}
	lanes = appendActions(lanes, "  volumes", p.Waits, end)
	for _, c := range p.Containers {
		lanes = append(lanes, lane{label: "  " + printable.Text(c.Name), style: bold, draw: func(d *drawing) row {
			return lifeLane(d.scale, d.g, c, p, h.End)
		}})
		lanes = appendActions(lanes, "    pull", c.Pulls, end)
		lanes = appendActions(lanes, "    hooks", c.Hooks, end)
		if len(c.Probes[trace.Startup]) > 0 {
			lanes = append(lanes, condition("    Started", c.Started, end, c.Unknown[history.LaneStarted]...))
		}
		if len(p.Containers) > 1 && len(c.Probes[trace.Readiness]) > 0 {
			lanes = append(lanes, condition("    Ready", c.Ready, end, c.Unknown[history.LaneReady]...))
		}
		for _, probe := range trace.ProbeTypes {
			if runs := c.Probes[probe]; len(runs) > 0 {
				lanes = append(lanes, lane{label: "    " + string(probe), draw: func(d *drawing) row {
					return probeLane(d.scale, d.g, runs, c.Unknown[string(probe)])
				}})
			}
		}
	}
	return lanes
}

// appendActions appends a lane of actions, unless all are short.
func appendActions(lanes []lane, label string, actions []history.Action, end virtual.Time) []lane {
	if !history.Lasts(actions, end) {
		return lanes
	}
	return append(lanes, lane{label: label, draw: func(d *drawing) row {
		return actionLane(d.scale, d.g, actions, end)
	}})
}

// markLane draws actions from outside, such as steps of the scenario.
func markLane(d *drawing, marks []history.Mark) row {
	r := make(row, d.o.Columns()-d.gutter) // texts may extend beyond the end of the run
	texts := map[int]string{}              // text of the first mark in each column
	var columns []int
	for _, m := range marks {
		if m.At < d.scale.from() || m.At > d.scale.until() {
			continue
		}
		i := d.scale.column(m.At)
		r.set(i, d.g.mark, warn)
		if texts[i] == "" {
			texts[i] = m.What
			columns = append(columns, i)
		}
	}
	for _, i := range columns {
		what := texts[i]
		for _, at := range []int{i + 2, i - 1 - len(what)} {
			if end := at + len(what); end <= len(r) && r.all(at-1, min(end+1, len(r)), 0) {
				r.text(at, what, dim)
				break
			}
		}
	}
	return r
}

// compactLane returns the only lane of a pod: Ready, with the exits of its containers.
func compactLane(h *history.History, p *history.Pod) lane {
	return lane{label: podName(p), draw: func(d *drawing) row {
		r := readyLane(h, p, d)
		for _, c := range p.Containers {
			r.exits(d.scale, d.g, c.Runs)
		}
		return r
	}}
}

// compact draws one lane for each pod, or for several pods that look the same.
func (d *drawing) compact(h *history.History) {
	left := len(h.Pods)
	for i, g := range d.groupAlike(h.Pods, func(p *history.Pod) []lane { return []lane{compactLane(h, p)} }) {
		if i == maxLanes {
			d.lane(lane{label: fmt.Sprintf("%d more", left), style: dim}, nil)
			return
		}
		left -= len(g.pods)
		if g.lanes[0].label = g.name(); utf8.RuneCountInString(g.lanes[0].label) > d.gutter-2 {
			g.lanes[0].label = Plural(len(g.pods), "pod")
		}
		d.lane(g.lanes[0], g.rows[0])
	}
}
