package scenarios

import (
	"slices"

	"probesim.dev/internal/strict"
)

// unreadName stands for a name that is written but could not be read: it means no pod and no container.
const unreadName = "?"

// standIn puts unreadName for a name that could not be read.
func standIn(name *string, n *strict.Node) {
	if n.Unread() {
		*name = unreadName
	}
}

// writtenBeside reports whether a mapping has a field other than these, also one that nobody knows.
func writtenBeside(n *strict.Node, names ...string) bool {
	for i, key := range n.Keys {
		if n.Items[i].Written() && !slices.Contains(names, key.Name) {
			return true
		}
	}
	return false
}

// checkPodName refuses a pod or workload that the scenario does not have.
func (c *checker) checkPodName(name string, n *strict.Node) {
	switch {
	case name == "" && n.Written():
		n.Errorf("is empty: name a pod or workload, or leave the field out")
	case name != "" && c.resolved() && c.scenario.podCount(name) == 0:
		n.Errorf("the scenario has no pod or workload %s%s", strict.Quote(name), strict.DidYouMean(name, c.scenario.podNames()))
	}
}

// resolved reports whether all pods of the scenario are known, so that a name can be called unknown.
func (c *checker) resolved() bool {
	for _, w := range c.scenario.workloads {
		if w.uncounted {
			return false
		}
	}
	return len(c.scenario.workloads) == len(c.scenario.Spec.Pods) && !c.spec.Field("pods").Unread()
}

// known reports whether all pods that a name means are known.
func (c *checker) known(name string) bool {
	return c.resolved() || name != "" && c.scenario.podCount(name) > 0
}

// checkContainerName refuses a container that one of the pods does not have.
func (c *checker) checkContainerName(pod, container string, n *strict.Node) {
	if container == "" {
		if n.Written() {
			n.Errorf("is empty: name a container, or leave the field out")
		}
		return
	}
	for _, w := range c.scenario.workloads {
		if _, count := w.named(pod); count > 0 && !w.unread && w.container(container) == nil {
			hint := ""
			if pod == "" && len(c.scenario.Spec.Pods) > 1 {
				hint = ": name the pods you mean with pod"
			}
			n.Errorf("%s has no container %s%s%s", w.manifest.name, strict.Quote(container), strict.DidYouMean(container, w.containerNames()), hint)
			return
		}
	}
}
