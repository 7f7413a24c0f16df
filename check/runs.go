package check

import (
	"context"

	"probesim.dev/bounds"
)

// Run is the run of a container in which a row has its least or its greatest value, or the run that was found closest to a derived value.
type Run struct {
	Row        RowID
	Text       string // of the row
	Case       string // such as "after a crash"; empty if the row has only one
	Kubernetes string
	Greatest   bool    // whether it shows the greatest value of the row; otherwise the least
	Value      Seconds // how long it may last, or how long it takes, in this run
	Derived    bool    // the row has a derived value instead, which differs
	bounds.Shown
}

// AddRuns adds to each container of a report of the Checker the runs that show the ends of its rows, in the order of the rows. Ends that
// nothing reaches have no run, and the row Recover has none. The error is that of the context.
func (c *Checker) AddRuns(ctx context.Context, r *Report) error {
	for i, w := range c.workloads {
		for k, found := range w.containers {
			runs, err := c.runs(ctx, found)
			if err != nil {
				return err
			}
			r.Workloads[i].Containers[k].Runs = runs
		}
	}
	return nil
}

func (c *Checker) runs(ctx context.Context, found *container) ([]Run, error) {
	var list []Run
	for _, row := range rows {
		for i, end := range found.ends(row.id) {
			if end == nil {
				continue
			}
			s, err := c.subjectOf(ctx, found, end.Kubernetes)
			if err != nil {
				continue
			}
			at, value, derived := end.AtLeast, end.LeastShown(), end.LeastDerived
			if i == 1 {
				at, value, derived = end.AtGreatest, end.GreatestShown(), end.GreatestDerived
			}
			shown, err := s.Show(at)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err == nil {
				list = append(list, Run{row.id, row.text, end.Case, end.Kubernetes, i == 1, Seconds(value), derived, shown})
			}
		}
	}
	return list, nil
}

// ends returns the values with the least and the greatest value of a row that can be shown, or nil for an end that nothing reaches.
func (c *container) ends(id RowID) (ends [2]*Value) {
	values := c.values(id)
	if len(values) == 0 || id == Recover {
		return ends
	}
	least, greatest := &values[0], &values[0]
	for i := range values[1:] {
		v := &values[i+1]
		if v.Least < least.Least {
			least = v
		}
		if v.Greatest > greatest.Greatest {
			greatest = v
		}
	}
	if least.Least != bounds.Never {
		ends[0] = least
	}
	if greatest.Greatest != bounds.Never {
		ends[1] = greatest
	}
	return ends
}
