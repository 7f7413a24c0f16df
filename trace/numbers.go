package trace

import (
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/virtual"
)

// ObjectNumbers are the measures of a Deployment or a Service in a run.
type ObjectNumbers struct {
	Name string // such as "Deployment default/web"
	// Took is the time from the last change of the spec of a Deployment, or from its creation,
	// until it is complete. Complete is false if it is not until the end.
	Took     time.Duration
	Complete bool
	// Fewest is the least number of Ready pods of a Deployment from the first time on at which it
	// is complete, or -1 if it never is.
	Fewest int32
	// Lost is the number of requests to a Service that are lost.
	Lost float64
}

// IsService reports whether the numbers are those of a Service: Lost.
func (n *ObjectNumbers) IsService() bool { return strings.HasPrefix(n.Name, "Service ") }

// NumbersOfObjects returns the numbers of the Deployments and Services of a run that ends at end,
// in the order of their first records.
func NumbersOfObjects(records []Record, end virtual.Time) []ObjectNumbers {
	var list []*objectClock
	for i := range records {
		r := &records[i]
		if r.Object == nil || !strings.HasPrefix(r.Object.Name, "Deployment ") && !strings.HasPrefix(r.Object.Name,
			"Service ") {
			continue
		}
		k := slices.IndexFunc(list, func(c *objectClock) bool { return c.Name == r.Object.Name })
		if k < 0 {
			k = len(list)
			list = append(list, &objectClock{ObjectNumbers: ObjectNumbers{Name: r.Object.Name, Fewest: -1}})
		}
		if r.Object.Workload != nil {
			list[k].state(r)
		}
	}
	losses := Losses(records, end)
	numbers := make([]ObjectNumbers, len(list))
	for i, c := range list {
		for _, l := range losses {
			if records[l.First].Object.Name == c.Name {
				c.Lost += l.Lost
			}
		}
		numbers[i] = c.ObjectNumbers
	}
	return numbers
}

// objectClock follows an object.
type objectClock struct {
	ObjectNumbers
	generation int64
	changed    virtual.Time
}

// state takes over the state of a Deployment.
func (c *objectClock) state(r *Record) {
	w := r.Object.Workload
	if w.Generation != c.generation {
		c.generation, c.changed, c.Complete = w.Generation, r.T, false
	}
	if w.Complete() && !c.Complete {
		c.Complete, c.Took = true, r.T.Sub(c.changed)
	}
	switch {
	case c.Fewest < 0 && w.Complete(), c.Fewest > w.Ready:
		c.Fewest = w.Ready
	}
}
