package check

import (
	"fmt"
	"slices"

	"probesim.dev/internal/strict"
)

// UnknownContainers says which containers the options name although no workload of the files has
// them: what is said about them would count for nothing.
func (o *Options) UnknownContainers(files []File) error {
	named := slices.Concat(o.Start.Names(), o.Stop.Names())
	for _, q := range o.Require {
		if q.Container != "" {
			named = append(named, q.Container)
		}
	}
	if len(named) == 0 {
		return nil
	}
	known := containersIn(files)
	slices.Sort(named)
	for _, name := range slices.Compact(named) {
		if len(known) > 0 && !slices.Contains(known, name) {
			return fmt.Errorf("no workload has a container %s%s", strict.Quote(name), strict.OrList(name, known))
		}
	}
	return nil
}
