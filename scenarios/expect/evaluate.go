package expect

import (
	"probesim.dev/scenarios"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// evaluate checks an expectation and adds what does not hold to f.
func (c *checker) evaluate(e *scenarios.Expect, f *failures) {
	keys := c.subjects(e)
	switch {
	case e.Pods == nil:
		for _, key := range keys {
			c.checkPod(e, key, f)
		}
	case e.Status != nil:
		c.checkStatusOfPods(e, keys, f)
	default:
		c.checkPodCount(e, keys, f)
	}
}

// checkPod checks an expectation for one pod.
func (c *checker) checkPod(e *scenarios.Expect, key string, f *failures) {
	if e.Order != nil {
		c.order(e, key, f)
		return
	}
	windows := c.windows(e, key, f)
	if len(windows) == 0 {
		return
	}
	switch {
	case e.Status != nil:
		c.status(e, []string{key}, c.signal(e, key), windows, f)
	case e.Transitions != nil:
		c.transitions(e, key, windows, f)
	default:
		c.moments(e, key, windows, f)
	}
}

// subjects returns the keys of the pods that an expectation is about. The empty key stands for the node.
func (c *checker) subjects(e *scenarios.Expect) []string {
	if e.Pod == "" && e.Pods == nil && ofNode(e.Moment()) && (e.Since == nil || ofNode(e.Since)) {
		return []string{""}
	}
	return c.scenario.PodKeys(e.Pod)
}

func ofNode(m *match.Moment) bool {
	return m != nil && m.Record != nil && (m.Record.Kind == trace.KubeletStopped || m.Record.Kind == trace.KubeletStarted)
}

// internalKind returns the first internal kind of record that an expectation names, or "" if it names none.
func internalKind(e *scenarios.Expect) trace.Kind {
	moments := append([]*match.Moment{e.Since, e.Moment()}, e.Order...)
	for _, m := range moments {
		if internalMoment(m) {
			return m.Record.Kind
		}
	}
	return ""
}

func internalMoment(m *match.Moment) bool {
	return m != nil && m.Record != nil && !m.Record.Kind.Observable()
}
