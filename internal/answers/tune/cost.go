package tune

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
)

// Cost is a row that gets worse with the changes: the limit that always holds, or the worst time.
type Cost struct {
	Row    check.RowID   `json:"row"`
	Before value.Seconds `json:"before"`
	After  value.Seconds `json:"after"`
}

// noise is the greatest difference that is no cost.
const noise = value.Seconds(100 * time.Millisecond)

// costs returns the rows that are worse in a setting than in the one of the manifest.
func (s *subject) costs(x setting) (list []Cost) {
	for _, row := range check.Rows() {
		before, after := s.guaranteed(s.now, row), s.guaranteed(x, row)
		worse := after - before
		if row.IsLimit() {
			worse = before - after
		}
		if row.IsLimit() && len(s.values(s.now, row)) == 0 { // what a new probe decides at all is no cost
			continue
		}
		like := row.Like() // a row that another one also stands for is no cost of its own
		if like != "" && before == s.guaranteed(s.now, like) && after == s.guaranteed(x, like) {
			continue
		}
		if worse >= noise {
			list = append(list, Cost{row, before, after})
		}
	}
	return list
}

// named returns the container that a requirement names, or nothing if none does.
func named(list check.Requirements) string {
	for _, q := range list {
		if q.Container != "" {
			return q.Container
		}
	}
	return ""
}

// note returns a note if a start after a restart may take less time than the required one.
func (s *subject) note(x setting, asked check.Requirements) string {
	required := func(row check.RowID) int {
		return slices.IndexFunc(asked, func(q check.Requirement) bool { return q.Row == row })
	}
	at, always := required(check.Start), s.guaranteed(x, check.Restart)
	if at < 0 || required(check.Restart) >= 0 || always >= value.Seconds(asked[at].Duration) {
		return ""
	}
	return fmt.Sprintf("%s is about the first start. After a kill or a crash, a start may take up to %s: to allow as "+
		"much, require %s too.",
		asked[at], check.FormatDown(always),
		check.Requirement{Container: named(asked), Row: check.Restart, Duration: asked[at].Duration})
}

// Notes says for people what the changes cost, and what the requirements leave out.
func (c *Container) Notes() []string {
	var list []string
	if c.Tight {
		list = append(list, "No setting has the margin of --margin. This one just meets the requirements.")
	}
	if len(c.Costs) > 0 {
		list = append(list, "Costs: "+strings.Join(printable.Words(c.Costs,
			func(x Cost) string { return x.Row.Worse(x.Before, x.After) }), "; "))
	}
	if c.Note != "" {
		list = append(list, c.Note)
	}
	return list
}
