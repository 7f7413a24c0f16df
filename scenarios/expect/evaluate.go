package expect

import (
	"probesim.dev/scenarios"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// evaluate reports to f whatever does not hold.
func (c *checker) evaluate(e *scenarios.Expect, f *failures) {
	keys := c.subjects(e)
	switch {
	case e.Pods == nil:
		for _, key := range keys {
			c.one(e, key, f)
		}
	case e.Status != nil:
		c.together(e, keys, f)
	default:
		c.soMany(e, keys, f)
	}
}

// one checks an expectation for one pod.
func (c *checker) one(e *scenarios.Expect, key string, f *failures) {
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

// subjects returns the pods that an expectation is about. The node is the pod without a name.
func (c *checker) subjects(e *scenarios.Expect) []string {
	if e.Pod == "" && e.Pods == nil && ofNode(e.Moment()) && (e.Since == nil || ofNode(e.Since)) {
		return []string{""}
	}
	return c.scenario.PodKeys(e.Pod)
}

func ofNode(m *match.Moment) bool {
	return m != nil && m.Record != nil && (m.Record.Kind == trace.KubeletStopped || m.Record.Kind == trace.KubeletStarted)
}

// internalKind returns an internal kind of record that an expectation names, if it names one.
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
