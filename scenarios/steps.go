package scenarios

import (
	"strings"

	"probesim.dev/internal/strict"
)

// checkSteps checks what people and the world do.
func (c *checker) checkSteps() {
	n := c.spec.Field("steps")
	if !c.fits(n) {
		return
	}
	for i, s := range c.scenario.Spec.Steps {
		item := n.Index(i)
		if s == nil {
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
		if !writtenBeside(n, "at", "since", "after") {
			n.Errorf("does nothing: say what happens, as in delete: {}")
		}
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
		standIn(&s.Since.Pod, since.Field("pod"))
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
	if count := c.scenario.podCount(""); !n.Field("pod").Written() && count > 1 {
		n.Errorf("there are %d pods: say which with pod", count)
	}
}
