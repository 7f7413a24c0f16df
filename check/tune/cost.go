package tune

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/bounds"
	"probesim.dev/check"
)

// Cost is a row that gets worse with the changes: the limit that always holds, or the worst time.
type Cost struct {
	Row    check.RowID   `json:"row"`
	Before check.Seconds `json:"before"`
	After  check.Seconds `json:"after"`
}

func (c Cost) String() string {
	text := fmt.Sprintf("%s %s -> %s", c.Row, c.Row.Format(c.Before), c.Row.Format(c.After))
	if c.Before.IsNever() || c.After.IsNever() {
		return text
	}
	return text + " (" + check.FormatDifference(c.Before, c.After) + ")"
}

// Alternative is a setting that adds a startup probe and leaves the liveness probe as it is.
type Alternative struct {
	Requirement string   `json:"requirement"` // with which tune returns this setting
	Changes     []Change `json:"changes"`
	Costs       []Cost   `json:"costs,omitempty"`
}

// noise is the greatest difference that is no cost.
const noise = check.Seconds(100 * time.Millisecond)

// costs returns the rows that are worse in a setting than in the old one.
func (s *search) costs(x setting) ([]Cost, error) {
	s.exact = true
	defer func() { s.exact = false }()
	var list []Cost
	for _, row := range check.Rows() {
		before, err := s.guaranteed(s.old, row)
		if err != nil {
			return nil, err
		}
		after, err := s.guaranteed(x, row)
		if err != nil {
			return nil, err
		}
		worse := after - before
		if row.IsLimit() {
			worse = before - after
		}
		if worse >= noise {
			list = append(list, Cost{row, before, after})
		}
	}
	return list, nil
}

// guaranteed returns the limit that always holds, or the worst time. Without a readiness and a startup probe, a container is ready
// at once. Without the probe of another row, nothing ever happens.
func (s *search) guaranteed(x setting, row check.RowID) (check.Seconds, error) {
	found, err := s.values(x, row, true)
	switch {
	case err != nil:
		return 0, err
	case len(found) == 0 && row == check.Ready:
		return 0, nil
	case len(found) == 0:
		return seconds(bounds.Never), nil
	}
	_, worst := check.Requirement{Row: row}.Margin(found)
	if row.IsLimit() {
		return seconds(worst.Least), nil
	}
	return seconds(worst.Greatest), nil
}

// explain adds what the changes cost, a startup probe that would cost less, and what the requirements leave out.
func (s *search) explain(c *Container) (err error) {
	if c.Costs, err = s.costs(c.now); err != nil {
		return err
	}
	if c.Alternative, err = s.alternative(c); err != nil {
		return err
	}
	return s.note(c)
}

// alternative looks for a startup probe that meets the requirements in place of a liveness probe that detects hangs later.
func (s *search) alternative(c *Container) (*Alternative, error) {
	at := slices.IndexFunc(c.Costs, func(x Cost) bool { return x.Row == check.Detect && !x.Before.IsNever() })
	if at < 0 || s.old.has(startup) || c.now.has(startup) {
		return nil, nil
	}
	detect := check.Requirement{Row: check.Detect, Duration: (time.Duration(c.Costs[at].Before) + time.Second - 1).Truncate(time.Second)}
	require := slices.DeleteFunc(slices.Clone(s.asked), func(q check.Requirement) bool { return q.Row == check.Detect })
	one := s.search(s.old, append(require, detect))
	bases := one.bases()
	if len(bases) == 1 {
		return nil, nil
	}
	base := c.now
	base[liveness], base[startup] = s.old[liveness], bases[1][startup]
	// Whether there is a startup probe that suffices is known soon. A search that finds none takes long.
	if _, ok := one.best(base, []place{{startup, period}, {startup, threshold}}, setting{}, false); !ok {
		return nil, one.err
	}
	found, ok, err := one.find()
	if err != nil || !ok || !found.has(startup) || found[liveness] != s.old[liveness] {
		return nil, err
	}
	a := &Alternative{Requirement: detect.String(), Changes: changed(s.old, found)}
	a.Costs, err = s.costs(found)
	return a, err
}

// note adds a note if a start after a restart may take less time than the required one.
func (s *search) note(c *Container) error {
	required := func(row check.RowID) int {
		return slices.IndexFunc(s.asked, func(q check.Requirement) bool { return q.Row == row })
	}
	at := required(check.Start)
	if at < 0 || required(check.Restart) >= 0 {
		return nil
	}
	value, err := s.guaranteed(c.now, check.Restart)
	if err != nil || value >= seconds(s.asked[at].Duration) {
		return err
	}
	restart := check.Requirement{Row: check.Restart, Duration: s.asked[at].Duration}
	c.Note = fmt.Sprintf("%s is about the first start. After a kill or a crash, a start may take up to %s: to allow as much, require %s too.",
		s.asked[at], check.FormatDown(value), restart)
	return nil
}

// Notes says for people what the changes cost, what would cost less, and what the requirements leave out.
func (c *Container) Notes() []string {
	var list []string
	if len(c.Costs) > 0 {
		list = append(list, "The changes make some figures worse: "+joined(c.Costs)+".")
	}
	if c.Note != "" {
		list = append(list, c.Note)
	}
	if a := c.Alternative; a != nil {
		var fields []string
		for _, x := range a.Changes {
			fields = append(fields, fmt.Sprintf("%s %d", x.place, x.After))
		}
		text := fmt.Sprintf("A startup probe also meets the requirements, and the liveness probe stays as it is: %s.", strings.Join(fields, ", "))
		if len(a.Costs) > 0 {
			text += " Worse then: " + joined(a.Costs) + "."
		}
		list = append(list, text+" For these settings, require "+a.Requirement+" too.")
	}
	return list
}

func joined(costs []Cost) string {
	var list []string
	for _, x := range costs {
		list = append(list, x.String())
	}
	return strings.Join(list, ", ")
}
