// Package invariants has rules that the kubelet should obey in every run of every scenario, and
// checks runs against them.
//
// The kubelet breaks some of them: such a run shows a bug of the kubelet, or one of the simulator.
// Package trace/invariant has the rules about the simulation itself, which every trace obeys.
package invariants

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Invariant is a rule that the kubelet should obey.
type Invariant struct {
	Name     string // such as kill-needs-failures; for flags and reports
	Sentence string // what the rule is
}

// The invariants, by name.
const (
	killNeedsFailures      = "kill-needs-failures"
	startedNeedsSuccess    = "started-needs-success"
	readyNeedsStarted      = "ready-needs-started"
	noReadyWhileStopping   = "no-ready-while-stopping"
	noProbeBeforeDelay     = "no-probe-before-initial-delay"
	noProbeWhileTerminates = "no-probe-while-terminating"
	noProbeAfterExit       = "no-probe-after-exit"
	restartCountGrows      = "restart-count-grows"
	settledStatusAgrees    = "settled-status-agrees"
)

// All returns all invariants, in the order in which reports list them. Each follows from a file in
// pkg/kubelet at v1.37.0, or from another place.
func All() []Invariant {
	return []Invariant{
		// prober/worker.go
		{killNeedsFailures, "A container is stopped because of a liveness or startup probe only after " +
			"failureThreshold failures of this probe in a row, all of this instance."},
		// prober/prober_manager.go
		{startedNeedsSuccess, "A container with a startup probe is published as started only after the probe has " +
			"succeeded for this instance."},
		// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-probes
		{readyNeedsStarted, "A running container that is published as ready is published as started."},
		// kuberuntime/kuberuntime_manager.go
		{noReadyWhileStopping, "A container that is not ready does not become ready between its stop signal and its " +
			"exit, unless its readiness probe succeeded before."},
		// prober/worker.go
		{noProbeBeforeDelay, "No probe of a container begins before initialDelaySeconds have passed since its start, " +
			"unless the wall clock was set meanwhile."},
		// prober/prober_manager.go
		{noProbeWhileTerminates, "No liveness or startup probe of a container begins after the kubelet has stopped a " +
			"container of its pod to end the pod."},
		// prober/worker.go
		{noProbeAfterExit, "No probe of an instance begins after its status says that it has ended."},
		// test/e2e/common/node/container_probe.go
		{restartCountGrows, "The restartCount of a container never falls."},
		// status/status_manager.go
		{settledStatusAgrees, "From ten seconds after the results of a readiness or startup probe have settled, the " +
			"published Ready and Started agree with them."},
	}
}

// Known is a bug of the kubelet that breaks an invariant, and that a scenario of the library
// asserts.
type Known struct {
	Bug      string // its row in scenarios/library/bugs, such as B22; empty: it has none
	Issue    string // the number of the issue or pull request, such as #141155; may be empty
	Scenario string // the file in the library that asserts it, if it has no row
}

// String names the bug, such as "B18 #141155", or its scenario.
func (k Known) String() string {
	return strings.Join(strings.Fields(strings.Join([]string{k.Bug, k.Issue, k.Scenario}, " ")), " ")
}

// Violation is a record that breaks an invariant.
type Violation struct {
	Invariant string
	Case      string // what breaks it, in a few words, such as "carried over from the instance before"
	Known     *Known // the bug that the case belongs to; nil: not known
	Pod       string
	Container string
	T         virtual.Time
	Step      int64 // of the record
}

// Options configure Check.
type Options struct {
	Off    []string      // names of the invariants that are not checked
	End    virtual.Time  // the end of the run
	Uptime time.Duration // age of the kubelet at t=0
}

// Validate returns an error if Off has a name that no invariant has.
func (o Options) Validate() error {
	var names []string
	for _, i := range All() {
		names = append(names, i.Name)
	}
	for _, off := range o.Off {
		if !slices.Contains(names, off) {
			return fmt.Errorf("there is no invariant %q: the invariants are %s", off, strings.Join(names, ", "))
		}
	}
	return nil
}

// Check returns the violations in the records of a run, in order: the first one of each class. The
// pods have their defaults set.
func Check(pods []*v1.Pod, records []trace.Record, o Options) []Violation {
	c := &checker{node: node{since: virtual.At(-o.Uptime), epoch: virtual.At(-o.Uptime)}, pods: map[string]*pod{},
		off: map[string]bool{}, seen: map[class]bool{}}
	for _, name := range o.Off {
		c.off[name] = true
	}
	for _, p := range pods {
		key := p.Namespace + "/" + p.Name
		if c.pods[key] == nil {
			c.order = append(c.order, key)
		}
		c.pods[key] = newPod(p)
	}
	for i := range records {
		c.check(&records[i])
	}
	for _, key := range c.order {
		if !c.pods[key].changed {
			c.settled(c.pods[key], key, o.End)
		}
	}
	slices.SortStableFunc(c.found, func(a, b Violation) int { return cmp.Compare(a.T, b.T) })
	return c.found
}

// class is what violations have in common that are the same finding.
type class struct{ invariant, what, pod, container string }

// checker checks the records of one run.
type checker struct {
	pods  map[string]*pod
	order []string // keys of pods, as the scenario has them
	node  node
	off   map[string]bool
	seen  map[class]bool // classes of violations
	found []Violation
}

// broken notes a violation, unless there is one of its class.
func (c *checker) broken(r *trace.Record, container, invariant, what string, known *Known) {
	v := Violation{Invariant: invariant, Case: what, Known: known, Pod: r.Pod, Container: container, T: r.T,
		Step: r.Step}
	class := class{invariant, what, r.Pod, container}
	if c.off[invariant] || c.seen[class] {
		return
	}
	c.seen[class] = true
	c.found = append(c.found, v)
}

// check checks a record, and then takes over what it says.
func (c *checker) check(r *trace.Record) {
	c.node.follow(r)
	if r.Kind == trace.KubeletStopped {
		for _, key := range c.order {
			c.pods[key].kubeletStopped()
		}
	}
	p := c.pods[r.Pod]
	if p == nil || p.changed {
		return
	}
	if r.ChangesProbes() {
		p.changed = true
		return
	}
	c.settled(p, r.Pod, r.T)
	defer c.settled(p, r.Pod, r.T)
	if r.Kind == trace.StatusPatched {
		c.checkStatus(p, r)
		p.published(r)
		return
	}
	if k := p.containers[r.Container]; k != nil {
		switch r.Kind {
		case trace.ProbeExecuted:
			c.checkProbe(p, k, r)
		case trace.ContainerStopping:
			c.checkStop(k, r)
		}
		k.follow(r, &c.node)
	}
	p.follow(r, &c.node)
}
