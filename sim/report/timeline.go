package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"probesim.dev/sim/trace"
)

// maxPods is the number of pods up to which a timeline has a lane for each probe. With more of them
// each pod has one lane.
const maxPods = 8

// maxLanes is the number of pods that a timeline shows at all.
const maxLanes = 60

// Timeline writes the run as lanes over virtual time: for each pod when it is Ready, for each container its
// instances and a mark for each probe run. Long stretches without news are squeezed where that shows more
// of the rest; the axis says so.
func Timeline(w io.Writer, run *Run, o Options) error {
	h := read(run.Records, run.Until)
	lanes := h.lanes()
	if o.To == 0 {
		o.To = h.end
	}
	d := &drawing{o: o, g: o.glyphs(), gutter: gutter(lanes, o.width()), drawn: map[cell]bool{}}
	d.scale = newScale(o.From, o.To, o.width()-d.gutter-1, h.changes)
	for _, l := range lanes {
		d.lane(l, l.draw(d))
	}
	if len(lanes) == 0 {
		fmt.Fprintln(&d.body, "  "+o.paint(dim, "no pod came within the run"))
	}
	return d.write(w)
}

// lane is a line of the timeline before it has a width.
type lane struct {
	label string
	style style
	draw  func(*drawing) row
}

type drawing struct {
	o      Options
	g      *glyphs
	scale  *scale
	gutter int
	body   strings.Builder
	drawn  map[cell]bool // what the legend has to explain
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
	label := d.o.shorten(l.label, d.gutter-2)
	fmt.Fprintln(&d.body, strings.TrimRight(d.o.paint(l.style, label)+strings.Repeat(" ", d.gutter-len([]rune(label)))+r.render(d.o), " "))
}

func (d *drawing) write(w io.Writer) error {
	labels, line := d.scale.axis(d.o, d.o.width()-d.gutter)
	margin := strings.Repeat(" ", d.gutter)
	legend := d.legend()
	if legend != "" {
		legend = "\n" + legend
	}
	_, err := fmt.Fprintf(w, "%s%s\n%s%s\n%s%s", margin, labels.render(d.o), margin, line.render(d.o), d.body.String(), legend)
	return err
}

func (h *history) lanes() []lane {
	var all []lane
	if len(h.marks) > 0 {
		all = append(all, lane{label: "node", style: bold, draw: func(d *drawing) row { return markLane(d, h.marks) }})
	}
	if len(h.kubelet) > 0 {
		all = append(all, h.condition("kubelet", h.kubelet, h.end))
	}
	if len(h.pods) > maxPods {
		return append(all, h.compact()...)
	}
	for _, p := range h.pods {
		all = append(all, h.podLanes(p)...)
	}
	return all
}

func (h *history) condition(label string, flips []flip, end time.Duration) lane {
	return lane{label: label, draw: func(d *drawing) row { return conditionLane(d.scale, d.g, flips, end) }}
}

// readyLane draws whether a pod is Ready, or says why that is not known.
func (h *history) readyLane(p *podHistory, d *drawing) row {
	if len(p.ready) > 0 {
		return conditionLane(d.scale, d.g, p.ready, min(h.end, p.removed))
	}
	r, why := make(row, d.o.width()-d.gutter), "no status within the run"
	if len(p.containers) == 0 {
		why = "nothing started within the run"
	}
	r.text(max(0, min(d.scale.column(p.added), len(r)-len(why))), why, dim)
	return r
}

func (h *history) podLanes(p *podHistory) []lane {
	end := min(h.end, p.removed)
	lanes := []lane{
		{label: p.name, style: bold, draw: func(d *drawing) row { return markLane(d, p.marks) }},
		{label: "  Ready", draw: func(d *drawing) row { return h.readyLane(p, d) }},
	}
	for _, c := range p.containers {
		lanes = append(lanes, lane{label: "  " + trace.Clean(c.name), style: bold, draw: func(d *drawing) row {
			return lifeLane(d.scale, d.g, c, p, h.end)
		}})
		if len(c.probes[trace.Startup]) > 0 {
			lanes = append(lanes, h.condition("    Started", c.started, end))
		}
		if len(p.containers) > 1 && len(c.probes[trace.Readiness]) > 0 {
			lanes = append(lanes, h.condition("    Ready", c.ready, end))
		}
		for _, probe := range []trace.Probe{trace.Startup, trace.Liveness, trace.Readiness} {
			if shots := c.probes[probe]; len(shots) > 0 {
				lanes = append(lanes, lane{label: "    " + string(probe), draw: func(d *drawing) row { return probeLane(d.scale, d.g, shots) }})
			}
		}
	}
	return lanes
}

// markLane points out what was done from outside.
func markLane(d *drawing, marks []mark) row {
	r := make(row, d.o.width()-d.gutter) // a text may reach beyond the end of the run
	texts := map[int]string{}            // of the marks, by column
	var columns []int
	for _, m := range marks {
		if m.at < d.scale.from() || m.at > d.scale.until() {
			continue
		}
		i := d.scale.column(m.at)
		r.set(i, d.g.mark, warn)
		if texts[i] == "" {
			texts[i] = m.what
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

// compact has one lane a pod: Ready, with the exits of its containers.
func (h *history) compact() []lane {
	var lanes []lane
	for i, p := range h.pods {
		if i == maxLanes {
			lanes = append(lanes, lane{label: fmt.Sprintf("%d more", len(h.pods)-i), style: dim, draw: func(*drawing) row { return nil }})
			break
		}
		lanes = append(lanes, lane{label: p.name, draw: func(d *drawing) row {
			r := h.readyLane(p, d)
			for _, c := range p.containers {
				r.exits(d.scale, d.g, c.runs)
			}
			return r
		}})
	}
	return lanes
}
