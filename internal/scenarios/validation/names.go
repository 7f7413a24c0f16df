package validation

import (
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/format"
)

// unreadName replaces a name that is written but could not be read. It matches no pod and no
// container.
const unreadName = "?"

// markUnread sets unreadName if the name could not be read.
func markUnread(name *string, n *strict.Node) {
	if n.Unread() {
		*name = unreadName
	}
}

// checkPodName reports names of pods and workloads that the scenario does not have.
func (c *checker) checkPodName(name string, n *strict.Node) {
	switch {
	case name == "" && n.Written():
		n.Errorf("is empty: name a pod or workload, or leave the field out")
	case name != "":
		for _, one := range c.CheckRange(name, n) {
			if c.resolved() && c.scenario.PodCount(one) == 0 {
				n.Errorf("the scenario has no pod or workload %s%s", strict.Quote(one),
					strict.OrList(one, c.podNames()))
				return
			}
		}
	}
}

// resolved reports whether all pods of the scenario are known. Otherwise an unknown name may belong
// to one that could not be read.
func (c *checker) resolved() bool {
	return !c.replicasUnread && len(c.scenario.Workloads) == len(c.scenario.Spec.Pods) && !c.spec.Field("pods").Unread()
}

// known reports whether all pods that a name matches are known.
func (c *checker) known(name string) bool {
	return c.resolved() || name != "" && c.scenario.PodCount(name) > 0
}

// matching returns the workloads with pods that a name matches.
func (c *checker) matching(name string) []*workload {
	found, known := c.matches[name]
	if !known {
		for _, w := range c.scenario.Matching(name) {
			found = append(found, c.workloads[w.Index])
		}
		c.matches[name] = found
	}
	return found
}

// checkContainerName reports a container that one of the pods does not have.
func (c *checker) checkContainerName(pod, container string, n *strict.Node) {
	if container == "" {
		n.ErrorIf(n.Written(), "is empty: name a container, or leave the field out")
		return
	}
	key := [2]string{pod, container}
	if c.haveContainer[key] {
		return
	}
	if format.IsRange(container) {
		for _, one := range c.CheckRange(container, n) {
			if c.checkContainerName(pod, one, n); n.Bad() {
				return
			}
		}
		return
	}
	for _, w := range c.matching(pod) {
		if !w.unread && w.container(container) == nil {
			hint := ""
			if pod == "" && len(c.scenario.Spec.Pods) > 1 {
				hint = "; name the pods you mean with pod"
			}
			n.Errorf("%s has no container %s%s%s", w.Manifest.Name, strict.Quote(container),
				strict.OrList(container, w.containerNames()), hint)
			return
		}
	}
	c.haveContainer[key] = true
}

// CheckRange returns the names that a name stands for, or nil after reporting that it is no range,
// or that the ranges of the file are too large.
func (u *Usage) CheckRange(name string, n *strict.Node) []string {
	names, err := format.RangeOf(name)
	if err != nil {
		n.Errorf("%s", err)
		return nil
	}
	if names == nil {
		return []string{name}
	}
	if u.ranged += len(names); u.ranged > maxRanged {
		n.Errorf("the ranges of names in this file stand for more than %d names", maxRanged)
		return nil
	}
	return names
}
