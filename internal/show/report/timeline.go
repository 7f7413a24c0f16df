package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/history"
	"probesim.dev/sim/virtual"
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
	view := virtual.Span{From: run.From, To: cmp.Or(run.To, h.End)}
	lanes, many := Lanes(h), len(h.Pods) > maxPods
	ofPods := make([][]*Lane, len(h.Pods))
	for i, p := range h.Pods {
		if ofPods[i] = longLanes(h, p, view); many {
			ofPods[i] = []*Lane{compactLane(p, i, h.End)}
		}
		lanes = append(lanes, ofPods[i]...)
	}
	if many {
		lanes = append(lanes, &Lane{Label: Plural(len(h.Pods), "pod")}) // the label of a group of pods
	}
	d := &drawing{o: o, run: run, g: glyphsOf(o), gutter: gutter(lanes, o.Columns()), drawn: map[cell]bool{}}
	d.scale = newScale(view.From, view.To, o.Columns()-d.gutter-1, h.Changes)
	for _, l := range Lanes(h) {
		d.lane(l, d.draw(l))
	}
	d.pods(d.groupAlike(h.Pods, ofPods), many)
	if len(lanes) == 0 {
		fmt.Fprintln(&d.body, "  "+o.Paint(dim, "no pod was added during the run"))
	}
	return d.write(w)
}

type drawing struct {
	o      document.Options
	run    *Run
	g      *glyphs
	scale  *scale
	gutter int
	body   strings.Builder
	drawn  map[cell]bool // cells for the legend to explain
}

// label returns the label of a lane, with a margin, and its style.
func (l *Lane) label() (string, document.Style) {
	style := plain
	switch {
	case l.Kind == "node" || l.Kind == "pod" || l.Kind == "object" || l.Kind == "life":
		style = bold
	case l.Kind == "lost":
		style = bad
	}
	return strings.Repeat("  ", l.Depth) + l.Label, style
}

func gutter(lanes []*Lane, width int) int {
	n := 0
	for _, l := range lanes {
		label, _ := l.label()
		n = max(n, len(label))
	}
	return min(n, max(width/4, 13)) + 2 // 13: "    readiness"
}

func (d *drawing) lane(l *Lane, r row) {
	for _, c := range r {
		d.drawn[c] = true
	}
	label, style := l.label()
	label = Shorten(label, d.gutter-2, d.g.ellipsis)
	fmt.Fprintln(&d.body, strings.TrimRight(d.o.Paint(style, label)+strings.Repeat(" ", d.gutter-len([]rune(label)))+
		r.render(d.o), " "))
}

func (d *drawing) write(w io.Writer) error {
	labels, line := d.scale.axis(d.run, d.o, d.o.Columns()-d.gutter)
	margin := strings.Repeat(" ", d.gutter)
	legend := d.legend()
	if legend != "" {
		legend = "\n" + legend
	}
	_, err := fmt.Fprintf(&printable.Writer{To: w, Color: d.o.Color}, "%s%s\n%s%s\n%s%s", margin, labels.render(d.o),
		margin, line.render(d.o), d.body.String(), legend)
	return err
}

// pods draws the lanes of the pods, those that look the same once. Of many pods, each has one lane.
func (d *drawing) pods(groups []*alike, many bool) {
	for i, g := range groups {
		switch {
		case many && i == maxLanes:
			left := 0
			for _, other := range groups[i:] {
				left += len(other.pods)
			}
			d.lane(&Lane{Label: fmt.Sprintf("%d more", left)}, nil)
			return
		case many:
			if g.lanes[0].Label = g.name(); utf8.RuneCountInString(g.lanes[0].Label) > d.gutter-2 {
				g.lanes[0].Label = Plural(len(g.pods), "pod")
			}
		case len(g.pods) > 1:
			g.rows[0] = d.marks(actions(g.pods[0]))
			g.lanes[0].Label = g.name()
			if g.rows[0].all(0, len(g.rows[0]), 0) { // there is room for long names
				for _, line := range document.Wrap(g.lanes[0].Label, d.o.Columns(), 20) {
					fmt.Fprintln(&d.body, d.o.Paint(bold, line))
				}
				g.lanes, g.rows = g.lanes[1:], g.rows[1:]
			}
		}
		for k, l := range g.lanes {
			d.lane(l, g.rows[k])
		}
	}
}

// longLanes returns the lanes of a pod without those of actions that are all short, and of rules
// that are not open in the part of the run that is shown.
func longLanes(h *history.History, p *history.Pod, view virtual.Span) []*Lane {
	open := func(b Bar) bool { return b.From < view.To && b.To > view.From }
	return slices.DeleteFunc(PodLanes(p, 0, h.End), func(l *Lane) bool {
		return !l.lasts(min(h.End, p.Removed)) || l.Kind == "rule" && !slices.ContainsFunc(l.Bars, open)
	})
}

// marks draws actions from outside, such as steps of the scenario.
func (d *drawing) marks(marks []history.Mark) row {
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

// compactLane returns the only lane of a pod: Ready, to which its exits are added.
func compactLane(p *history.Pod, number int, end virtual.Time) *Lane {
	l := readyLane(p, number, min(end, p.Removed))
	l.Label, l.Depth = podName(p), 0
	return l
}
