package scenarios

import (
	"strings"

	"probesim.dev/scenarios/strict"
)

// checkSteps checks what people and the world do.
func (c *checker) checkSteps() {
	n := c.spec.Field("steps")
	if !c.fits(n) {
		return
	}
	for i, s := range c.scenario.Spec.Steps {
		item := n.Index(i)
		if s == nil || item.Bad() {
			continue
		}
		s.Path, s.Text = item.Path(), item.Text()
		c.checkStepTime(s, item)
		c.checkAction(s, item)
	}
}

// checkAction checks that a step does one thing, and that.
func (c *checker) checkAction(s *Step, n *strict.Node) {
	switch actions := s.actions(); len(actions) {
	case 0:
		n.Errorf("does nothing: say what happens, as in delete: {}")
	case 1:
		actions[0].check(c, n.Field(actions[0].name()))
	default:
		var names []string
		for _, a := range actions {
			names = append(names, a.name())
		}
		n.Errorf("has several actions, %s: write a step for each", strings.Join(names, " and "))
	}
}

func (c *checker) checkStepTime(s *Step, n *strict.Node) {
	at, since, after := n.Field("at"), n.Field("since"), n.Field("after")
	switch {
	case s.At == nil && s.Since == nil:
		n.Errorf("has no time: say when it happens with at, or with since and after")
	case s.At != nil && (s.Since != nil || s.After != nil):
		n.Errorf("has two clocks: a step has at, or since and after")
	case s.At != nil:
		checkAt(at, s.At, c.scenario.Spec.Duration)
	default:
		c.checkPodName(s.Since.Pod, since.Field("pod"))
		c.checkMoment(s.Since, s.Since.Pod, since)
		if s.After != nil {
			checkAt(after, s.After, c.scenario.Spec.Duration)
		}
	}
}

// checkTarget checks which pods an action is about.
func (c *checker) checkTarget(pod string, n *strict.Node) {
	c.checkPodName(pod, n.Field("pod"))
	if count := c.scenario.podCount(""); pod == "" && count > 1 {
		n.Errorf("there are %d pods: say which with pod", count)
	}
}

// checkPodName refuses a pod or workload that the scenario does not have.
func (c *checker) checkPodName(name string, n *strict.Node) {
	if name == "" || !c.resolved() || c.scenario.podCount(name) > 0 {
		return
	}
	n.Errorf("the scenario has no pod or workload %s%s", strict.Quote(name), strict.DidYouMean(name, c.scenario.podNames()))
}

// resolved reports whether all pods of the scenario are known, so that a name can be called unknown.
func (c *checker) resolved() bool {
	return len(c.scenario.workloads) == len(c.scenario.Spec.Pods)
}

// checkContainerName refuses a container that one of the pods does not have.
func (c *checker) checkContainerName(pod, container string, n *strict.Node) {
	if container == "" || !c.resolved() {
		return
	}
	for _, w := range c.scenario.workloads {
		if _, count := w.named(pod); count > 0 && w.container(container) == nil {
			hint := ""
			if pod == "" && len(c.scenario.workloads) > 1 {
				hint = ": say which pods are meant with pod"
			}
			n.Errorf("%s has no container %s%s%s", w.manifest.name, strict.Quote(container), strict.DidYouMean(container, w.containerNames()), hint)
			return
		}
	}
}
