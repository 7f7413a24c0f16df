package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/bounds"
	"probesim.dev/fakeruntime"
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
}

// Targets returns the names of all rows that a run can show. Call it when all tasks are done.
func (c *Checker) Targets() []string {
	var list []string
	for _, w := range c.workloads {
		for _, found := range w.containers {
			for _, r := range rows {
				if r.id != Recover && len(found.values(r.id)) > 0 {
					list = append(list, found.rowName(r.id))
				}
			}
		}
	}
	return list
}

// Target returns the row of a name, in the version whose value is the worst. The name of the workload can be left out if only one workload has the container.
func (c *Checker) Target(name string) (*Target, error) {
	var found []*Target
	for _, w := range c.workloads {
		for _, of := range w.containers {
			for _, r := range rows {
				full := w.Ref + "/" + of.spec.Name + "/" + string(r.id)
				values := of.values(r.id)
				if name != full && name != of.spec.Name+"/"+string(r.id) || r.id == Recover || len(values) == 0 {
					continue
				}
				t, err := c.target(of, r, r.id.Worst(values).Kubernetes)
				if err != nil {
					return nil, err
				}
				t.Name, t.File = of.rowName(r.id), fileName(full)
				found = append(found, t)
			}
		}
	}
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

func (c *Checker) target(of *container, r row, version string) (*Target, error) {
	for i, p := range c.options.Profiles {
		if p.Version != version {
			continue
		}
		s, err := c.subject(of, p)
		if err != nil {
			return nil, err
		}
		s.drop(of.results[i].broken())
		return &Target{Row: r.id, Text: r.text, Container: of.spec.Name, Admitted: s.Admitted, Delays: c.options.Nodes, Bounds: s.Container}, nil
	}
	return nil, fmt.Errorf("%s was not checked", version)
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
