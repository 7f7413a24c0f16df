package invariants

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// node is what the records so far say of the node.
type node struct {
	disturbed virtual.Time // when the kubelet, the API server or the runtime was last stopped or started
	outages   int          // steps in effect that last
	epoch     virtual.Time // a whole second of the wall clock: the first start of the kubelet
	jumped    virtual.Time // when the wall clock was last set
	set       bool         // it was set
	stopped   int64        // the step at which the kubelet stopped last
	since     virtual.Time // when the kubelet started last
	shutDown  bool         // its shutdown was announced
}

// fraction returns how far the wall clock is into its second. Once the clock was set, this is not
// known, and below a second.
func (n *node) fraction(t virtual.Time) time.Duration {
	if n.set {
		return time.Second - 1
	}
	return t.Sub(n.epoch) % time.Second
}

func (n *node) follow(r *trace.Record) {
	switch {
	case r.Kind == trace.KubeletStopped:
		n.disturbed, n.outages, n.stopped = r.T, n.outages+1, r.Step
	case r.Kind == trace.KubeletStarted:
		n.disturbed, n.outages, n.since = r.T, n.outages-1, r.T
	case r.Kind == trace.Step && r.Reason == "stepClock":
		n.jumped, n.set = r.T, true
	case r.Kind == trace.Step && r.Reason == "shutdownNode":
		n.shutDown = true
	case r.Kind == trace.Step && r.Pod == "" && (r.Reason == "apiDown" || r.Reason == "runtimeDown" ||
		r.Reason == "setDelays"):
		n.disturbed = r.T
		if r.Message == trace.StepOver {
			n.outages--
		} else {
			n.outages++
		}
	}
}

// pod is what the records so far say of a pod.
type pod struct {
	spec       *v1.Pod
	names      []string // of the containers
	containers map[string]*container
	ends       virtual.Time // when the kubelet first stopped a container to end the pod
	ending     bool
	deleted    bool  // its deletion was requested
	late       bool  // it has exceeded its deadline
	evicted    int64 // the step at which the kubelet last stopped a container to evict it
	unstopped  bool  // a stop of the pod has failed
	changed    bool  // a patch may have changed its probes: nothing of it is checked from then on
	// synced has the instants at which a sync of the pod has written an event. The sync began then:
	// nothing before it takes time.
	synced map[virtual.Time]bool
}

// container is what the records so far say of a container.
type container struct {
	sidecar bool
	init    bool     // and no sidecar: it is ready when it has completed
	probes  [4]probe // see of

	instance int
	running  bool
	started  virtual.Time  // of this instance
	stopping *trace.Record // of this instance
	pulling  bool          // the kubelet pulls the image of the next instance
	// the kubelet stops this instance: its preStop hook runs, or it has been sent its stop signal
	killing bool

	carried bool                   // the instance before had started
	idle    bool                   // an instance was created and never started, and another one was created after it
	up      bool                   // the startup probe of this instance has succeeded
	upAt    virtual.Time           // when it last did: a new kubelet may run it again
	restart bool                   // the kubelet restarted since this instance started
	verdict trace.Result           // of the readiness probe for this instance, since the kubelet started; empty: none
	judged  virtual.Time           // when the verdict came
	status  *trace.ContainerStatus // published last
	wrong   string                 // in what the published status does not agree with the results
	since   virtual.Time           // when this was first seen
	ended   map[int]virtual.Time   // instances that a published status shows as ended, with the time of the status
}

// probe is what the records so far say of a probe of a container.
type probe struct {
	spec   *v1.Probe     // nil: the container has no such probe
	runs   *runs         // nil: none since the kubelet started
	streak int           // failures in a row, whatever the kubelet did
	before int           // failures in a row of the instances before, which the worker still counts
	last   virtual.Time  // end of the last run, of this instance; 0: none
	first  *virtual.Time // end of the first run for this instance, since the kubelet started; nil: none
	worked bool          // it has run since the kubelet started, for any instance
	due    bool          // a tick became due while it ran last
	reset  bool          // the count of the instances before has ended
}

// of returns a probe, or one without a spec for another name.
func (k *container) of(name trace.Probe) *probe {
	return &k.probes[1+slices.Index(trace.ProbeTypes, name)]
}

// runs are the results of a probe for one instance, since the kubelet started.
type runs struct {
	last    trace.Result
	count   int          // how many results in a row are like the last one
	settled virtual.Time // when the count reached the threshold
}

func newPod(spec *v1.Pod) *pod {
	p := &pod{spec: spec, containers: map[string]*container{}, synced: map[virtual.Time]bool{}}
	for c := range podutil.Containers(&spec.Spec) {
		first := slices.ContainsFunc(spec.Spec.InitContainers, func(i v1.Container) bool { return i.Name == c.Name })
		sidecar := podutil.IsRestartableInitContainer(c)
		k := &container{sidecar: first && sidecar, init: first && !sidecar}
		for _, name := range trace.ProbeTypes {
			k.of(name).spec = podutil.ProbeOf(c, string(name))
		}
		k.begin(-1)
		p.names, p.containers[c.Name] = append(p.names, c.Name), k
	}
	return p
}

func (k *container) begin(instance int) {
	k.carried = k.up || k.status != nil && k.status.Started
	k.instance, k.up, k.restart, k.stopping, k.killing, k.verdict = instance, false, false, nil, false, ""
	for i := range k.probes {
		p := &k.probes[i]
		switch {
		case p == k.of(trace.Readiness):
			p.before = 0
		case p.reset:
			p.before = p.streak
		default:
			p.before += p.streak
		}
		p.runs, p.streak, p.reset, p.last, p.first = nil, 0, false, 0, nil
	}
}

func (p *pod) kubeletStopped() {
	p.ending = p.ending && p.deleted // the kubelet forgets an eviction whose status it has not written
	for _, name := range p.names {
		k := p.containers[name]
		k.restart, k.killing, k.pulling, k.verdict = true, false, false, ""
		for i := range k.probes {
			p := &k.probes[i]
			p.runs, p.worked, p.first = nil, false, nil
		}
	}
}

// endedBy reports whether the reason of a stop is the end of the whole pod. A pod whose sandbox has
// gone starts again.
func (p *pod) endedBy(reason string, n *node) bool {
	return reason == "Deleted" || reason == "Evicted" || reason == "Stopped" && (p.late || n.shutDown)
}

// fails reports whether the reason of a stop is that the pod has failed. Its probe workers end
// then, at their next tick.
func (p *pod) fails(reason string) bool {
	return p.late || reason == "Evicted" || reason == "Stopped" && p.spec.Spec.RestartPolicy != v1.RestartPolicyAlways
}

func (p *pod) follow(r *trace.Record, n *node) {
	switch r.Kind {
	case trace.PodAdded:
		*p = *newPod(p.spec) // perhaps another pod of the same name
	case trace.PodDeleteRequested:
		p.deleted = true
	case trace.Event:
		p.late = p.late || r.Reason == "DeadlineExceeded"
		p.unstopped = p.unstopped || r.Reason == "FailedKillPod"
		if !afterCalls[r.Reason] {
			p.synced[r.T] = true
		}
	case trace.ContainerStopping:
		// a kubelet that has ended began this call
		forgotten := r.Reason == "Evicted" && n.stopped > 0 && r.Cause < n.stopped
		if p.endedBy(r.Reason, n) && !p.ending && !forgotten {
			p.ending, p.ends = true, r.T
		}
		if r.Reason == "Evicted" {
			p.evicted = r.Step
		}
	}
}

// afterCalls are the events that a probe writes, or a sync after a call that takes time.
var afterCalls = map[string]bool{"Unhealthy": true, "ProbeWarning": true, "Created": true, "Started": true,
	"Pulled": true}

// waits reports whether a sync of the pod is in progress that waits for a container other than k:
// it stops the container, pulls its image, or has started it and runs its postStart hook, so that
// the published status does not show it yet.
func (p *pod) waits(k *container) bool {
	return slices.ContainsFunc(p.names, func(name string) bool {
		o := p.containers[name]
		unseen := o.running && (o.status == nil || o.status.State != "running" ||
			int(o.status.RestartCount) != o.instance)
		return o != k && (o.killing || o.pulling || unseen)
	})
}

func (k *container) follow(r *trace.Record, n *node) {
	switch r.Kind {
	case trace.ContainerStarted:
		k.idle = k.idle || r.Instance > k.instance+1
		k.begin(r.Instance)
		k.running, k.started = true, r.T
		k.restart = n.stopped > 0 && r.Cause < n.stopped // a kubelet that has ended began this call
	case trace.ContainerStopping:
		if r.Instance == k.instance && k.stopping == nil {
			k.stopping = r
			if probe, ok := reasons[r.Reason]; ok {
				k.of(probe).streak, k.of(probe).reset = 0, true
			}
		}
	case trace.ContainerExited:
		if r.Instance == k.instance {
			k.running, k.killing = false, false
		}
	case trace.ProbeExecuted:
		k.probed(r)
	case trace.Event:
		k.killing = k.killing || r.Reason == "Killing" && r.Instance == k.instance
		if r.Reason != "Unhealthy" {
			k.pulling = r.Reason == "Pulling"
		}
	}
}

// atOnce is longer than the time from the end of a probe to a further one whose tick is already
// due.
const atOnce = 100 * time.Millisecond

// probed counts a result. The kubelet ignores errors, and a warning is a success.
func (k *container) probed(r *trace.Record) {
	p := k.of(r.Probe)
	if p.spec != nil {
		behind := p.due && began(r).Sub(p.last) < atOnce // the tick of this run was late
		p.due = behind || r.Took >= time.Duration(p.spec.PeriodSeconds)*time.Second
	}
	p.worked = true
	if r.Instance != k.instance {
		p.late(r)
		return
	}
	p.last = r.T
	if p.first == nil {
		p.first = &r.T
	}
	if r.Result == trace.Error {
		return
	}
	result := r.Result
	if result == trace.Warning {
		result = trace.Success
	}
	if p.runs == nil || p.runs.last != result {
		p.runs = &runs{last: result}
	}
	p.runs.count++
	p.streak++
	if result != trace.Failure {
		p.streak, p.reset = 0, true
	}
	if p.runs.count == p.threshold(result) {
		p.runs.settled = r.T
		if r.Probe == trace.Readiness {
			k.verdict, k.judged = result, r.T
		}
	}
	if r.Probe == trace.Startup && result == trace.Success {
		k.up, k.upAt = true, r.T
	}
}

// late counts a result of an instance before this one: its probe ended after this one had started.
func (p *probe) late(r *trace.Record) {
	switch {
	case p.reset || r.Result == trace.Error:
	case r.Result == trace.Failure:
		p.before++
	default:
		p.before = 0
	}
}

// threshold is the number of equal results in a row that decide.
func (p *probe) threshold(result trace.Result) int {
	return podutil.Threshold(p.spec, result == trace.Success)
}

// published takes over a status.
func (p *pod) published(r *trace.Record) {
	if r.Status == nil {
		return
	}
	for i := range r.Status.Containers {
		s := &r.Status.Containers[i]
		k := p.containers[s.Name]
		if k == nil {
			continue
		}
		k.status = s
		k.carried = k.carried || s.Started && int(s.RestartCount) < k.instance
		if s.State != "running" && k.instance >= 0 {
			ended := int(s.RestartCount)
			if s.State == "waiting" && !k.running {
				ended = k.instance
			}
			if k.ended == nil {
				k.ended = map[int]virtual.Time{}
			}
			if _, known := k.ended[ended]; !known && ended <= k.instance && (ended < k.instance || !k.running) {
				k.ended[ended] = r.T
			}
		}
	}
}

// began is when a probe began.
func began(r *trace.Record) virtual.Time { return r.T.Add(-r.Took) }

func delay(p *v1.Probe) time.Duration { return time.Duration(p.InitialDelaySeconds) * time.Second }
