package expect

import (
	"slices"

	"probesim.dev/scenarios/format"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// evaluate checks an expectation, for each of its containers, and adds what does not hold to f.
func (c *checker) evaluate(e *format.Expect, f *failures) {
	for _, one := range e.Each() {
		f.expect = one
		c.evaluateOne(one, f)
	}
	f.expect = e
}

func (c *checker) evaluateOne(e *format.Expect, f *failures) {
	if e.Lost != nil {
		c.lost(e, f)
		return
	}
	keys := c.subjects(e)
	switch {
	case len(keys) == 0:
		f.add(failure{kind: Unchecked, key: e.Pod, window: window{anchor: -1}, center: c.run.End, undecided: true,
			got: func() string { return "no such pod in the run, so nothing was checked" }})
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
func (c *checker) checkPod(e *format.Expect, key string, f *failures) {
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

// subjects returns the keys of the pods that an expectation is about. The empty key stands for the
// node.
func (c *checker) subjects(e *format.Expect) []string {
	if e.Workload != "" {
		return []string{c.scenario.Deployment(e.Workload).ObjectName()}
	}
	m := e.Moment()
	if e.Pod == "" && e.Pods == nil && m != nil && m.OfNode() && (e.Since == nil || e.Since.OfNode() ||
		e.Since.Pod != "") || e.OrderHasPods() {
		return []string{""}
	}
	return c.scenario.PodKeys(e.Pod, c.index.added)
}

// anchors returns the records that match since or an item of order: those of its own pods, or else
// those of the pod key.
func (c *checker) anchors(m *match.Moment, key string) []int {
	if m.Pod == "" {
		return c.index.moments(m, key)
	}
	all, known := c.ofPods[m]
	if !known {
		for _, key := range c.scenario.PodKeys(m.Pod, c.index.added) {
			all = append(all, c.index.moments(m, key)...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		c.ofPods[m] = all
	}
	return all
}

// others returns the pods that since and order name, beside those of the expectation.
func (c *checker) others(e *format.Expect) []string {
	var keys []string
	for _, m := range append([]*match.Moment{e.Since}, e.Order...) {
		if m != nil && m.Pod != "" {
			keys = append(keys, c.scenario.PodKeys(m.Pod, c.index.added)...)
		}
	}
	return keys
}

// internalKind returns the first internal kind of record that an expectation names, or "" if it
// names none.
func internalKind(e *format.Expect) trace.Kind {
	moments := append([]*match.Moment{e.Since, e.Moment()}, e.Order...)
	if i := slices.IndexFunc(moments, internalMoment); i >= 0 {
		return moments[i].Record.Kind
	}
	return ""
}

func internalMoment(m *match.Moment) bool {
	return m != nil && m.Record != nil && !m.Record.Kind.Observable()
}
