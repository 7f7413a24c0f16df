package scenarios

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
	"probesim.dev/kube/podutil"
)

// checkContainers checks and compiles the programs in the containers of a workload.
func (c *checker) checkContainers(w *workload, n *strict.Node) {
	w.containers = map[string]fakeruntime.ContainerConfig{}
	if !c.fits(n) {
		return
	}
	for i := range w.spec.Containers {
		item, spec := n.Index(i), &w.spec.Containers[i]
		checkContainerDelays(item.Field("delays"), spec.Delays)
		if item.Kind != strict.Mapping || item.Field("name").Bad() {
			continue
		}
		container := w.container(spec.Name)
		_, twice := w.containers[spec.Name]
		switch {
		case spec.Name == "":
			item.Field("name").Errorf("is required")
		case container == nil && w.unread: // it may be one that could not be read
		case container == nil:
			item.Field("name").Errorf("%s has no container %s%s", w.manifest.name, strict.Quote(spec.Name), strict.OrList(spec.Name, w.containerNames()))
			if item.Full() {
				continue
			}
			if meant := w.container(strict.Nearest(spec.Name, w.containerNames())); meant != nil {
				(&behavior{checker: c, workload: w, spec: spec, container: meant}).compile(item)
			}
		case twice:
			item.Field("name").Errorf("the container %s is already listed above", spec.Name)
		default:
			b := &behavior{checker: c, workload: w, spec: spec, container: cmp.Or(w.withAdded[spec.Name], container)}
			w.containers[spec.Name] = b.compile(item)
		}
	}
	for _, container := range w.allContainers() {
		w.addSleeps(container)
	}
	for i := range w.pod.Spec.InitContainers {
		if init := &w.pod.Spec.InitContainers[i]; !podutil.IsRestartableInitContainer(init) {
			config := w.containers[init.Name]
			config.Program.Init = true
			w.containers[init.Name] = config
		}
	}
}

// addSleeps adds the times for which the hooks of a container sleep.
func (w *workload) addSleeps(c *v1.Container) {
	postStart, preStop := hookSleep(c, "postStart"), hookSleep(c, "preStop")
	if postStart == 0 && preStop == 0 {
		return
	}
	config := w.containers[c.Name]
	config.Program.PostStartSleep, config.Program.PreStopSleep = postStart, preStop
	w.containers[c.Name] = config
}

// checkReplica reports a rule for a replica that does not exist.
func (b *behavior) checkReplica(r *Rule, n *strict.Node) {
	if last := b.workload.replicas - 1; r.Replica != nil && r.Replica.Min > last && !b.workload.replicasUnread {
		n.Field("replica").Errorf("there is no replica %s: the last one is %d", r.Replica, last)
	}
}

// checkMoments checks the moments that rules wait for. The real kubelet writes no internal records, so a rule cannot wait for one.
func (c *checker) checkMoments() {
	if len(c.moments) > maxEntries {
		c.moments[maxEntries].Errorf("more than %d rules of the scenario wait for a moment, counted for each container of a range", maxEntries)
		return
	}
	for i, m := range c.scenario.moments {
		n := c.moments[i]
		markUnread(&m.Pod, n.Field("pod"))
		c.checkPodName(m.Pod, n.Field("pod"))
		c.checkMoment(m, m.Pod, n)
		if m.Record != nil && m.Record.Kind != "" && !m.Record.Kind.Observable() {
			n.Field("record").Field("kind").Errorf("%s is an internal record, for which a program cannot wait: write an observable one", m.Record.Kind)
		}
	}
}

// checkWindow reports a window that cannot exist.
func checkWindow(r *Rule, n *strict.Node) {
	var clocks []string
	for _, clock := range []string{"after", "at", "afterSigterm"} {
		if n.Field(clock).Written() {
			clocks = append(clocks, clock)
		}
	}
	if since := n.Field("since"); since.Written() {
		clocks = slices.DeleteFunc(clocks, func(clock string) bool { return clock == "after" })
		if len(clocks) > 0 {
			since.Errorf("cannot be used with %s: a window that counts from a moment opens after it", clocks[0])
		}
	} else if len(clocks) > 1 {
		n.Errorf("has two clocks, %s: use only one", strings.Join(clocks, " and "))
	}
	if r.For != nil && r.For.Min == 0 {
		n.Field("for").Errorf("must be longer than 0s, not %s", r.For)
	}
	switch {
	case r.Every == nil:
	case r.For == nil:
		n.Field("every").Errorf("needs for: the time that each window stays open")
	case r.For.Max >= r.Every.Min:
		n.Field("every").Errorf("windows would overlap: every %s must be longer than for %s", r.Every, r.For)
	}
}

// checkEffect reports rules without an effect, and answers to probes and hooks that do not exist.
func (b *behavior) checkEffect(r *Rule, n *strict.Node) {
	answers := b.checkHooks(n)
	probes := probesOf(b.container)
	for _, p := range []probeOf{{key: "liveness", field: "livenessProbe"}, {key: "readiness", field: "readinessProbe"}, {key: "startup", field: "startupProbe"}} {
		if field := n.Field(p.key); field.Written() {
			answers++
			if !hasProbe(probes, p.key) {
				field.Errorf("the container %s has no %s%s", b.spec.Name, p.field, strict.ThereAre(probeFields(probes)))
			}
		}
	}
	if field := n.Field("probes"); field.Written() {
		answers++
		if len(probes) == 0 {
			field.Errorf("the container %s has no probes", b.spec.Name)
		}
	}
	if field := n.Field("endpoints"); field.Written() {
		answers++
		if len(field.Keys) == 0 {
			field.Errorf("is empty: write an endpoint and its answer, such as http:8080/healthz: fail")
		}
	}
	exit := n.Field("exit")
	switch {
	case r.Handler != nil && (answers > 0 || exit.Written()):
		n.Field("handler").Errorf("a rule has either a handler or answers and exit")
	case fakeruntime.IsNilFunc(r.Handler):
		n.Field("handler").Errorf("is a nil %T", r.Handler)
	case r.Handler != nil:
		if !slices.Contains(requestHandlersOf(b.container), httpHandler) {
			n.Field("handler").Errorf("the container %s has no httpGet probe or hook", b.spec.Name)
		}
	case r.Exit == nil && answers == 0:
		if writtenBeside(n, conditionFields...) {
			return // an unknown field, which is reported elsewhere
		}
		n.Errorf("does nothing: write an answer, such as probes: fail, or exit")
	case r.Exit == nil:
	case answers > 0:
		exit.Errorf("a rule either answers or exits")
	case r.For != nil || r.Every != nil || r.Chance != nil:
		exit.Errorf("cannot be used with for, every or chance: a program exits once, when the window opens")
	case r.Exit.Never && r.AfterSigterm == nil:
		exit.Errorf("never needs afterSigterm: without it, a program already runs until it is stopped")
	}
}

// checkHooks reports answers to hooks that do not exist or send no request, and returns the number of answers.
func (b *behavior) checkHooks(n *strict.Node) int {
	answers := 0
	for _, key := range hookKeys {
		field := n.Field(key)
		if !field.Written() {
			continue
		}
		answers++
		switch hook := hookOf(b.container, key); {
		case hook == nil:
			field.Errorf("the container %s has no %s hook", b.spec.Name, key)
		case hook.TCPSocket != nil:
			field.Errorf("the %s hook of %s is a tcpSocket, which the kubelet does not run: the program gets no request", key, b.spec.Name)
		case hook.Sleep != nil:
			field.Errorf("the %s hook of %s sleeps: the program gets no request", key, b.spec.Name)
		}
	}
	return answers
}

// conditionFields are the fields of a rule that have no effect by themselves.
var conditionFields = []string{"replica", "instance", "after", "at", "since", "afterSigterm", "for", "every", "chance"}
