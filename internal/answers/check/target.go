package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
)

// Target is a row of a container in one version, for a run that shows it.
type Target struct {
	Name      string // of the row, such as app/start, or orders/app/start in a file with several workloads
	File      string // a name for files about it
	Row       RowID
	Text      string // of the row
	Container string
	*Admitted
	Delays fakeruntime.Delays
	Bounds *bounds.Container
	Of     string // the case of the row to show; empty for the one that decides
}

// Targets returns the names of all rows that a run can show.
func (c *Checker) Targets() []string {
	var list []string
	c.eachTarget(func(of *container, r row, _ []Value) { list = append(list, of.rowName(r.id)) })
	return list
}

// eachTarget visits all rows that a run can show, with their values.
func (c *Checker) eachTarget(visit func(*container, row, []Value)) {
	c.finish()
	for _, w := range c.workloads {
		for _, of := range w.containers {
			for _, r := range rows {
				if values := of.values(r.id); r.id.Shown() && len(values) > 0 {
					visit(of, r, values)
				}
			}
		}
	}
}

// Target returns the row of a name, in the version whose value is the worst. The name of the
// workload can be left out if only one workload has the container.
func (c *Checker) Target(name string) (*Target, error) {
	var found []*Target
	c.eachTarget(func(of *container, r row, values []Value) {
		short := of.spec.Name + "/" + string(r.id)
		full := of.workload.Ref + "/" + short
		if name != full && name != short {
			return
		}
		version := r.id.Worst(values).Kubernetes
		result := of.results[slices.IndexFunc(of.results, func(r *result) bool { return r.profile.Version == version })]
		found = append(found, &Target{Name: of.rowName(r.id), File: fileName(full), Row: r.id, Text: r.text,
			Container: of.spec.Name, Admitted: result.Admitted, Delays: c.options.Nodes, Bounds: result.Container})
	})
	names := c.Targets()
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("there is no row %q: the rows are %s", name, strings.Join(names, ", "))
	case len(found) > 1:
		names = slices.DeleteFunc(names, func(n string) bool { return n != name && !strings.HasSuffix(n, "/"+name) })
		return nil, fmt.Errorf("several workloads have the row %s: specify one of %s", name, strings.Join(names, ", "))
	}
	return found[0], nil
}

// fileName returns a name as the name of a file and of a scenario.
func fileName(name string) string {
	name = notInNames.ReplaceAllString(name, "-")
	return strings.TrimLeft(name[max(0, len(name)-longestName):], "-")
}

// longestName leaves room for suffixes in the name of a file.
const longestName = 200

// notInNames matches what the name of a scenario cannot have.
var notInNames = regexp.MustCompile(`[^a-z0-9-]+`)
