package html

import "fmt"

// shown says how a number of a row comes about: its formula.
type shown struct {
	ID      string
	Title   string // the row and its end: "survives a stall of up to: always"
	Formula string
}

// addShown adds the formulas of the container to its section, and links to them to the rows of its
// chart.
func (s *section) addShown() {
	if s.Container == nil || s.Chart == nil {
		return
	}
	add := func(x *row, end int, title, formula string) {
		if formula != "" {
			one := shown{fmt.Sprintf("%sr%d", s.ID, len(s.Shown)+1), arrows(title), formula}
			s.Shown, x.Links[end] = append(s.Shown, one), one.ID
		}
	}
	for i, l := range s.Container.Limits {
		add(&s.Chart.Limits[i], 0, l.Text+": always", l.Formula)
	}
	for i, t := range s.Container.Times {
		add(&s.Chart.Times[i], 2, t.Text+": worst", t.Formula)
	}
}
