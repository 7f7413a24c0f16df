package validation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// matcherWindows lists the windows that each matcher takes.
var matcherWindows = []struct {
	name    string
	windows []string
}{
	{"status", []string{"at", "within", "always", "never"}},
	{"becomes", []string{"within", "first", "never"}},
	{"record", []string{"within", "first", "never"}},
	{"transitions", []string{"within"}},
	{"order", nil},
	{"lost", []string{"within"}},
}

// checkExpect checks the expectations.
func (c *checker) checkExpect() {
	n := c.spec.Field("expect")
	if !format.Fits(n) {
		return
	}
	for i, e := range c.scenario.Spec.Expect {
		item := n.Index(i)
		if e == nil {
			continue
		}
		markUnread(&e.Pod, item.Field("pod"))
		markUnread(&e.Container, item.Field("container"))
		e.Path, e.Text = item.Path(), item.Text("name")
		if e.Runs == "" {
			e.Runs = format.EveryRun
		}
		switch matcher := c.checkMatcherCount(item); {
		case matcher == "":
		case matcher == "lost" || item.Field("workload").Written() && (matcher == "status" || matcher == "becomes"):
			c.checkWindow(e, item)
			if matcher == "lost" {
				c.checkLost(e, item)
			} else {
				c.checkWorkload(e, item)
			}
			c.checkRuns(e, item)
		default:
			item.Refuse([]string{"workload", "service"}, "cannot be used with %s", matcher)
			c.checkScope(e, item, matcher)
			c.checkWindow(e, item)
			c.checkMatcher(e, item)
			c.checkRuns(e, item)
		}
	}
}

// checkMatcherCount returns the matcher of an expectation. It returns an empty string after
// reporting that there is not exactly one.
func (c *checker) checkMatcherCount(n *strict.Node) string {
	var matchers []string
	var possible []string
	for _, m := range matcherWindows {
		if n.Field(m.name).Written() {
			matchers, possible = append(matchers, m.name), m.windows
		}
	}
	if len(matchers) == 0 {
		n.Errorf("has no matcher: write one of status, becomes, record, transitions, order and lost")
		return ""
	}
	if len(matchers) > 1 {
		n.Errorf("has several matchers, %s: write one expectation for each", strings.Join(matchers, " and "))
		return ""
	}
	windows := n.WrittenOf("at", "within", "first", "always", "never")
	switch {
	case len(windows) > 1:
		n.Errorf("has several windows, %s: write one expectation for each", strings.Join(windows, " and "))
	case len(windows) == 1 && !slices.Contains(possible, windows[0]):
		takes := "which has no window"
		if len(possible) > 0 {
			takes = "which takes " + strings.Join(possible, ", ")
		}
		n.Field(windows[0]).Errorf("%s cannot be used with %s, %s", windows[0], matchers[0], takes)
	case len(windows) == 0 && matchers[0] == "status":
		n.Errorf("status needs a window: one of at, within, always and never")
	}
	return matchers[0]
}

// checkScope checks the pods and containers that an expectation applies to.
func (c *checker) checkScope(e *format.Expect, n *strict.Node, matcher string) {
	c.checkPodName(e.Pod, n.Field("pod"))
	if matcher == "order" {
		if e.OrderHasPods() {
			n.Refuse([]string{"pod", "pods"}, "has no effect: each item of order has its own pod")
		}
		n.Refuse([]string{"since"}, "cannot be used with order, which has no window")
	}
	if !n.Field("pod").Bad() {
		c.checkContainerName(e.Pod, e.Container, n.Field("container"))
	}
	n.Field("instance").ErrorIf(e.Instance != nil && matcher != "record",
		"cannot be used with %s: only a record has an instance", matcher)
	c.checkCounts(e, n, matcher)
}

// checkCounts checks the number of moments, and of pods.
func (c *checker) checkCounts(e *format.Expect, n *strict.Node, matcher string) {
	count, field := n.Field("count"), n.Field("pods")
	count.ErrorIf(e.Count != nil && (e.Window().Kind != format.Within || matcher != "becomes" && matcher != "record"),
		"can be used only with within and one of becomes and record")
	checkAny(count, e.Count)
	checkAny(field, e.Pods)
	// how many pods there are can depend on the run
	if e.Pods == nil || field.Bad() || !c.known(e.Pod) || c.scenario.IsControlled(e.Pod) {
		return
	}
	pods := c.scenario.PodCount(e.Pod)
	only := printable.Count(pods, "pod")
	field.ErrorIf(pods > 0 && e.Pods.Min > pods, "the expectation is about only %s", only)
	field.ErrorIf(pods > 0 && e.Pods.Min <= 0 && e.Pods.Max >= pods,
		"%s is any number of pods, because the expectation is about only %s", e.Pods, only)
}

// checkAny reports a range of all numbers.
func checkAny(n *strict.Node, r *value.IntRange) {
	n.ErrorIf(r != nil && r.Min <= 0 && r.Max == value.OpenMax && !n.Bad(),
		"%s is any number, so the expectation always holds", r)
}

// checkWindow reports windows that extend beyond the end of the run.
func (c *checker) checkWindow(e *format.Expect, n *strict.Node) {
	window := e.Window()
	field := n.Field(string(window.Kind))
	duration := c.scenario.Spec.Duration.Time()
	late := func(t time.Duration) bool {
		return t != value.OpenMaxTime && t != value.OpenMinTime && t > duration
	}
	field.ErrorIf(field.Written() && !field.Bad() && (late(window.Max) || late(window.Min)),
		"%s extends beyond the end of the run at %s", window.TimeRange, value.Format(duration))
	field.ErrorIf(window.Kind == format.Never && window.Min == window.Max && e.Since == nil && e.Moment() != nil &&
		!field.Bad(), "%s is a single instant: write a range, such as ..%[1]s", window.TimeRange)
}

// checkMatcher checks the fields of the matchers and gives them their types.
func (c *checker) checkMatcher(e *format.Expect, n *strict.Node) {
	for _, container := range format.NamesOf(e.Container) {
		if e.Status != nil {
			e.Status.Check(n.Field("status"), container, c.reasons())
		}
		if e.Becomes != nil {
			e.Becomes.Check(n.Field("becomes"), container, c.reasons())
		}
		if e.Record != nil {
			c.checkRecord(e.Record, n)
		}
		if n.Bad() {
			break // the other containers of a range have the same errors
		}
	}
	if e.Transitions != nil {
		e.Transitions.Check(n.Field("transitions"), e.Container, c.reasons())
	}
	if e.Since != nil {
		if !n.Field("container").Bad() {
			c.inherit(e, e.Since, n.Field("since"))
		}
		if !n.Field("since").Bad() && !n.Field("instance").Bad() {
			inheritInstance(e)
		}
		c.checkAnchor(e, e.Since, n.Field("since"))
	}
	order := n.Field("order")
	order.ErrorIf(e.Order != nil && len(e.Order) < 2, "needs at least two items")
	for i, m := range e.Order {
		if m != nil {
			if !n.Field("container").Bad() {
				c.inherit(e, m, order.Index(i))
			}
			c.checkAnchor(e, m, order.Index(i))
		}
	}
}

// checkAnchor checks since or an item of order, which can be about other pods than the expectation.
func (c *checker) checkAnchor(e *format.Expect, m *match.Moment, n *strict.Node) {
	markUnread(&m.Pod, n.Field("pod"))
	c.checkPodName(m.Pod, n.Field("pod"))
	c.checkMoment(m, cmp.Or(m.Pod, e.Pod), n)
	if m.Pod != "" {
		pairs := c.scenario.PodCount(e.Pod) * c.scenario.PodCount(m.Pod)
		n.Field("pod").ErrorIf(pairs > format.MaxPods,
			"compares %d pairs of pods: name fewer pods, so that there are at most %d", pairs, format.MaxPods)
	}
}

// inherit sets the container of since or of an item of order to that of the expectation, if it is
// about the same pod and can be about the container: "container: app, since: {becomes: {started:
// true}}" counts from the moment when app has started.
func (c *checker) inherit(e *format.Expect, m *match.Moment, n *strict.Node) {
	if e.Container == "" || m.Container != "" || n.Field("container").Written() || n.Field("pod").Written() || n.Bad() {
		return
	}
	if m.Record != nil && c.canBeOf(m.Record, e.Pod, e.Container) ||
		m.Becomes != nil && m.Becomes.OfContainer(n.Field("becomes"), c.reasons()) {
		m.Container = e.Container
	}
}

// canBeOf reports whether a record can be about a container: a record of a probe needs a container
// that has the probe.
func (c *checker) canBeOf(r *match.Record, pod, container string) bool {
	return slices.ContainsFunc(r.Shapes(true), func(s match.Shape) bool {
		words, named := s.Words["probe"]
		return !named || slices.ContainsFunc(words, func(word string) bool { return c.probesOf(pod, container)[word] })
	})
}

// probesOf returns the probes that a container has in any of the pods that a name matches, and no
// probe.
func (c *checker) probesOf(pod, container string) map[string]bool {
	key := [2]string{pod, container}
	probes, known := c.probes[key]
	if known {
		return probes
	}
	probes = map[string]bool{"": true}
	for _, w := range c.matching(pod) {
		for _, name := range format.NamesOf(container) {
			if spec := cmp.Or(w.withAdded[name], w.container(name)); spec != nil {
				for _, p := range podutil.Probes(spec) {
					probes[p.Key] = true
				}
			}
		}
	}
	c.probes[key] = probes
	return probes
}

// inheritInstance sets the container and instance of since to those of the expectation, unless
// since has its own or is not about the records of a container: "instance: 1, since: {record:
// {kind: ContainerStarted}}" counts from the start of instance 1.
func inheritInstance(e *format.Expect) {
	m := e.Since
	if e.Instance == nil || m.Instance != nil || m.Record == nil || len(m.Record.Shapes(true)) == 0 {
		return
	}
	if m.Container == "" || m.Container == e.Container {
		m.Container, m.Instance = e.Container, e.Instance
	}
}

// checkMoment checks a matcher of moments: since, or an item of order. pod is the pod or workload
// that it applies to.
func (c *checker) checkMoment(m *match.Moment, pod string, n *strict.Node) {
	if len(n.WrittenOf("becomes", "record")) != 1 {
		n.Errorf("must have either becomes or record")
		return
	}
	markUnread(&m.Container, n.Field("container"))
	n.Field("container").ErrorIf(n.Field("container").Written() && format.IsRange(m.Container),
		"cannot be a range: name one container, or write the range beside since or order")
	n.Field("instance").ErrorIf(m.Instance != nil && m.Record == nil,
		"cannot be used with becomes: only a record has an instance")
	c.checkContainerName(pod, m.Container, n.Field("container"))
	if m.Record != nil {
		c.checkRecord(m.Record, n)
	}
	if m.Becomes != nil {
		m.Becomes.Check(n.Field("becomes"), m.Container, c.reasons())
	}
}

// checkRecord checks a record. n is the mapping that contains it.
func (c *checker) checkRecord(r *match.Record, n *strict.Node) {
	if n.Field("record").Bad() {
		return
	}
	r.CheckScope(n)
	longest, what := c.scenario.Spec.Duration.Time(), "the run lasts"
	switch r.Kind {
	case trace.ProbeExecuted:
	case trace.BackOff:
		longest, what = maxBackOff.Time(), "the longest back-off is"
	default:
		return
	}
	for _, f := range r.Fields {
		n.Find("record.took").ErrorIf(f.Name == "took" && !f.Match.Overlaps(0, int64(longest)),
			"took is never %s: %s %s", f.Match, what, value.Format(longest))
	}
}

// containerReasons returns the reasons that the status of a container can have, with those that
// kill steps give. It returns nil if a step could not be read.
func (c *checker) containerReasons() []string {
	if c.spec.Field("steps").Unread() {
		return nil
	}
	reasons := slices.Clone(match.ContainerReasons)
	for _, step := range c.scenario.Spec.Steps {
		if len(step.Actions()) != 1 {
			return nil
		}
		if step.Kill != nil {
			reasons = append(reasons, step.Kill.ReasonOr())
		}
	}
	return reasons
}

// checkRuns checks the runs and versions that an expectation applies to.
func (c *checker) checkRuns(e *format.Expect, n *strict.Node) {
	checkWord(n.Field("runs"), e.Runs, format.EveryRun, format.SomeRun)
	versions := n.Field("kubernetesVersions")
	versions.ErrorIf(len(e.KubernetesVersions) > 0 && !versions.Bad() && len(c.versions) > 0 &&
		!slices.ContainsFunc(c.versions, e.AppliesTo), "the scenario runs none of these versions, only %s",
		listVersions(c.versions))
}
