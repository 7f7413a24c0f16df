package coverage

import (
	"fmt"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
)

// Document says how much of each group the runs exercise, and what they never do.
func (c *Coverage) Document() *document.Document {
	d := document.New("Coverage")
	table := &document.Table{Left: 1, Head: []string{"", "exercised", "of"}}
	for _, g := range c.Groups {
		table.Texts(g.Name, fmt.Sprint(len(g.Items)-len(g.Never())), fmt.Sprint(len(g.Items)))
	}
	d.Table(table)
	for _, g := range c.Groups {
		if never := g.Never(); len(never) > 0 {
			d.Gap()
			d.Text(document.Bold, g.Name+", never:")
			d.Note(document.Plain, strings.Join(never, "; "))
		}
	}
	d.Gap()
	d.Text(document.Plain, printable.Count(c.Runs, "run"))
	return d
}
