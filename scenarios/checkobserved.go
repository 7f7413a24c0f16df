package scenarios

import "probesim.dev/internal/strict"

// checkObserved refuses to refresh what has no value that can be seen.
func checkObserved(e *Expect, n *strict.Node) {
	field := n.Field("observed")
	if !e.Observed || field.Bad() {
		return
	}
	refuse := func(why string) { field.Errorf("%s", why) }
	switch kind := e.Window().Kind; {
	case e.Pods != nil:
		refuse("does not go with pods: how many there are is not refreshed")
	case e.Runs == SomeRun:
		refuse("does not go with runs: some: what was seen is so in every run")
	case e.Transitions != nil && e.Transitions.Any:
		refuse("does not go with any, which leaves open what follows: all values are refreshed")
	case e.Transitions != nil, e.Moment() != nil && kind == First, e.Moment() != nil && e.Count != nil, e.Status != nil && kind == At:
	case e.Moment() != nil && kind == Within:
		refuse("needs a count: that is what is refreshed")
	default:
		refuse("has nothing to refresh: it goes with transitions, first, count, and status with at")
	}
}
