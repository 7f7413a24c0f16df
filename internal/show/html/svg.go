package html

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
)

// look is how pictures look, which the script of a page has, too.
var look = func() (l struct {
	Heights map[string]float64
	Shapes  map[string]string
	Ranks   map[string]int
	Marks   [][2]string // the names of marks for the legend
	Bars    [][2]string // the names of states
	Ticks   []int64     // distances, in milliseconds
}) {
	if err := json.Unmarshal([]byte(asset("look.json")), &l); err != nil {
		panic(err) // the file is embedded
	}
	return l
}()

// Sizes of a picture.
const (
	pictureWidth = 960
	pictureTop   = 24 // the height of the axis
	rightMargin  = 30
)

const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%.0[2]f" viewBox="0 0 %[1]d %.0[2]f"
font-family="system-ui, sans-serif" font-size="12" role="img">
<title>%[3]s</title>
<style>%[4]s</style>
<rect width="100%%" height="100%%" style="fill: var(--paper)"/>
%[5]s</svg>
`

// picture draws the lanes of a run as a picture of its own, as its page shows them at first.
type picture struct {
	strings.Builder
	run      *report.Run
	chart    *chart
	from, to virtual.Time
	left     float64
	height   float64
	drawn    map[string]bool // marks and states for the legend
}

// SVG writes the timeline of a run as a picture for a document.
func SVG(w io.Writer, run *report.Run) error {
	c, _ := newChart(run, math.MaxInt) // what overlaps is left out
	p := &picture{run: run, chart: c, from: max(run.From, c.From), to: c.To, left: 60, drawn: map[string]bool{}}
	lanes := slices.DeleteFunc(c.Lanes, func(l *lane) bool {
		return l.Kind == "exits" || !c.Open && l.Pod >= 0 && l.Kind != "ready"
	})
	for _, l := range lanes {
		if l.Kind == "ready" && !c.Open { // a folded pod
			l.Label, l.Depth = l.Of, 0
		}
		p.height += p.heightOf(l)
		p.left = max(p.left, min(textWidth(l.Label)+p.indent(l)+10, pictureWidth/4))
	}
	p.axis()
	y := float64(pictureTop)
	for i, l := range lanes {
		end := y + p.heightOf(l)
		for _, below := range lanes[i+1:] {
			if l.Pod < 0 || below.Pod == l.Pod {
				end += p.heightOf(below)
			}
		}
		p.lane(l, y, end)
		y += p.heightOf(l)
	}
	for _, f := range c.Flags {
		p.add(`<path class="flagline" d="M%.1f %dV%.1f"/>`, p.x(f.At), pictureTop, y)
		p.add(`<path class="flag" d="M%.1f %dV2l9 4l-9 4"><title>%s</title></path>`, p.x(f.At), pictureTop,
			escaped("failed: "+f.Text))
	}
	bottom := p.legend(y + 18)
	_, err := fmt.Fprintf(w, pictureHead, pictureWidth, bottom, escaped(run.Scenario), document.PictureStyle,
		p.String())
	return err
}

func escaped(text string) string { return html.EscapeString(printable.Text(text)) }

// textWidth estimates the width of a text: a picture cannot measure it.
func textWidth(text string) float64 { return 6.7 * float64(utf8.RuneCountInString(text)) }

func (p *picture) add(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *picture) text(x, y float64, class, text string) {
	p.add(`<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, escaped(text))
}

func (p *picture) heightOf(l *lane) float64 { return look.Heights[l.Kind] }

func (p *picture) indent(l *lane) float64 { return float64(10 + 14*l.Depth) }

// x returns the place of a time, which is at an end of the axis if it lies outside.
func (p *picture) x(t virtual.Time) float64 {
	part := float64(max(p.from, min(t, p.to)).Sub(p.from)) / float64(max(p.to.Sub(p.from), 1))
	return p.left + part*(pictureWidth-rightMargin-p.left)
}

func (p *picture) sees(t virtual.Time) bool { return t >= p.from && t <= p.to }

// axis draws the axis and its grid.
func (p *picture) axis() {
	step, least := time.Hour, float64(p.to.Sub(p.from))*76/(pictureWidth-rightMargin-p.left)
	for _, ms := range look.Ticks {
		if step = time.Duration(ms) * time.Millisecond; float64(step) >= least {
			break
		}
	}
	for t := p.run.Tick(p.from, step); t <= p.to; t = t.Add(step) {
		p.add(`<text class="tick" x="%.1f" y="16" text-anchor="middle">%s</text>`, p.x(t), p.run.TickLabel(t, p.to))
		p.add(`<path class="grid" d="M%.1f %dV%.1f"/>`, p.x(t), pictureTop, pictureTop+p.height)
	}
	for _, d := range p.chart.Down {
		p.add(`<rect class="downtime" x="%.1f" y="%d" width="%.1f" height="%.1f"/>`, p.x(d.From), pictureTop,
			p.x(d.To)-p.x(d.From), p.height)
	}
}

// lane draws a lane. The lines of steps go down to an end.
func (p *picture) lane(l *lane, y, end float64) {
	middle := y + p.heightOf(l)/2
	class := map[string]string{"pod": "podname", "object": "podname", "life": "container", "node": ""}
	style, known := class[l.Kind]
	if !known {
		style = "dim"
	}
	if known && l.Kind != "life" {
		p.add(`<path class="rule" d="M0 %.1fH%d"/>`, y, pictureWidth)
	}
	room := int((p.left - p.indent(l)) / textWidth("x"))
	p.text(p.indent(l), middle+4, style, report.Shorten(l.Label, room, "…"))
	if l.Empty != "" {
		p.text(p.x(l.From)+4, middle+4, "waittext", l.Empty)
	}
	last := 0.0 // the end of the last bar
	for _, b := range l.Bars {
		from, to := p.x(b.From), p.x(b.To)
		if b.To > p.from && b.From < p.to && (to-last >= 0.5 || l.Kind == "level") {
			p.bar(l.Kind, &b, from, middle, max(to-from, 1))
			last = to
		}
	}
	p.marks(l, middle, end)
}

// bar draws a bar, with its text if there is room.
func (p *picture) bar(kind string, b *report.Bar, x, middle, width float64) {
	p.drawn[b.State] = true
	height, class := 6.0, "waittext"
	switch b.State {
	case "running", "killing", "stopping":
		height = 18
	case "no":
		height = 2
	case "waiting", "terminated", "unknown":
		p.add(`<path class="b-%s" stroke-width="2" d="M%.1f %.1fh%.1f"/>`, b.State, x, middle, width)
		height = 0
	}
	y := middle - height/2
	if b.Part > 0 {
		room := look.Heights[kind] - 4
		height, class = max(b.Part*room, 1), "leveltext"
		y = middle + room/2 - height
	}
	if height > 0 {
		p.add(`<rect class="b-%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, b.State, x, y, width, height)
	}
	if b.Text == "" || kind == "rule" || textWidth(b.Text)+12 > width {
		return
	}
	switch {
	case b.State == "running":
		class = "bartext"
	case height == 0:
		middle -= 7 // the text is above the line
	}
	p.text(x+6, middle+4, class, b.Text)
}

// marks draws the marks of a lane. Of marks that would overlap, it draws the one that matters most.
func (p *picture) marks(l *lane, middle, end float64) {
	var shape string
	at, free := -100.0, 0.0
	draw := func() {
		if shape != "" && (l.Kind != "life" || shape != "start") {
			p.drawn[shape] = true
			p.add(`<g class="m m-%s" transform="translate(%.1f %.1f)"><path class="shape" d="%s"/></g>`, shape, at, middle,
				look.Shapes[shape])
		}
	}
	for i, r := range l.Records {
		x, next := p.x(r.T), glyph(r)
		if !p.sees(r.T) {
			continue
		}
		if l.Kind == "pod" || l.Kind == "node" {
			p.add(`<path class="stepline" d="M%.1f %.1fV%.1f"/>`, x, middle, end)
		}
		if i < len(l.Labels) && x > free && x+8+textWidth(l.Labels[i]) < pictureWidth {
			p.text(x+8, middle+4, "steplabel", l.Labels[i])
			free = x + 14 + textWidth(l.Labels[i])
		}
		if x-at >= 6 {
			draw()
			at, shape = x, next
		} else if look.Ranks[next] > look.Ranks[shape] {
			shape = next
		}
	}
	draw()
}

// legend explains the marks and bars that are drawn, from a line on, and returns the height of the
// picture.
func (p *picture) legend(y float64) float64 {
	x := 10.0
	entry := func(sample, text string) {
		if width := textWidth(text) + 36; x+width > pictureWidth && x > 10 {
			x, y = 10, y+18
		}
		p.add(`<g transform="translate(%.1f %.1f)">%s</g>`, x+9, y-4, sample)
		p.text(x+22, y, "dim", text)
		x += textWidth(text) + 36
	}
	for _, m := range look.Marks {
		if p.drawn[m[0]] {
			entry(fmt.Sprintf(`<g class="m m-%s"><path class="shape" d="%s"/></g>`, m[0], look.Shapes[m[0]]), m[1])
		}
	}
	for _, b := range look.Bars {
		if p.drawn[b[0]] {
			entry(fmt.Sprintf(`<rect class="b-%s" x="-9" y="-3" width="18" height="6"/>`, b[0]), b[1])
		}
	}
	return y + 12
}
