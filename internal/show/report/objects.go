package report

import (
	"math"
	"slices"
	"strconv"

	"probesim.dev/internal/show/document"
	"probesim.dev/sim/virtual"
)

// level draws a number as the height of a bar, and writes it where it changes. In a column with
// several values, the lowest counts. Values below the wanted ones are a warning.
func (d *drawing) level(l *Lane) row {
	style := good
	if l.Kind == "set" {
		style = dim
	}
	r := make(row, d.scale.columns())
	values, most := d.values(l.Bars)
	least, _ := d.values(levelLane("", "", l.Wanted, 1, virtual.Max).Bars)
	for i, v := range values {
		if v < 0 {
			continue
		}
		of := style
		if len(l.Wanted) > 0 && v < least[i] {
			of = warn
		}
		r[i] = d.g.level(float64(v)/float64(max(most, 1)), of)
		if i == 0 || values[i-1] != v {
			r.number(i, v, values, of)
		}
	}
	return r
}

// number writes a value at the beginning of a stretch with it, if there is room for it and for a
// bar.
func (r row) number(i, v int, values []int, st document.Style) {
	text := strconv.Itoa(v)
	for j := i; j <= i+len(text); j++ {
		if j >= len(values) || values[j] != v {
			return
		}
	}
	for j := range text {
		r[i+j] = cell{rune(text[j]), st}
		values[i+j] = v
	}
}

// values returns the lowest value of a level in each column, -1 before the first one, and the
// highest value of all.
func (d *drawing) values(bars []Bar) (values []int, most int) {
	values = slices.Repeat([]int{-1}, d.scale.columns())
	for _, b := range bars {
		most = max(most, b.Value)
		first, past := d.scale.span(b.From, b.To)
		for c := first; c < past; c++ {
			if values[c] < 0 || b.Value < values[c] {
				values[c] = b.Value
			}
		}
	}
	return values, most
}

// losses draws how many requests are lost in each column, compared with the worst time.
func (d *drawing) losses(l *Lane) row {
	r := make(row, d.scale.columns())
	parts := make([]float64, len(r))
	raise := func(from, to virtual.Time, part float64) {
		first, past := d.scale.span(from, to)
		for i := first; i < past; i++ {
			parts[i] = max(parts[i], part)
		}
	}
	for _, rec := range l.Records { // at once
		raise(rec.T, rec.T+1, math.SmallestNonzeroFloat64)
	}
	for _, b := range l.Bars {
		raise(b.From, b.To, b.Part)
	}
	for i, part := range parts {
		if part > 0 {
			r[i] = d.g.level(part, bad)
			d.drawn[cell{d.g.levels[len(d.g.levels)-1], bad}] = true // for the legend
		}
	}
	return r
}

// level returns the character for a part of the highest value.
func (g *glyphs) level(part float64, st document.Style) cell {
	if part == 0 {
		return cell{g.no, dim}
	}
	n := len(g.levels)
	return cell{g.levels[min(max(int(math.Ceil(part*float64(n)))-1, 0), n-1)], st}
}
