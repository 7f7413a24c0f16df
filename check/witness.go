package check

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/bounds"
)

// Witnesses returns scenario files that show both ends of the rows, with names such as orders-app-start-always-below. Each has been
// run, and its expectation held. It leaves out the row Recover, and ends that nothing reaches. The names in missing are those of
// further ends whose scenario does not show them. Call it when all tasks are done. The error is that of the context.
func (c *Checker) Witnesses(ctx context.Context) (list []bounds.Witness, missing []string, err error) {
	used := map[string]bool{}
	for _, t := range c.tasks {
		found := t.container
		if t.result != found.results[0] { // once for each container
			continue
		}
		name := unused(found.witness, used) // the workloads of two files can have one name
		for _, row := range rows {
			witnesses, without := c.witnesses(ctx, found, name, row.id)
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			list, missing = append(list, witnesses...), append(missing, without...)
		}
	}
	return list, missing, nil
}

// witnesses returns the scenario files for a row of a container, and the names of those that are missing.
func (c *Checker) witnesses(ctx context.Context, found *container, of string, id RowID) (list []bounds.Witness, missing []string) {
	names := [2]string{"best", "worst"}
	if id.IsLimit() {
		names = [2]string{"always", "never"}
	}
	for i, end := range found.ends(id) {
		if end == nil {
			continue
		}
		at := end.AtLeast
		if i == 1 {
			at = end.AtGreatest
		}
		name := of + "-" + string(id) + "-" + names[i]
		s, err := c.subjectOf(ctx, found, end.Kubernetes)
		var witnesses []bounds.Witness
		if err == nil {
			witnesses, err = s.Witnesses(name, at)
		}
		if err != nil {
			missing = append(missing, name)
			continue
		}
		list = append(list, witnesses...)
	}
	return list, missing
}

// nameWitnesses gives each container a name that no other container of its file has: workloads of different kinds and namespaces can have
// one name.
func (c *Checker) nameWitnesses() {
	used := map[string]map[string]bool{}
	for _, w := range c.workloads {
		if used[w.file] == nil {
			used[w.file] = map[string]bool{}
		}
		for _, found := range w.containers {
			name := notInNames.ReplaceAllString(w.Ref+"-"+found.spec.Name, "-")
			found.witness = unused(strings.TrimLeft(name[max(0, len(name)-longestName):], "-"), used[w.file])
		}
	}
}

// unused returns a name, with a number if it is in use, and marks it as used.
func unused(name string, used map[string]bool) string {
	free := name
	for n := 2; used[free]; n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	used[free] = true
	return free
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
			found.results[slices.IndexFunc(found.results, func(r *result) bool { return r.version == version })].drop(s)
		}
		return s, err
	}
	return nil, fmt.Errorf("%s was not checked", version)
}
