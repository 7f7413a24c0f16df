package simulate

import (
	"bytes"
	_ "embed"
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/field.svg and the table of fakeruntime/README.md")

// fieldTimes are quantiles of times on real clusters.
//
//go:embed testdata/field.csv
var fieldTimes []byte

// curve is a distribution: the times of its quantiles, 0% to 100% in even steps.
type curve struct {
	name  string // of the clusters or nodes
	class string // in the picture
	count int
	times []float64
}

// at returns the time of a quantile, such as 0.5 for the median.
func (c *curve) at(quantile float64) float64 {
	return c.times[int(math.Round(quantile*float64(len(c.times)-1)))]
}

// panel is a time that a conformance test reports, with its distributions.
type panel struct {
	name, title string
	curves      []curve // real clusters of v1.21 to v1.24, older ones, typical nodes
}

// fieldNodes is the number of simulated nodes.
const fieldNodes = 200

// fieldVersion is the simulated release whose rules are nearest to those of the clusters.
const fieldVersion = "v1.34"

// TestField checks that fakeruntime/README.md shows the recorded distributions beside the simulated
// ones. Run it with -update to draw them again.
func TestField(t *testing.T) {
	panels := fieldPanels(t)
	for file, make := range map[string]func(old []byte) []byte{
		"../../../docs/field.svg":        func([]byte) []byte { return drawField(panels) },
		"../../../fakeruntime/README.md": func(old []byte) []byte { return tableOfField(t, old, panels) },
	} {
		old, err := os.ReadFile(file)
		if err != nil && !*update {
			t.Fatal(err)
		}
		text := make(old)
		if *update {
			if err := os.WriteFile(file, text, 0o666); err != nil {
				t.Fatal(err)
			}
		} else if !bytes.Equal(old, text) {
			t.Errorf("%s is not up to date: go test ./scenarios/simulate -run TestField -update, and read the diff",
				file)
		}
	}
}

// TestTypicalNodesAreLikeRealClusters limits how far the middle half of the simulated times is from
// that of the clusters of v1.21 to v1.24: a look of the test, which is 2 s.
func TestTypicalNodesAreLikeRealClusters(t *testing.T) {
	const look = 2.3
	for _, p := range fieldPanels(t) {
		for _, q := range []float64{0.25, 0.5, 0.75} {
			if real, simulated := p.curves[0].at(q), p.curves[2].at(q); math.Abs(real-simulated) > look {
				t.Errorf("%s: the quantile %g is %.2f s on real clusters and %.2f s on typical nodes", p.name, q, real,
					simulated)
			}
		}
	}
}

// fieldPanels returns all times with their distributions.
func fieldPanels(t *testing.T) []panel {
	t.Helper()
	panels := []panel{
		{name: "exec1", title: "restart, exec probe"}, {name: "http1", title: "restart, HTTP probe"},
		{name: "mono1", title: "first of five restarts"},
		{name: "mono2", title: "second restart"}, {name: "mono3", title: "third restart"},
		{name: "mono4", title: "fourth restart"},
		{name: "mono5", title: "fifth restart, back-off"}, {name: "ready", title: "start to Ready"},
	}
	r := csv.NewReader(bytes.NewReader(fieldTimes))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	simulated := typicalNodes(t, fieldVersion, fieldNodes)
	for i := range panels {
		p := &panels[i]
		for _, row := range rows {
			if row[0] != p.name {
				continue
			}
			c := curve{name: "clusters of " + row[1], class: []string{"real", "old"}[len(p.curves)],
				times: make([]float64, len(row)-3)}
			if c.count, err = strconv.Atoi(row[2]); err != nil {
				t.Fatal(err)
			}
			for j, text := range row[3:] {
				if c.times[j], err = strconv.ParseFloat(text, 64); err != nil {
					t.Fatal(err)
				}
			}
			p.curves = append(p.curves, c)
		}
		times := simulated[p.name]
		c := curve{name: "typical nodes, " + fieldVersion, class: "simulated", count: len(times)}
		for j := range p.curves[0].times {
			c.times = append(c.times, times[max(0, int(math.Ceil(float64(j*len(times))/20))-1)])
		}
		p.curves = append(p.curves, c)
		if len(p.curves) != 3 || !slices.IsSorted(c.times) {
			t.Fatalf("%s has %d distributions", p.name, len(p.curves))
		}
	}
	return panels
}

// Marks around the table in fakeruntime/README.md.
const fieldBegin, fieldEnd = "<!-- field -->\n\n", "\n<!-- end of field -->"

// tableOfField returns the page with a new table.
func tableOfField(t *testing.T, page []byte, panels []panel) []byte {
	t.Helper()
	before, rest, ok := strings.Cut(string(page), fieldBegin)
	_, after, ends := strings.Cut(rest, fieldEnd)
	if !ok || !ends {
		t.Fatalf("fakeruntime/README.md lacks the marks %s%s", fieldBegin, fieldEnd)
	}
	var b strings.Builder
	b.WriteString("| time | " + panels[0].curves[0].name + ": 5%, median, 95% | " + panels[0].curves[2].name +
		": 5%, median, 95% | " +
		panels[0].curves[1].name + ": 5%, median, 95% |\n|---|---|---|---|\n")
	for _, p := range panels {
		fmt.Fprintf(&b, "| %s |", p.title)
		for _, i := range []int{0, 2, 1} {
			c := &p.curves[i]
			fmt.Fprintf(&b, " %.1f, %.1f, %.1f s |", c.at(0.05), c.at(0.5), c.at(0.95))
		}
		b.WriteString("\n")
	}
	return []byte(before + fieldBegin + b.String() + fieldEnd + after)
}

// The size of the picture: panels in rows, each with its plot inside, in pixels.
const (
	panelWidth, panelHeight          = 240, 190
	panelsPerRow                     = 4
	plotLeft, plotTop                = 40, 30
	plotWidth, plotHeight            = 184, 120
	legendHeight, pictureBottomSpace = 34, 6
)

// drawField draws the share of clusters and nodes over the time, in a panel for each time.
func drawField(panels []panel) []byte {
	var b bytes.Buffer
	rows := (len(panels) + panelsPerRow - 1) / panelsPerRow
	width, height := panelWidth*panelsPerRow, legendHeight+rows*panelHeight+pictureBottomSpace
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Restart times and readiness delays of real clusters and of typical nodes">
<style>
text { font: 11px sans-serif; fill: #333 }
.title { font-weight: bold }
.axis { stroke: #999; fill: none }
.grid { stroke: #e4e4e4; fill: none }
.real { stroke: #1668b3; stroke-width: 2; fill: none }
.old { stroke: #9bb8d3; stroke-width: 1.2; stroke-dasharray: 4 3; fill: none }
.simulated { stroke: #d2600a; stroke-width: 2; fill: none }
</style>
<rect width="%d" height="%d" fill="#fff"/>
`, width, height, width, height)
	x := 12
	for _, i := range []int{0, 1, 2} {
		c := &panels[0].curves[i]
		label := fmt.Sprintf("%d %s", c.count, c.name)
		fmt.Fprintf(&b, `<path class="%s" d="M%d 16h28"/><text x="%d" y="20">%s</text>`+"\n", c.class, x, x+34, label)
		x += 60 + 7*len(label)
	}
	for i := range panels {
		left, top := i%panelsPerRow*panelWidth, legendHeight+i/panelsPerRow*panelHeight
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", left, top)
		panels[i].draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// draw draws a panel at the origin.
func (p *panel) draw(b *bytes.Buffer) {
	from, to := p.bounds()
	at := func(seconds float64) float64 { return plotLeft + (seconds-from)/(to-from)*plotWidth }
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", plotLeft, plotTop-10, p.title)
	for percent := 0; percent <= 100; percent += 50 {
		y := plotTop + plotHeight - plotHeight*percent/100
		fmt.Fprintf(b, `<path class="grid" d="M%d %dh%d"/><text x="%d" y="%d" text-anchor="end">%d%%</text>`+"\n",
			plotLeft, y, plotWidth, plotLeft-4, y+4, percent)
	}
	step := tick(to - from)
	for s := math.Ceil(from/step) * step; s <= to; s += step {
		fmt.Fprintf(b, `<path class="axis" d="M%.1f %dv4"/><text x="%.1f" y="%d" text-anchor="middle">%g s</text>`+"\n",
			at(s), plotTop+plotHeight, at(s), plotTop+plotHeight+16, s)
	}
	fmt.Fprintf(b, `<path class="axis" d="M%d %dv%dh%d"/>`+"\n", plotLeft, plotTop, plotHeight, plotWidth)
	for _, i := range []int{1, 0, 2} { // the newer ones over the older ones
		c := &p.curves[i]
		fmt.Fprintf(b, `<path class="%s" d="`, c.class)
		for j, seconds := range c.times {
			y := plotTop + plotHeight - float64(plotHeight*j)/float64(len(c.times)-1)
			fmt.Fprintf(b, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[j == 0],
				min(max(at(seconds), plotLeft), plotLeft+plotWidth), y)
		}
		fmt.Fprintf(b, `"><title>%d %s: median %.1f s</title></path>`+"\n", c.count, c.name, c.at(0.5))
	}
}

// bounds returns the times at the ends of the panel: all curves lie between them but for their
// outer twentieths.
func (p *panel) bounds() (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	for i := range p.curves {
		from, to = min(from, p.curves[i].at(0.05)), max(to, p.curves[i].at(0.95))
	}
	margin := max(1, (to-from)/10)
	return math.Floor(from - margin), math.Ceil(to + margin)
}

// tick returns the distance of the ticks on an axis of this length.
func tick(length float64) float64 {
	for _, step := range []float64{1, 2, 5, 10, 20, 50} {
		if length/step <= 5 {
			return step
		}
	}
	return 100
}
