package html

import (
	"fmt"
	"math"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/tune"
)

// plot shows the settings of a probe: how long it waits to the right, and what it tolerates upward.
// The best ones are above and to the left.
type plot struct {
	ID            string
	Probe         string
	Right, Up     string // what the axes mean
	XTicks        []tick
	YTicks        []tick
	Points        []point
	Width, Height float64
}

type tick struct {
	At    float64
	Label string
}

// point is a setting of the probe.
type point struct {
	ID                string
	X, Y              float64
	Below             float64 // of the name, so that it does not cover the one before
	Name              string  // such as 5s x 19
	Kind              string  // chosen, met or missed
	Note              string
	Limit, Time, Rate string
	Fields            string // as lines of YAML
}

// The plot has room for labels around its area.
const (
	width, height          = 640.0, 300.0
	left, right, top, base = 76.0, 600.0, 16.0, 256.0
)

// axisTexts are the meanings of the rows of a frontier.
var axisTexts = map[check.RowID]string{
	check.Start: "a start always comes up within", check.Restart: "a start after a crash always comes up within",
	check.Retry: "a start after a crash while starting always comes up within",
	check.Stall: "always survives a stall of", check.Silence: "always survives not answering for",
	check.Serving: "always stays in its Service in a stall of",
	check.Ready:   "up → Ready at worst", check.Detect: "hung → SIGTERM at worst",
	check.Unready: "broken → out of the Service at worst",
}

func newPlot(f *tune.Frontier, id string) *plot {
	p := &plot{ID: id, Probe: f.Probe, Right: axisTexts[f.Time], Up: axisTexts[f.Limit], Width: width, Height: height}
	var mostX, mostY check.Seconds
	for _, s := range f.Settings {
		mostX, mostY = max(mostX, finite(s.Time)), max(mostY, finite(s.Limit))
	}
	x, y := newScale(mostX, left, right), newScale(mostY, base, top)
	p.XTicks, p.YTicks = x.ticks(), y.ticks()
	for i, s := range f.Settings {
		at := point{
			ID: fmt.Sprintf("%ss%d", id, i+1), X: x.at(finite(s.Time)), Y: y.at(finite(s.Limit)), Kind: "met",
			Name: fmt.Sprintf("%ds × %d", s.Period, s.Threshold), Limit: check.FormatDown(s.Limit),
			Time: check.FormatTime(s.Time),
			Rate: fmt.Sprintf("%.4g", s.PerMinute),
			Fields: fmt.Sprintf("periodSeconds: %d\ntimeoutSeconds: %d\nfailureThreshold: %d", s.Period, s.Timeout,
				s.Threshold),
		}
		switch {
		case s.Chosen:
			at.Kind, at.Note = "chosen", "chosen"
		case !s.Met:
			at.Kind, at.Note = "missed", "not enough"
		}
		p.Points = append(p.Points, at)
	}
	p.spread()
	return p
}

// spread places the names of points that are close to each other at different heights.
func (p *plot) spread() {
	for i := range p.Points {
		a := &p.Points[i]
		a.Below = aboveName
		for k := 0; k < i; k++ {
			b := &p.Points[k]
			if math.Abs(a.X-b.X) < nameWidth && math.Abs(a.Y+a.Below-b.Y-b.Below) < nameHeight {
				a.Below = b.Y + b.Below - a.Y + nameHeight
				if a.Below > -nameHeight/2 && a.Below < nameHeight { // not beside the point itself
					a.Below = nameHeight + 4
				}
			}
		}
	}
}

// The size of a name of a point, and its place.
const (
	nameWidth, nameHeight = 70.0, 14.0
	aboveName             = -8.0
)

// finite is a value that has a place on an axis.
func finite(s check.Seconds) check.Seconds {
	if s.IsNever() {
		return 0
	}
	return s
}

// scale maps a duration to a position between two ends.
type scale struct {
	most     check.Seconds
	step     check.Seconds
	from, to float64
}

// newScale returns a scale with up to six round steps, on which a value has room.
func newScale(most check.Seconds, from, to float64) scale {
	most = max(most+most/10, check.Seconds(time.Second))
	step := math.Pow(10, math.Floor(math.Log10(float64(most))))
	for _, finer := range []float64{5, 2} {
		if float64(most)/(step/finer) <= 6 {
			step /= finer
			break
		}
	}
	return scale{most, check.Seconds(step), from, to}
}

func (s scale) at(v check.Seconds) float64 {
	return round(s.from + (s.to-s.from)*float64(v)/float64(s.most))
}

// round is precise enough for a position on a screen.
func round(x float64) float64 { return math.Round(10*x) / 10 }

func (s scale) ticks() []tick {
	var list []tick
	for v := check.Seconds(0); v <= s.most; v += s.step {
		label := check.Clock(v)
		if s.step < check.Seconds(time.Second) {
			label = time.Duration(v).String()
		}
		list = append(list, tick{s.at(v), label})
	}
	return list
}
