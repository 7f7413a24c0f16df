package coverage

import (
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/show/report"
)

// Text writes how much of each group the runs exercise, and what they never do.
func (c *Coverage) Text(w io.Writer, o report.Options) error {
	table := &report.Table{Left: 1}
	table.Head("", "exercised", "of")
	for _, g := range c.Groups {
		table.Row(report.Cell{Text: g.Name}, report.Cell{Text: fmt.Sprint(len(g.Items) - len(g.Never()))},
			report.Cell{Text: fmt.Sprint(len(g.Items))})
	}
	if err := table.Write(w, o); err != nil {
		return err
	}
	for _, g := range c.Groups {
		if never := g.Never(); len(never) > 0 {
			fmt.Fprintln(w)
			report.WriteLine(w, 0, g.Name+", never:", report.Bold, o)
			report.WriteLine(w, 2, strings.Join(never, "; "), report.Plain, o)
		}
	}
	_, err := fmt.Fprintf(w, "\n%d runs\n", c.Runs)
	return err
}
