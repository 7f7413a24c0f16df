package validation

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// facts are what the pods and containers in the scope of an expectation have.
type facts struct {
	probes              [3]bool // in the order of ProbeKeys
	postStart, preStop  bool
	deadline            bool // activeDeadlineSeconds
	unread, noContainer bool // some could not be read; the names match no container
}

// scope is a pod or workload, and a container. Empty names match all.
type scope struct{ pod, container string }

// factsOf collects the facts of a scope.
func (c *checker) factsOf(s scope) facts {
	if f, known := c.facts[s]; known {
		return f
	}
	f := facts{noContainer: true, unread: !c.known(s.pod)}
	for _, w := range c.matching(s.pod) {
		f.unread = f.unread || w.unread
		f.deadline = f.deadline || w.Pod.Spec.ActiveDeadlineSeconds != nil
		containers := w.allContainers()
		if s.container != "" {
			containers = nil
			for _, name := range format.NamesOf(s.container) {
				if spec := w.container(name); spec != nil {
					containers = append(containers, spec)
				}
			}
		}
		for _, spec := range containers {
			f.noContainer = false
			f.add(cmp.Or(w.withAdded[spec.Name], spec))
		}
	}
	if c.facts == nil {
		c.facts = map[scope]facts{}
	}
	c.facts[s] = f
	return f
}

func (f *facts) add(spec *v1.Container) {
	for i, probe := range []*v1.Probe{spec.LivenessProbe, spec.ReadinessProbe, spec.StartupProbe} {
		f.probes[i] = f.probes[i] || probe != nil
	}
	if spec.Lifecycle != nil {
		f.postStart = f.postStart || spec.Lifecycle.PostStart != nil
		f.preStop = f.preStop || spec.Lifecycle.PreStop != nil
	}
}

// checkRecord reports a record that no run of the scenario has. With never, it would always hold. n
// is the mapping that contains the record.
func (c *checker) checkRecord(r *match.Record, s scope, n *strict.Node) {
	if n.Field("record").Bad() || !r.CheckScope(n) {
		return
	}
	c.checkTook(r, n.Field("record").Field("took"))
	if f := c.factsOf(s); f.unread || f.noContainer {
		return // reported elsewhere
	}
	var field string
	var all []string // what is missing
	for _, shape := range r.Shapes(s.container != "" || n.Field("instance").Written()) {
		in, missing := c.missing(r.Kind, shape, s)
		if len(missing) == 0 {
			return
		}
		field = in
		for _, m := range missing {
			if !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	at := n.Field("record").Field(field)
	if !at.Written() {
		at = n.Field("record").Field("kind")
	}
	at.Errorf("cannot occur: %s", strings.Join(all, ", "))
}

// isPossible reports whether a run of the scenario can have such records about a container.
func (c *checker) isPossible(r *match.Record, s scope) bool {
	shapes := r.Shapes(true)
	if f := c.factsOf(s); f.unread || f.noContainer {
		return len(shapes) > 0
	}
	return slices.ContainsFunc(shapes, func(shape match.Shape) bool {
		_, missing := c.missing(r.Kind, shape, s)
		return len(missing) == 0
	})
}

// checkState checks the fields of a status, and reports a reason that no pod or container of the
// scenario can have.
func (c *checker) checkState(f match.Fields, s scope, n *strict.Node) {
	f.Check(n, s.container, c.killReasons())
	if has := c.factsOf(s); n.Bad() || has.unread || has.noContainer {
		return
	}
	var all []string
	for _, reason := range f.Reasons(s.container != "") {
		missing := c.needOfReason(reason, s)
		if missing == "" {
			return
		}
		all = append(all, missing)
	}
	if len(all) > 0 {
		n.Field("reason").Errorf("cannot occur: %s", strings.Join(all, ", "))
	}
}

// needOfReason returns what the scenario needs and does not have for a reason in the status of a
// pod or container.
func (c *checker) needOfReason(reason string, s scope) string {
	f := c.factsOf(s)
	switch reason {
	case "DeadlineExceeded":
		return need(f.deadline, noDeadline)
	case "Evicted":
		return c.needStep(s, "evict")
	case "NodeShutdown", "Terminated":
		return c.needStep(scope{}, "shutdownNode")
	case "OutOfcpu", "OutOfmemory":
		return c.needSize(reason)
	case "PostStartHookError":
		return need(f.postStart, noPostStart)
	}
	return ""
}

// missing returns what the scenario needs and does not have for records of a shape, and the field
// whose words need it. It returns nothing if the records are possible: each field has a word that
// needs nothing more.
func (c *checker) missing(kind trace.Kind, shape match.Shape, s scope) (field string, what []string) {
	if need := c.needOfKind(kind, s); need != "" {
		return "kind", []string{need}
	}
	for _, field := range []string{"probe", "reason"} {
		words := shape.Words[field]
		var what []string
		for _, word := range words {
			need := c.needOf(kind, field, word, s)
			if need == "" {
				what = nil
				break
			}
			what = append(what, need)
		}
		switch {
		case what == nil:
		case field == "probe" && len(what) == len(format.ProbeKeys):
			return field, []string{noProbe}
		default:
			return field, what
		}
	}
	return "", nil
}

const (
	noProbe     = "no container that this matches has a probe"
	noPostStart = "no container that this matches has a postStart hook"
	noDeadline  = "no pod that this matches has activeDeadlineSeconds"
)

// needOfKind returns what the scenario needs and does not have for records of a kind.
func (c *checker) needOfKind(kind trace.Kind, s scope) string {
	switch kind {
	case trace.KubeletStopped, trace.KubeletStarted:
		return c.needStep(scope{}, "restartKubelet", "rebootNode")
	case trace.PodDeleteRequested, trace.PodRemoved:
		if c.scenario.IsControlled(s.pod) {
			return ""
		}
		if kind == trace.PodDeleteRequested {
			return c.needStep(s, "delete")
		}
		return c.needStep(s, c.endings(s)...)
	}
	return ""
}

// endings returns the actions that end pods in a scope.
func (c *checker) endings(s scope) []string {
	if slices.ContainsFunc(c.matching(s.pod), func(w *workload) bool { return w.Spec.Static }) {
		return []string{"delete", "removeManifest", "setManifest"}
	}
	return []string{"delete"}
}

// needOf returns what the scenario needs and does not have for records with a word in a field.
func (c *checker) needOf(kind trace.Kind, field, word string, s scope) string {
	f := c.factsOf(s)
	if field == "probe" {
		return f.needProbe(word)
	}
	switch kind {
	case trace.SyncLoop:
		return c.factsOf(scope{pod: s.pod}).needProbe(word)
	case trace.Step:
		return c.needStep(s, word)
	}
	switch word {
	case "LivenessProbe":
		return f.needProbe("liveness")
	case "StartupProbe":
		return f.needProbe("startup")
	case "Unhealthy", "ProbeWarning":
		return need(f.probes != [3]bool{}, noProbe)
	case "FailedPostStartHook":
		return need(f.postStart, noPostStart)
	case "FailedPreStopHook":
		return need(f.preStop, "no container that this matches has a preStop hook")
	case "DeadlineExceeded":
		return need(f.deadline, noDeadline)
	case "ImageChanged":
		return c.needStep(s, "patch")
	case trace.ProbeChanged:
		return need(c.spec.Field("steps").Unread() || c.scenario.ChangesProbes(), "no step changes a probe")
	case "Resized":
		if slices.ContainsFunc(c.profiles(), func(p profile.Profile) bool { return !p.InspectReadsResources }) {
			return c.needStep(s, "resize", "delete") // a removed pod can seem to be resized
		}
		return c.needStep(s, "resize")
	case "ResizeStarted", "ResizeCompleted", "ResizeDeferred", "ResizeError":
		return c.needStep(s, "resize")
	case "ResizeInfeasible":
		if missing := c.needSize(word); missing != "" {
			return missing
		}
		return c.needStep(s, "resize")
	case "OutOfcpu", "OutOfmemory":
		return c.needSize(word)
	case "Deleted":
		if c.scenario.IsControlled(s.pod) {
			return ""
		}
		return c.needStep(s, c.endings(s)...)
	case "NodeShutdown":
		return c.needStep(scope{}, "shutdownNode")
	}
	if kind == trace.Event && word == "Evicted" {
		return c.needStep(s, "evict")
	}
	return ""
}

// needSize returns what is missing for a rejection because the node is too small.
func (c *checker) needSize(reason string) string {
	size, n := c.scenario.Spec.Kubelet.Allocatable, c.spec.Field("kubelet").Field("allocatable")
	switch {
	case n.Unread():
		return ""
	case size == nil:
		return "the scenario gives no kubelet.allocatable"
	case reason == "OutOfcpu" && size.CPU == nil:
		return "the scenario gives no kubelet.allocatable.cpu"
	case reason == "OutOfmemory" && size.Memory == nil:
		return "the scenario gives no kubelet.allocatable.memory"
	case reason == "ResizeInfeasible" && !slices.ContainsFunc(c.profiles(),
		func(p profile.Profile) bool { return !p.ResizeReasonOfAdmission }):
		return "a resize that exceeds the node is infeasible only up to v1.35, and deferred in later versions"
	}
	return ""
}

// needProbe returns what is missing if word is the type of a probe that no container has.
func (f facts) needProbe(word string) string {
	i := slices.Index(format.ProbeKeys, word)
	return need(i < 0 || f.probes[i], "no container that this matches has a "+word+"Probe")
}

func need(has bool, otherwise string) string {
	if has {
		return ""
	}
	return otherwise
}

// needStep returns what is missing if the scenario has none of the actions in a scope.
func (c *checker) needStep(s scope, actions ...string) string {
	for _, done := range c.stepsDone() {
		if done.name == "" || slices.Contains(actions, done.name) && c.overlap(done.target, s) {
			return ""
		}
	}
	what := "no step has the action " + strings.Join(actions, " or ")
	if s.pod != "" {
		what += " for " + s.pod
	}
	return what
}

// stepDone is the action of a step; its name is empty if it could not be read.
type stepDone struct {
	name   string
	target scope
}

// stepsDone returns the actions of the steps.
func (c *checker) stepsDone() []stepDone {
	if c.done != nil {
		return c.done
	}
	list := []stepDone{}
	if c.spec.Field("steps").Unread() {
		list = append(list, stepDone{})
	}
	for _, step := range c.scenario.Spec.Steps {
		var done stepDone
		if actions := step.Actions(); len(actions) == 1 {
			done = stepDone{actions[0].Name, scope{pod: actions[0].Target}}
			if step.Kill != nil {
				done.target.container = step.Kill.Container
			}
		}
		list = append(list, done)
	}
	c.done = list
	return list
}

// overlap reports whether two scopes have a container in common.
func (c *checker) overlap(a, b scope) bool {
	ranges := format.IsRange(a.container) || format.IsRange(b.container)
	if a.container != "" && b.container != "" && a.container != b.container && !ranges {
		return false
	}
	if a.pod == "" || b.pod == "" || a.pod == b.pod {
		return true
	}
	if format.IsRange(a.pod) || format.IsRange(b.pod) {
		return haveCommon(c.matching(a.pod), c.matching(b.pod))
	}
	others := c.matching(b.pod)
	for _, w := range c.matching(a.pod) {
		if !slices.Contains(others, w) {
			continue
		}
		from, n := w.Named(a.pod)
		other, m := w.Named(b.pod)
		if n > 0 && m > 0 && from < other+m && other < from+n {
			return true
		}
	}
	return false
}

// haveCommon reports whether two lists in the order of the scenario have a workload in common.
func haveCommon(a, b []*workload) bool {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Index == b[0].Index:
			return true
		case a[0].Index < b[0].Index:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return false
}

// killReasons returns the reasons that kill steps give to containers.
func (c *checker) killReasons() match.Kills {
	if c.kills != nil {
		return *c.kills
	}
	var kills match.Kills
	for _, done := range c.stepsDone() {
		kills.Unknown = kills.Unknown || done.name == ""
	}
	for _, step := range c.scenario.Spec.Steps {
		if step != nil && step.Kill != nil {
			kills.Reasons = append(kills.Reasons, step.Kill.ReasonOr())
		}
	}
	slices.Sort(kills.Reasons)
	kills.Reasons = slices.Compact(kills.Reasons)
	c.kills = &kills
	return kills
}

// checkTook reports a duration that is longer than the run, or longer than the longest back-off.
func (c *checker) checkTook(r *match.Record, n *strict.Node) {
	longest, what := c.scenario.Spec.Duration.Time(), "the run lasts"
	switch r.Kind {
	case trace.ProbeExecuted:
	case trace.BackOff:
		longest, what = maxBackOff.Time(), "the longest back-off is"
	default:
		return
	}
	for _, f := range r.Fields {
		if f.Name == "took" && !f.Match.Overlaps(0, int64(longest)) {
			n.Errorf("took is never %s: %s %s", f.Match, what, value.Format(longest))
		}
	}
}
