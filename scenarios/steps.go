package scenarios

import (
	"probesim.dev/scenarios/strict"
	"probesim.dev/scenarios/value"
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
		switch {
		case s.Delete != nil:
			c.checkDelete(s.Delete, item.Field("delete"))
		case !writtenBeside(item, "at", "since", "after"):
			item.Errorf("does nothing: say what happens, as in delete: {}")
		}
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

func (c *checker) checkDelete(d *Delete, n *strict.Node) {
	c.checkPodName(d.Pod, n.Field("pod"))
	if count := c.scenario.podCount(""); !n.Field("pod").Written() && count > 1 {
		n.Errorf("there are %d pods: say which with pod", count)
	}
	longest := int64(value.MaxDuration.Seconds())
	if g := d.GracePeriodSeconds; g != nil && (*g < 0 || *g > longest) {
		n.Field("gracePeriodSeconds").Errorf("must be from 0 to %d and not %d", longest, *g)
	}
}
