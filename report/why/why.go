// Package why tells in sentences why a container was restarted, a pod became or stopped being Ready, or something is as
// it is at a moment. It only reads a trace: it goes from a record to its cause, and on to what the world or a program did
// first.
package why

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/trace"
)

// Run is a run that can be asked. Make one with New.
type Run struct {
	records []*trace.Record
	pods    map[string]*v1.Pod          // by namespace/name
	backOff map[int64]time.Duration     // by the step of the event that tells of it
	probes  map[probe][]*trace.Record   // runs of a probe, oldest first
	lives   map[subject][]*trace.Record // starts, stops and exits of a container, and events about it
	status  map[string][]*trace.Record  // of a pod
	syncs   map[string][]time.Duration  // of a pod, if internal records say when its worker began one
	end     time.Duration
}

// subject is a container of a pod.
type subject struct{ pod, container string }

// probe is one of its probes.
type probe struct {
	subject
	kind trace.Probe
}

// New returns a run with these records, oldest first, that ended at end. The pods say what the containers are meant to do;
// what they do not have is not told. How long a back-off is, only internal records say.
func New(records []trace.Record, pods []*v1.Pod, end time.Duration) *Run {
	r := &Run{
		pods: map[string]*v1.Pod{}, backOff: map[int64]time.Duration{}, probes: map[probe][]*trace.Record{},
		lives: map[subject][]*trace.Record{}, status: map[string][]*trace.Record{}, syncs: map[string][]time.Duration{}, end: end,
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
	c := subject{rec.Pod, rec.Container}
	switch rec.Kind {
	case trace.BackOff:
		r.backOff[rec.Cause] = rec.Took
	case trace.PodSync:
		r.syncs[rec.Pod] = append(r.syncs[rec.Pod], rec.T)
	case trace.ProbeExecuted:
		p := probe{c, rec.Probe}
		r.probes[p] = append(r.probes[p], rec)
	case trace.StatusPatched:
		r.status[rec.Pod] = append(r.status[rec.Pod], rec)
	case trace.ContainerStarted, trace.ContainerStopping, trace.ContainerExited, trace.Event:
		if rec.Container != "" {
			r.lives[c] = append(r.lives[c], rec)
		}
	}
}

// at returns the record with a step, or nil.
func (r *Run) at(step int64) *trace.Record {
	i, ok := slices.BinarySearchFunc(r.records, step, func(rec *trace.Record, step int64) int { return cmp.Compare(rec.Step, step) })
	if !ok {
		return nil
	}
	return r.records[i]
}

// cause returns the observable record that led to one, or nil if nothing did.
func (r *Run) cause(rec *trace.Record) *trace.Record {
	for {
		if rec = r.at(rec.Cause); rec == nil || rec.Kind.Observable() {
			return rec
		}
	}
}

// Root is what a chain of causes begins with.
type Root string

const (
	Program  Root = "program"  // it answered a probe so, or exited by itself
	PodAdded Root = "podAdded" // somebody added the pod
	Deletion Root = "deletion" // somebody requested its deletion
	Step     Root = "step"     // a step of the scenario
	Kubelet  Root = "kubelet"  // the kubelet was stopped
)

// Link is one thing that happened.
type Link struct {
	T    time.Duration
	Step int64 // of its record
	Kind trace.Kind
	Text string // a clause without a period
	Root Root   // of the last link of a chain
}

// Explanation says why something happened, or is as it is.
type Explanation struct {
	Pod, Container string // Container is empty if it is about the pod
	// Chain begins with what happened; each link has the next as its cause.
	Chain []Link
	// State says, of a moment, how things were: a sentence each.
	State []string
}

// Restarts returns how many instances of a container were started after the first, by the number of the last.
func (r *Run) Restarts(pod, container string) int {
	n := 0
	for _, rec := range r.lives[subject{pod, container}] {
		if rec.Kind == trace.ContainerStarted {
			n = max(n, rec.Instance)
		}
	}
	return n
}

// Restart explains the start of an instance of a container: 1 is the first restart, 0 the first start. It reports false if
// there was none.
func (r *Run) Restart(pod, container string, instance int) (Explanation, bool) {
	for _, rec := range r.lives[subject{pod, container}] {
		if rec.Kind == trace.ContainerStarted && rec.Instance == instance {
			return r.explain(rec), true
		}
	}
	return Explanation{}, false
}

// Ready explains each time that a pod became Ready or stopped being it, up to a moment, oldest first.
func (r *Run) Ready(pod string, until time.Duration) []Explanation {
	var all []Explanation
	for _, rec := range r.flips(pod, until) {
		all = append(all, r.explain(rec))
	}
	return all
}

// flips returns the statuses up to a moment with which Ready of a pod changed.
func (r *Run) flips(pod string, until time.Duration) []*trace.Record {
	var flips []*trace.Record
	ready := false
	for _, rec := range r.status[pod] {
		if rec.T <= until && rec.Status != nil && rec.Status.Ready != ready {
			ready = rec.Status.Ready
			flips = append(flips, rec)
		}
	}
	return flips
}

// Chain explains any record of the run by its step; nil if there is no such record.
func (r *Run) Chain(step int64) []Link {
	if rec := r.at(step); rec != nil {
		return r.chain(rec)
	}
	return nil
}

func (r *Run) explain(rec *trace.Record) Explanation {
	return Explanation{Pod: rec.Pod, Container: rec.Container, Chain: r.chain(rec)}
}
