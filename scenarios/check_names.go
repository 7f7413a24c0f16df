package scenarios

import (
	"slices"

	"probesim.dev/internal/strict"
)

// unreadName replaces a name that is written but could not be read. It matches no pod and no container.
const unreadName = "?"

// markUnread sets unreadName if the name could not be read.
func markUnread(name *string, n *strict.Node) {
	if n.Unread() {
		*name = unreadName
	}
}

// writtenBeside reports whether a mapping has fields other than these, including unknown ones.
func writtenBeside(n *strict.Node, names ...string) bool {
	for i, key := range n.Keys {
		if n.Items[i].Written() && !slices.Contains(names, key.Name) {
			return true
		}
	}
	return false
}

// checkPodName reports names of pods and workloads that the scenario does not have.
func (c *checker) checkPodName(name string, n *strict.Node) {
	switch {
	case name == "" && n.Written():
		n.Errorf("is empty: name a pod or workload, or leave the field out")
	case name != "":
		for _, one := range c.checkRange(name, n) {
			if c.resolved() && c.scenario.podCount(one) == 0 {
				n.Errorf("the scenario has no pod or workload %s%s", strict.Quote(one), strict.OrList(one, c.scenario.podNames()))
				return
			}
		}
	}
}

// resolved reports whether all pods of the scenario are known. Otherwise an unknown name may belong to one that
// could not be read.
func (c *checker) resolved() bool {
	return !c.replicasUnread && len(c.scenario.workloads) == len(c.scenario.Spec.Pods) && !c.spec.Field("pods").Unread()
}

// known reports whether all pods that a name matches are known.
func (c *checker) known(name string) bool {
	return c.resolved() || name != "" && c.scenario.podCount(name) > 0
}

// matching returns the workloads with pods that a name matches.
func (c *checker) matching(name string) []*workload {
	found, known := c.matches[name]
	if !known {
		found = c.scenario.matching(name)
		c.matches[name] = found
	}
	return found
}

// checkContainerName reports a container that one of the pods does not have.
func (c *checker) checkContainerName(pod, container string, n *strict.Node) {
	if container == "" {
		if n.Written() {
			n.Errorf("is empty: name a container, or leave the field out")
		}
		return
	}
	key := [2]string{pod, container}
	if c.haveContainer[key] {
		return
	}
	if isRange(container) {
		for _, one := range c.checkRange(container, n) {
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
			n.Errorf("%s has no container %s%s%s", w.manifest.name, strict.Quote(container), strict.OrList(container, w.containerNames()), hint)
			return
		}
	}
	c.haveContainer[key] = true
}
