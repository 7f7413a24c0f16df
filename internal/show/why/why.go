// Package why explains a run in sentences: why a container restarted, why a pod became Ready or
// stopped being Ready, or what state a pod is in at a given moment.
//
// Records of a trace name their cause. An [Explanation] follows the causes from the thing to
// explain, such as a restart, back to the root: an answer of the program, or an action from outside
// such as a deletion. Make a [Run] from the records of a trace with [New], and ask it with
// [Run.Restart], [Run.Ready] or [Run.At].
package why

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Run answers questions about one run. Create it with New.
type Run struct {
	// Rule returns what a rule of the behavior of a container says. The pod is named
	// namespace/name, and the first rule has number 1. Explanations name rules only if Rule is set
	// and the records include internal records. Rule returns a zero Source for a rule that it does
	// not know.
	Rule func(pod, container string, number int) Source
	// Step returns what a step of a scenario says that wrote a record, of kind Step,
	// PodDeleteRequested or KubeletStopped. It may be nil, and it returns a zero Source for a
	// record that it does not know.
	Step func(*trace.Record) Source
	// Lease returns the lease that a container wants. It may be nil.
	Lease func(pod, container string) Lease

	raw     []trace.Record
	records []*trace.Record
	pods    map[string]*v1.Pod        // by namespace/name
	about   map[topic][]*trace.Record // oldest first
	backOff map[int64]time.Duration   // by the step of the BackOff event
	hooks   map[int64]*trace.Record   // ends of hooks, by the step of their start
	end     virtual.Time
}

// Source is a rule or a step of a scenario.
type Source struct {
	Says  string // where it is and its words, such as "web.yaml:14 says {probes: fail}"
	Since int64  // number of the record that it waited for; 0: none
}

// subject is a pod, a container of the pod, or a probe of the container.
type subject struct {
	pod, container string
	probe          trace.Probe
}

func containerOf(rec *trace.Record) subject { return subject{pod: rec.Pod, container: rec.Container} }

func probeOf(rec *trace.Record) subject { return subject{rec.Pod, rec.Container, rec.Probe} }

// topic is what records are about. Starts, stops, exits, events and starts of hooks of a container
// have the kind lives; starts and stops of the kubelet have the topic kubelet.
type topic struct {
	kind trace.Kind
	subject
}

const lives trace.Kind = ""

var kubelet = topic{kind: trace.KubeletStopped}

// New returns a Run over records, oldest first, of a run that ended at virtual time end.
// Explanations take thresholds and container types from the specs in pods, and leave them out for
// pods that are missing. They leave out the settings of the probes of a pod once a patch can have
// changed one of them. They name the length of back-offs only if records include internal records.
// New keeps references to records and pods.
func New(records []trace.Record, pods []*v1.Pod, end virtual.Time) *Run {
	r := &Run{
		raw: records, pods: map[string]*v1.Pod{}, about: map[topic][]*trace.Record{},
		backOff: map[int64]time.Duration{}, hooks: map[int64]*trace.Record{}, end: end,
	}
	for _, pod := range pods {
		r.pods[pod.Namespace+"/"+pod.Name] = pod
	}
	for i := range records {
		r.add(&records[i])
	}
	return r
}

func (r *Run) add(rec *trace.Record) {
	r.records = append(r.records, rec)
	of := topic{rec.Kind, probeOf(rec)}
	switch rec.Kind {
	case trace.BackOff:
		r.backOff[rec.Cause] = rec.Took
	case trace.HookEnded:
		r.hooks[rec.Cause] = rec
	case trace.KubeletStarted, trace.KubeletStopped:
		of = kubelet
	case trace.StatusPatched, trace.PodSync, trace.Step:
		of.subject = subject{pod: rec.Pod}
	case trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited, trace.Event, trace.HookStarted:
		of = topic{lives, containerOf(rec)}
	case trace.ProbeExecuted, trace.TriggerTaken, trace.Behavior:
	default:
		return
	}
	r.about[of] = append(r.about[of], rec)
}

// first returns the first record of a list that matches, or nil.
func first(list []*trace.Record, matches func(*trace.Record) bool) *trace.Record {
	if i := slices.IndexFunc(list, matches); i >= 0 {
		return list[i]
	}
	return nil
}

// last returns the last record of a list that matches, or nil.
func last(list []*trace.Record, matches func(*trace.Record) bool) *trace.Record {
	for _, rec := range slices.Backward(list) {
		if matches(rec) {
			return rec
		}
	}
	return nil
}

// record returns the record with a step, or nil.
func (r *Run) record(step int64) *trace.Record {
	i, ok := slices.BinarySearchFunc(r.records, step,
		func(rec *trace.Record, step int64) int { return cmp.Compare(rec.Step, step) })
	if !ok {
		return nil
	}
	return r.records[i]
}

// cause returns the nearest observable cause of a record, or nil.
func (r *Run) cause(rec *trace.Record) *trace.Record {
	for {
		if rec = r.record(rec.Cause); rec == nil || rec.Kind.Observable() {
			return rec
		}
	}
}

// Root classifies the first cause of a chain.
type Root string

const (
	Program  Root = "program"  // the program answered a probe, or exited
	PodAdded Root = "podAdded" // the pod was added
	Deletion Root = "deletion" // the deletion of the pod was requested
	Step     Root = "step"     // a step of the scenario ran
	Kubelet  Root = "kubelet"  // the kubelet stopped
)

// Link is one record of a chain of causes.
type Link struct {
	T    virtual.Time `json:"t"`    // virtual time of the record, in nanoseconds
	Step int64        `json:"step"` // number of the record in a trace with internal records
	Kind trace.Kind   `json:"kind"`
	Text string       `json:"text"`           // a clause that can follow "because", without a period
	Root Root         `json:"root,omitempty"` // set in the last link of a chain only
}

// Explanation says why something happened, or what state a pod is in.
type Explanation struct {
	Pod       string `json:"pod"`                 // namespace/name
	Container string `json:"container,omitempty"` // empty if the explanation is about the pod
	// State describes the pod and its containers at a moment, one sentence each. Only At sets it.
	State []string `json:"state,omitempty"`
	// Chain starts with the explained record. The cause of each link is the next link.
	Chain []Link `json:"chain"`
}

// Restarts returns the number of restarts of a container. The pod is named namespace/name.
func (r *Run) Restarts(pod, container string) int {
	n := 0
	for _, rec := range r.about[topic{lives, subject{pod: pod, container: container}}] {
		if rec.Kind == trace.ContainerStarted {
			n = max(n, rec.Instance)
		}
	}
	return n
}

// Restart explains the start of an instance of a container: instance 0 is the first start, 1 the
// first restart. It reports false if there was no such start.
func (r *Run) Restart(pod, container string, instance int) (Explanation, bool) {
	start := r.ofInstance(&trace.Record{Pod: pod, Container: container, Instance: instance}, 0,
		trace.ContainerStarted, "")
	if start == nil {
		return Explanation{}, false
	}
	return r.explain(start), true
}

// ofInstance returns the first record of a kind after a step about the instance of a container that
// another record is about, or nil. An empty reason stands for all reasons.
func (r *Run) ofInstance(of *trace.Record, after int64, kind trace.Kind, reason string) *trace.Record {
	return first(r.about[topic{lives, containerOf(of)}], func(rec *trace.Record) bool {
		return rec.Instance == of.Instance && rec.Step > after && rec.Kind == kind &&
			(reason == "" || rec.Reason == reason)
	})
}

// Ready explains each change of Ready of a pod up to virtual time until, oldest first.
func (r *Run) Ready(pod string, until virtual.Time) []Explanation {
	var all []Explanation
	for _, rec := range r.flips(pod, until) {
		all = append(all, r.explain(rec))
	}
	return all
}

// flips returns the status patches that changed Ready of a pod up to a moment.
func (r *Run) flips(pod string, until virtual.Time) []*trace.Record {
	var flips []*trace.Record
	ready := false
	for _, rec := range r.about[topic{trace.StatusPatched, subject{pod: pod}}] {
		if rec.T <= until && rec.Status != nil && rec.Status.Ready != ready {
			ready = rec.Status.Ready
			flips = append(flips, rec)
		}
	}
	return flips
}

// Chain returns the chain of causes of the record with a step, or nil if there is no such record.
func (r *Run) Chain(step int64) []Link {
	if rec := r.record(step); rec != nil {
		return r.chain(rec)
	}
	return nil
}

func (r *Run) explain(rec *trace.Record) Explanation {
	return Explanation{Pod: rec.Pod, Container: rec.Container, Chain: r.chain(rec)}
}
