package reconstruct

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// tryNode adds what happens to the node, where facts about the pod tell it: an eviction has an event, and a reboot ends containers with
// exit code 255.
func tryNode(s *search, _ *part) []choice {
	m := s.model
	list := []choice{{name: "none", config: ptr("")}}
	for _, f := range m.pod.Facts {
		switch {
		case f.Kind == incident.Event && f.Reason == "Evicted" && f.When.Known():
			at := f.When.Best().Add(f.When.Within / 2).Sub(s.best.zero)
			for _, before := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond} {
				if at > before {
					list = append(list, choice{name: "evicted", steps: []string{fmt.Sprintf("at: %s, evict: {pod: %s}", value.Format(round(at-before)), m.pod.Name)}})
				}
			}
		case f.Kind == incident.Event && f.Reason == "SandboxChanged" && f.When.Known():
			list = append(list, s.reboots(f)...)
		case f.Kind == incident.Phase && f.Reason == "Evicted" && !m.hasEvent("Evicted"): // the kubelet dropped the event
			for _, at := range s.endsOfPod() {
				list = append(list, choice{name: "evicted", steps: []string{fmt.Sprintf("at: %s, evict: {pod: %s}", value.Format(at), m.pod.Name)}})
			}
		case f.Kind == incident.Phase && (f.Reason == "Terminated" || f.Reason == "Shutdown") && m.requested.After(s.best.zero):
			for _, config := range s.shutdowns() {
				step := fmt.Sprintf("at: %s, shutdownNode: {}", value.Format(max(round(m.requested.Sub(s.best.zero)), time.Millisecond)))
				list = append(list, choice{name: "shutdown", steps: []string{step}, config: ptr(config), deleted: &time.Time{}})
			}
		case f.Kind == incident.Terminated && f.ExitCode == 255 && f.Last.Known():
			at := f.Last.At.Add(f.Last.Within / 2).Sub(s.best.zero)
			for _, downtime := range []time.Duration{time.Minute, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, 45 * time.Second, 90 * time.Second, 2 * time.Minute} {
				if at > 0 {
					list = append(list, choice{name: "reboot", steps: []string{fmt.Sprintf("at: %s, rebootNode: {downtime: %s}", value.Format(round(at)), value.Format(downtime))}})
				}
			}
			for _, next := range m.pod.Facts {
				if next.Kind == incident.Running && next.Container == f.Container && next.When.Known() && next.When.At.After(f.Last.At) {
					down := next.When.At.Sub(f.Last.At)
					for _, start := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second} {
						if down > start && at > 0 {
							list = append(list, choice{name: "reboot", steps: []string{fmt.Sprintf("at: %s, rebootNode: {downtime: %s}", value.Format(round(at)), value.Format(round(down-start)))}})
						}
					}
				}
			}
		}
	}
	return list
}

// reboots returns choices in which the node rebooted before the kubelet found that the sandbox of the pod was gone: after the event before
// that, and some seconds before, which the kubelet needs to start.
func (s *search) reboots(f *incident.Fact) []choice {
	var last time.Time
	for _, e := range s.model.onNode() {
		for _, at := range []incident.Moment{e.When, e.Last} {
			if e.Kind == incident.Event && at.Known() && at.End().Before(f.When.At) {
				last = later(last, at.At)
			}
		}
	}
	from, to := max(last.Sub(s.best.zero), 0), f.When.Best().Sub(s.best.zero)
	var list []choice
	for i := range 6 {
		at := from + (to-from)*time.Duration(2*i+1)/12
		for _, start := range []time.Duration{3400 * time.Millisecond, 2500 * time.Millisecond, 1500 * time.Millisecond} {
			if down := to - at - start; at > 0 && down > 0 {
				list = append(list, choice{name: "reboot", steps: []string{fmt.Sprintf("at: %s, rebootNode: {downtime: %s}", value.Format(round(at)), value.Format(round(down)))}})
			}
		}
	}
	return list
}

// onNode returns the facts about all pods that the recording has on the node of the pod: they share its kubelet and its container runtime.
func (m *model) onNode() []*incident.Fact {
	if m.pod.Node == "" {
		return m.pod.Facts
	}
	var list []*incident.Fact
	for _, p := range m.rec.Pods {
		if p.Node == m.pod.Node {
			list = append(list, p.Facts...)
		}
	}
	return list
}

// hasEvent reports whether the recording has an event with a reason about the pod.
func (m *model) hasEvent(reason string) bool {
	return slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool { return f.Kind == incident.Event && f.Reason == reason && f.When.Known() })
}

// endsOfPod returns when the kubelet can have begun to stop the pod: some time before a container ended.
func (s *search) endsOfPod() []time.Duration {
	var list []time.Duration
	for _, f := range s.model.pod.Facts {
		if f.Kind != incident.Terminated || f.Previous || !f.Last.Known() {
			continue
		}
		end := f.Last.At.Add(f.Last.Within / 2).Sub(s.best.zero)
		for _, before := range []time.Duration{100 * time.Millisecond, time.Second, 2 * time.Second, 500 * time.Millisecond, 1500 * time.Millisecond} {
			if at := round(end - before); at > 0 && !slices.Contains(list, at) {
				list = append(list, at)
			}
		}
	}
	return list
}

// shutdowns returns configurations of a kubelet that stops pods when its node shuts down: with the grace period of a container that was
// killed, or else with enough time.
func (s *search) shutdowns() []string {
	config := func(grace time.Duration) string {
		return fmt.Sprintf("shutdownGracePeriod: %s, shutdownGracePeriodCriticalPods: 1s", value.Format(grace+time.Second))
	}
	list := []string{config(time.Hour)}
	for _, f := range s.model.pod.Facts {
		if f.Kind == incident.Terminated && f.ExitCode == 137 && f.Last.Known() {
			if took := f.Last.At.Add(f.Last.Within / 2).Sub(s.model.requested).Round(time.Second); took > 0 {
				list = append(list, config(took))
			}
		}
	}
	return list
}

// evicted reports whether the best run so far evicts the pod.
func (s *search) evicted() bool {
	return slices.ContainsFunc(s.best.run.Records, func(r trace.Record) bool { return r.Kind == trace.Event && r.Reason == "Evicted" })
}

// tryGates sets the conditions of readiness gates: a controller does.
func tryGates(s *search, _ *part) []choice {
	m := s.model
	var on, off []string
	for _, g := range m.object.Spec.ReadinessGates {
		on = append(on, fmt.Sprintf("{type: %q, status: \"True\"}", g.ConditionType))
		off = append(off, fmt.Sprintf("{type: %q, status: \"False\"}", g.ConditionType))
	}
	step := func(at time.Duration, conditions []string) string {
		return fmt.Sprintf("at: %s, patch: {pod: %s, status: {conditions: [%s]}}", value.Format(max(round(at), time.Millisecond)), m.pod.Name, strings.Join(conditions, ", "))
	}
	list := []choice{{name: "none"}, {name: "at once", steps: []string{step(time.Second, on)}}}
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Condition && f.Reason == "Ready" && f.When.Known() {
			at := f.When.At.Add(f.When.Within / 2).Sub(s.best.zero)
			list = append(list, choice{name: "then", steps: []string{step(at, on)}})
			if f.Value == "False" && at > 2*time.Second {
				list = append(list, choice{name: "until", steps: []string{step(time.Second, on), step(at, off)}})
			}
		}
	}
	return list
}

// tryKubelet restarts the kubelet. A kubelet that starts has forgotten its events: an event that it had counted gets a second object.
func tryKubelet(s *search, _ *part) []choice {
	m := s.model
	list := []choice{{name: "none"}}
	after, before := m.forgotten()
	if after.IsZero() || m.hasEvent("SandboxChanged") { // the whole node restarted
		return list
	}
	from, to := after.Sub(s.best.zero), before.Sub(s.best.zero)
	step := func(at time.Duration) string {
		return fmt.Sprintf("at: %s, restartKubelet: {}", value.Format(max(round(at), time.Millisecond)))
	}
	for i := range 8 {
		list = append(list, choice{name: "kubelet", steps: []string{step(from + (to-from)*time.Duration(2*i+1)/16)}})
	}
	for i := range 3 { // it was down for most of this time
		at := from + (to-from)*time.Duration(i)/4 + 100*time.Millisecond
		for _, start := range []time.Duration{time.Second, 2500 * time.Millisecond, 5 * time.Second} {
			if down := to - at - start; down > 3*time.Second {
				list = append(list, choice{name: "kubelet", rare: true, steps: []string{fmt.Sprintf("at: %s, restartKubelet: {downtime: %s}", value.Format(max(round(at), time.Millisecond)), value.Format(round(down)))}})
			}
		}
	}
	// The kubelet needs a few seconds to start, and its first events follow then.
	for _, ago := range []time.Duration{3500 * time.Millisecond, 4 * time.Second, 5 * time.Second, 7 * time.Second, 10 * time.Second} {
		if at := to - ago; at > from {
			list = append(list, choice{name: "kubelet", steps: []string{step(at)}})
		}
	}
	return list
}

// forgotten returns the range of times in which the kubelet forgot its events: after the last time of each object that a later one
// with the same message replaced, and before the first time of those. It is zero if there are none, or if they contradict each other. All pods
// of the node tell it, or if these contradict each other, the pod alone.
func (m *model) forgotten() (after, before time.Time) {
	if after, before = forgottenIn(m.onNode()); after.IsZero() {
		return forgottenIn(m.pod.Facts)
	}
	return after, before
}

func forgottenIn(facts []*incident.Fact) (after, before time.Time) {
	type event struct {
		pod                        *incident.Pod
		container, reason, message string
	}
	last := map[event]*incident.Fact{}
	for _, f := range facts {
		if f.Kind != incident.Event || f.Source != incident.FromEvent || !f.When.Known() {
			continue
		}
		key := event{f.Pod, f.Container, f.Reason, f.Message}
		if old := last[key]; old != nil {
			if old.Last.At.After(after) {
				after = old.Last.At
			}
			if before.IsZero() || f.When.At.Before(before) {
				before = f.When.At
			}
		}
		last[key] = f
	}
	if !before.After(after) {
		return time.Time{}, time.Time{}
	}
	return after, before
}

// noRuntime are the words of errors because the kubelet could not reach the container runtime.
var noRuntime = phrases{"dial unix ", "containerd.sock", "crio.sock"}

// runtimeGone reports whether a message says that the kubelet could not reach the container runtime.
func runtimeGone(message string) bool { return noRuntime.in(message) }

// noContainer are the words of commands that could not run because their container had ended: those of containerd's CRI plugin, of
// containerd's tasks, of runc and of Docker.
var noContainer = phrases{"container is in CONTAINER_EXITED state", "no running task found", "cannot exec in a stopped", "cannot exec a container that has stopped", "is not running"}

// containerGone reports whether a message says that a command could not run because its container had ended.
func containerGone(message string) bool {
	return incident.ParseUnhealthy(message).Result == trace.Error && noContainer.in(message)
}

// tryRuntime stops the container runtime while commands fail because the kubelet cannot reach it, in this pod or another one of the node.
func tryRuntime(s *search, _ *part) []choice {
	m := s.model
	var first, last incident.Moment
	tick := time.Second
	for _, f := range m.onNode() {
		if f.Kind != incident.Event || !f.When.Known() || !runtimeGone(f.Message) {
			continue
		}
		if !first.Known() || f.When.At.Before(first.At) {
			first = f.When
		}
		if f.Last.At.After(last.At) {
			last = f.Last
		}
		if c, u := containerIn(f), incident.ParseUnhealthy(f.Message); c != nil && u.Probe != "" && incident.ProbeOf(c, u.Probe) != nil {
			tick = max(tick, period(incident.ProbeOf(c, u.Probe)))
		}
	}
	list := []choice{{name: "none"}}
	if !first.Known() {
		return list
	}
	from, to := first.Best().Sub(s.best.zero), last.Best().Sub(s.best.zero)
	if to < 0 {
		return list
	}
	for _, before := range []time.Duration{tick / 2, 100 * time.Millisecond, tick * 9 / 10} {
		for _, after := range []time.Duration{tick / 2, time.Second, tick * 9 / 10} {
			at := max(round(from-before), time.Millisecond)
			list = append(list, choice{name: "runtime", steps: []string{fmt.Sprintf("at: %s, runtimeDown: {for: %s}", value.Format(at), value.Format(round(to+after-at)))}})
		}
	}
	return list
}

// containerIn returns the container of the pod object that a fact is about, or nil.
func containerIn(f *incident.Fact) *v1.Container {
	if f.Pod == nil || f.Pod.Object == nil {
		return nil
	}
	for _, list := range [][]v1.Container{f.Pod.Object.Spec.InitContainers, f.Pod.Object.Spec.Containers} {
		for i := range list {
			if list[i].Name == f.Container {
				return &list[i]
			}
		}
	}
	return nil
}

// tryPatch changes the images of containers when the kubelet killed them because their definition had changed.
func tryPatch(s *search, _ *part) []choice {
	m := s.model
	list := []choice{{name: "none"}}
	var steps []string
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.Reason != "Killing" || incident.ParseKilling(f.Message) != incident.ByDefinition || !f.When.Known() || m.spec(f.Container) == nil {
			continue
		}
		field := "containers"
		if isInit(m.object, m.spec(f.Container)) {
			field = "initContainers"
		}
		moments := []incident.Moment{f.When}
		for _, p := range f.Points {
			moments = append(moments, p.At)
		}
		if f.Count > 1 && len(f.Points) == 0 {
			moments = append(moments, f.Last)
		}
		for i, at := range moments {
			image := fmt.Sprintf("%s-%d", m.spec(f.Container).Image, i+1)
			steps = append(steps, fmt.Sprintf("at: %s, patch: {pod: %s, spec: {%s: [{name: %s, image: %q}]}}",
				value.Format(max(round(at.Best().Sub(s.best.zero)-10*time.Millisecond), time.Millisecond)), m.pod.Name, field, f.Container, image))
		}
	}
	for _, before := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond, time.Second} {
		silent := s.silentPatches(before)
		if len(silent) == 0 {
			break
		}
		list = append(list, choice{name: "patch", steps: append(slices.Clone(steps), silent...)})
	}
	if len(steps) > 0 {
		list = append(list, choice{name: "patch", steps: steps})
	}
	return list
}

// silentPatches changes the images of containers that did not run then, so that no event tells about a stop: the messages of later pulls
// have another image.
func (s *search) silentPatches(before time.Duration) []string {
	m := s.model
	var steps []string
	last := map[string]string{}
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.Reason != "Pulled" || !f.When.Known() || f.AtLeast || m.spec(f.Container) == nil {
			continue
		}
		found := pulledImage.FindStringSubmatch(f.Message)
		if found == nil {
			continue
		}
		image := found[1]
		old, had := last[f.Container]
		last[f.Container] = image
		if !had || old == image || m.definitionChanged(f.Container, f.When.At) {
			continue
		}
		field := "containers"
		if isInit(m.object, m.spec(f.Container)) {
			field = "initContainers"
		}
		steps = append(steps, fmt.Sprintf("at: %s, patch: {pod: %s, spec: {%s: [{name: %s, image: %q}]}}",
			value.Format(max(round(f.When.At.Add(-before).Sub(s.best.zero)), time.Millisecond)), m.pod.Name, field, f.Container, image))
	}
	return steps
}

var pulledImage = regexp.MustCompile(`image "([^"]+)"`)

// definitionChanged reports whether the kubelet stopped a container because its definition had changed, less than an hour before a time.
func (m *model) definitionChanged(container string, at time.Time) bool {
	return slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool {
		return f.Kind == incident.Event && f.Reason == "Killing" && f.Container == container && incident.ParseKilling(f.Message) == incident.ByDefinition &&
			f.When.Known() && f.When.At.Before(at) && at.Sub(f.Last.At) < time.Hour
	})
}

// untilRelist are times from the request to delete a pod to its stop. The worker of a pod that it has just synced waits until the next relist
// has seen what the sync changed (podWorkerLoop in pkg/kubelet/pod_workers.go, v1.37.0).
var untilRelist = []time.Duration{700 * time.Millisecond, 1300 * time.Millisecond, 1900 * time.Millisecond}

// tryDeletion deletes the pod, or not: the kubelet also stops pods that reach their deadline, and sidecars after the other containers.
func tryDeletion(s *search, _ *part) []choice {
	m := s.model
	if m.requested.IsZero() || m.deleted.IsZero() && s.evicted() {
		return nil
	}
	list := []choice{{name: "none", deleted: &time.Time{}}, {name: "deleted", deleted: &m.requested}}
	for _, before := range untilRelist {
		list = append(list, choice{name: "deleted", rare: true, deleted: ptr(m.requested.Add(-before))})
	}
	graces := []int{0, 2, 5, 10}
	for _, f := range m.pod.Facts { // a container that was killed used up the grace period
		if took := f.Last.End().Sub(m.requested); f.Kind == incident.Terminated && f.ExitCode == 137 && f.Last.Known() && took > 0 && took < 24*time.Hour {
			graces = append(graces, int(took/time.Second), int(took/time.Second)-1)
		}
	}
	if took := m.lastFact().Sub(m.requested); took > 0 && took < 24*time.Hour { // its containers still ran then
		graces = append(graces, int(took/time.Second)+1, int(took/time.Second)+3)
	}
	for _, grace := range graces {
		list = append(list, choice{name: "deleted", deleted: &m.requested, grace: ptr(grace)})
	}
	return list
}
