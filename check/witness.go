package check

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"probesim.dev/bounds"
)

// Witnesses returns scenario files that show both ends of the rows, with names such as orders-app-start-always-below. Each has been
// run, and its expectation held. It leaves out the row Recover, and ends that nothing reaches. Call it when all tasks are done.
func (c *Checker) Witnesses(ctx context.Context) ([]bounds.Witness, error) {
	var list []bounds.Witness
	for _, t := range c.tasks {
		found := t.container
		if t.result != found.results[0] { // once for each container
			continue
		}
		for _, row := range rowTexts {
			witnesses, err := c.witnesses(ctx, found, row.id)
			if err != nil {
				return list, err
			}
			list = append(list, witnesses...)
		}
	}
	return list, nil
}

// witnesses returns the scenario files for a row of a container.
func (c *Checker) witnesses(ctx context.Context, found *container, id RowID) ([]bounds.Witness, error) {
	values := found.values(id)
	if len(values) == 0 || id == Recover {
		return nil, nil
	}
	least, greatest := values[0], values[0]
	for _, v := range values[1:] {
		if v.Least < least.Least {
			least = v
		}
		if v.Greatest > greatest.Greatest {
			greatest = v
		}
	}
	names := [2]string{"best", "worst"}
	if id.IsLimit() {
		names = [2]string{"always", "never"}
	}
	var list []bounds.Witness
	for i, end := range []struct {
		Value
		c bounds.Case
	}{{least, least.AtLeast}, {greatest, greatest.AtGreatest}} {
		if i == 0 && least.Least == bounds.Never || i == 1 && greatest.Greatest == bounds.Never {
			continue
		}
		s, err := c.subjectOf(ctx, found, end.Kubernetes)
		if err != nil {
			return nil, err
		}
		name := strings.Join([]string{found.workload.Name, found.spec.Name, string(id), names[i]}, "-")
		name = strings.TrimLeft(notInNames.ReplaceAllString(name, "-")[max(0, len(name)-longestName):], "-")
		witnesses, err := s.Witnesses(name, end.c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, witnesses...)
	}
	return list, nil
}

// longestName leaves room for suffixes in the name of a file.
const longestName = 200

// notInNames matches what the name of a scenario cannot have.
var notInNames = regexp.MustCompile(`[^a-z0-9-]+`)

// subjectOf returns the subject for a container in a version.
func (c *Checker) subjectOf(ctx context.Context, found *container, version string) (*bounds.Subject, error) {
	for _, p := range c.options.Profiles {
		if p.Version != version {
			continue
		}
		s, err := bounds.NewSubject(found.workload.Pod, found.spec.Name, p)
		if err == nil {
			s.Context = ctx
		}
		return s, err
	}
	return nil, fmt.Errorf("%s was not checked", version)
}
