package validation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/format"
)

// checkContainers checks and compiles the programs in the containers of a workload.
func (c *checker) checkContainers(w *workload, n *strict.Node) {
	w.Containers = map[string]fakeruntime.ContainerConfig{}
	if !format.Fits(n) {
		return
	}
	for i := range w.Spec.Containers {
		item, spec := n.Index(i), &w.Spec.Containers[i]
		checkContainerDelays(item.Field("delays"), spec.Delays)
		if item.Kind != strict.Mapping || item.Field("name").Bad() {
			continue
		}
		c.checkLease(spec.Lease, item.Field("lease"))
		container := w.container(spec.Name)
		_, twice := w.Containers[spec.Name]
		switch {
		case spec.Name == "":
			item.Field("name").Errorf("is required")
		case container == nil && w.unread: // it may be one that could not be read
		case container == nil:
			item.Field("name").Errorf("%s has no container %s%s", w.Manifest.Name, strict.Quote(spec.Name),
				strict.OrList(spec.Name, w.containerNames()))
			if item.Full() {
				continue
			}
			if meant := w.container(strict.Nearest(spec.Name, w.containerNames())); meant != nil {
				c.script(w, spec, meant).Compile(item)
			}
		case twice:
			item.Field("name").Errorf("the container %s is already listed above", spec.Name)
		default:
			config, notes := c.script(w, spec, cmp.Or(w.withAdded[spec.Name], container)).Compile(item)
			w.Containers[spec.Name], w.Notes = config, append(w.Notes, notes...)
		}
	}
	for container := range podutil.Containers(&w.Pod.Spec) {
		w.addSleeps(container)
		w.addNodeProbes(container)
	}
	for i := range w.Pod.Spec.InitContainers {
		if init := &w.Pod.Spec.InitContainers[i]; !podutil.IsRestartableInitContainer(init) {
			config := w.Containers[init.Name]
			config.Program.Init = true
			w.Containers[init.Name] = config
		}
	}
}

// script returns what an entry of the scenario says about a container.
func (c *checker) script(w *workload, spec *format.Container, container *v1.Container) program.Script {
	s := program.Script{
		Spec: spec, Container: container, Replicas: w.Replicas, Moment: c.moment, Lease: c.scenario.Lease,
		Agents: w.agents(container.Name), Listens: c.controlled(),
	}
	// replica is the ordinal within a ReplicaSet, which maxSurge can make higher
	if w.replicasUnread || w.Controlled != nil {
		s.Replicas = 0
	}
	return s
}

// agents returns the containers that can answer for a container, and those that the scenario names.
func (w *workload) agents(of string) program.Agents {
	a := program.Agents{Refuse: func(name string) string {
		other := podutil.Find(w.Pod, name)
		switch {
		case other == nil && w.unread:
		case other == nil:
			return fmt.Sprintf("%s has no container %s%s", w.Manifest.Name, strict.Quote(name),
				strict.OrList(name, w.containerNames()))
		case name == of:
			return "is the container itself: name another one"
		case w.isInit(name):
			return fmt.Sprintf("%s is an init container, which has ended when %s runs", name, of)
		}
		return ""
	}}
	for i := range w.Spec.Containers {
		for _, r := range w.Spec.Containers[i].Behavior {
			for _, at := range slices.Sorted(maps.Keys(r.Endpoints)) {
				if e := r.Endpoints[at]; e != nil && e.AnsweredBy != "" {
					a.Answer = append(a.Answer, e.AnsweredBy)
				}
			}
		}
	}
	return a
}

// isInit reports whether a container is a regular init container.
func (w *workload) isInit(name string) bool {
	return slices.ContainsFunc(w.Pod.Spec.InitContainers,
		func(c v1.Container) bool { return c.Name == name && !podutil.IsRestartableInitContainer(&c) })
}

// moment adds a moment that a rule waits for, and returns its number.
func (c *checker) moment(m program.Moment, n *strict.Node) int {
	c.scenario.Moments, c.moments = append(c.scenario.Moments, m), append(c.moments, n)
	return len(c.moments) - 1
}

// addSleeps adds the times for which the hooks of a container sleep, and when one stops the
// program.
func (w *workload) addSleeps(c *v1.Container) {
	postStart, preStop := program.HookSleep(c, "postStart"), program.HookSleep(c, "preStop")
	after, stops := program.HookStop(c)
	if postStart == 0 && preStop == 0 && !stops {
		return
	}
	config := w.Containers[c.Name]
	config.Program.PostStartSleep, config.Program.PreStopSleep = postStart, preStop
	if stops {
		config.Program.PreStopSignal = &after
	}
	w.Containers[c.Name] = config
}

// addNodeProbes adds the probes and hooks of a container that ask the node. A pod in the network of
// the node is none of these cases: its programs listen there.
func (w *workload) addNodeProbes(c *v1.Container) {
	if w.Pod.Spec.HostNetwork {
		return
	}
	config := w.Containers[c.Name]
	for _, asks := range podutil.Requests(c) {
		host := podutil.HandlerOf(asks.ProbeHandler).Host
		if !program.IsNode(host) {
			continue
		}
		config.Program.AskNode = append(config.Program.AskNode, asks.Key)
		if program.Listens(config.Program.Rules, asks) {
			continue
		}
		what := "probe"
		if asks.IsHook {
			what = "hook"
		}
		w.Notes = append(w.Notes, fmt.Sprintf("the %s %s of %s asks %s, which is the node and not the pod: nothing "+
			"listens there unless a rule answers the %[2]s", asks.Key, what, c.Name, strict.Quote(host)))
	}
	if len(config.Program.AskNode) > 0 {
		w.Containers[c.Name] = config
	}
}

// checkMoments checks the moments that rules wait for. The real kubelet writes no internal records,
// so a rule cannot wait for one.
func (c *checker) checkMoments() {
	before := c.checkedMoments
	c.checkedMoments = len(c.scenario.Moments)
	if len(c.moments) > format.MaxEntries {
		c.moments[format.MaxEntries].Errorf("the rules of the scenario have more than %d times since or until, "+
			"counted for each container of a range", format.MaxEntries)
		return
	}
	for i, m := range c.scenario.Moments {
		if i < before {
			continue
		}
		n := c.moments[i]
		markUnread(&m.Pod, n.Field("pod"))
		c.checkPodName(m.Pod, n.Field("pod"))
		c.checkMoment(m.Moment, m.Pod, n)
		if m.Record != nil && m.Record.Kind != "" && !m.Record.Kind.Observable() {
			n.Field("record").Field("kind").
				Errorf("%s is an internal record, for which a program cannot wait: write an observable one",
					m.Record.Kind)
		}
	}
}
