package document

import (
	"fmt"
	"strings"
)

// Bar is a part of a row of a page, on an axis from 0 to 1. Its class is the name of its color:
// always, between, never, span, before, after or rest. With a Title it is a line at From: a mark of
// the class mean, required, broken or known.
type Bar struct {
	Class    string
	From, To float64
	Title    string
	Track    int     // 0 is the first from above
	Part     float64 // of the height of all tracks, as in a histogram; 0: the bar is in its track
}

// bars draws the bars of a cell, with lines that divide the axis into steps.
func bars(list []Bar, steps int) string {
	const bar, gap = 8, 2
	tracks := 1
	for _, b := range list {
		if tracks = max(tracks, b.Track+1); b.Part > 0 {
			tracks = max(tracks, 3)
		}
	}
	height := tracks*(bar+gap) + 2*gap
	var s strings.Builder
	fmt.Fprintf(&s, `<svg width="100%%" height="%d" aria-hidden="true">`, height)
	for i := 0; steps > 0 && i <= steps; i++ {
		fmt.Fprintf(&s, `<line class="grid" x1="%[1]s" x2="%[1]s" y1="0" y2="%[2]d"/>`,
			percent(float64(i)/float64(steps)), height)
	}
	for _, b := range list {
		if b.Title != "" {
			fmt.Fprintf(&s, `<line class="k-%s" x1="%[2]s" x2="%[2]s" y1="1" y2="%[3]d"><title>%[4]s</title></line>`,
				b.Class, percent(b.From), height-1, text(b.Title))
			continue
		}
		y, high := float64(gap+b.Track*(bar+gap)), float64(bar)
		if b.Part > 0 {
			high = b.Part * float64(height-2*gap)
			y = float64(height-gap) - high
		}
		fmt.Fprintf(&s, `<rect class="k-%s" x="%s" width="%s" y="%.4g" height="%.4g"/>`,
			b.Class, percent(b.From), percent(max(b.To-b.From, 0.004)), y, high)
	}
	return s.String() + "</svg>"
}

// axis draws the labels of an axis.
func axis(labels []string) string {
	var s strings.Builder
	s.WriteString(`<svg class="axis" width="100%" height="18" aria-hidden="true">`)
	for i, label := range labels {
		anchor := "middle"
		switch i {
		case 0:
			anchor = "start"
		case len(labels) - 1:
			anchor = "end"
		}
		fmt.Fprintf(&s, `<text class="tick" x="%s" y="12" text-anchor="%s">%s</text>`,
			percent(float64(i)/float64(len(labels)-1)), anchor, text(label))
	}
	return s.String() + "</svg>"
}

// percent formats a part of the axis. What lies outside is at an end.
func percent(part float64) string { return fmt.Sprintf("%.4g%%", 100*min(max(part, 0), 1)) }
