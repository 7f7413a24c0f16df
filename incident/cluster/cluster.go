// Package cluster writes a simulated run as a cluster would record it: events with the aggregation, the counts and the spam filter of
// the recorder of client-go, with times truncated to seconds, and pods with their status. Tests read such recordings and compare what
// they infer with the run.
package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Zero is the time of t=0 in recordings. It is no whole second.
var Zero = time.Date(2024, 5, 18, 21, 0, 0, 137_000_001, time.UTC)

// Write writes the recording of a run, made at the given time, as a JSON list: the events, and the pods that exist. The pods are as the
// API server stored them first.
func Write(w io.Writer, pods []*v1.Pod, records []trace.Record, at virtual.Time) error {
	s := &state{correlator: newCorrelator(), events: map[string]*event{}, pods: map[string]*pod{}}
	for i, object := range pods {
		s.addPod(i, object)
	}
	for i := range records {
		if r := &records[i]; r.T <= at {
			s.add(r)
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": s.items()})
}

// state is what the API server has.
type state struct {
	correlator *correlator
	events     map[string]*event // by name
	order      []string          // names of events
	pods       map[string]*pod
	keys       []string // of the pods
	last       int64    // the time of the latest event
}

// pod is a pod and what its status tells.
type pod struct {
	object         *v1.Pod
	added, removed bool
	status         *trace.PodStatus
	changed        map[v1.PodConditionType]virtual.Time
	values         map[v1.PodConditionType]bool
	runs           map[string][]*run
}

// run is an instance of a container.
type run struct {
	number          int
	started, exited virtual.Time
	ended           bool
	code            int32
}

func (s *state) addPod(i int, object *v1.Pod) {
	object = object.DeepCopy()
	object.Kind, object.APIVersion = "Pod", "v1"
	object.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1))
	object.Status = v1.PodStatus{}
	key := object.Namespace + "/" + object.Name
	s.keys = append(s.keys, key)
	s.pods[key] = &pod{object: object, changed: map[v1.PodConditionType]virtual.Time{}, values: map[v1.PodConditionType]bool{}, runs: map[string][]*run{}}
}

// wall returns the time of the API: seconds, truncated.
func wall(t virtual.Time) metav1.Time {
	return metav1.Time{Time: Zero.Add(t.Offset()).Truncate(time.Second)}
}

func (s *state) add(r *trace.Record) {
	if r.Kind == trace.KubeletStarted {
		s.correlator = newCorrelator() // its memory is that of the process
		return
	}
	p := s.pods[r.Pod]
	if p == nil {
		return
	}
	switch r.Kind {
	case trace.PodAdded:
		p.added, p.object.CreationTimestamp = true, wall(r.T)
	case trace.PodDeleteRequested:
		grace := int64(30)
		if g := p.object.Spec.TerminationGracePeriodSeconds; g != nil {
			grace = *g
		}
		at := metav1.Time{Time: wall(r.T).Add(time.Duration(grace) * time.Second)}
		p.object.DeletionTimestamp, p.object.DeletionGracePeriodSeconds = &at, &grace
	case trace.PodRemoved:
		p.removed = true
	case trace.ContainerStarted:
		p.runs[r.Container] = append(p.runs[r.Container], &run{number: r.Instance, started: r.T})
	case trace.ContainerExited:
		for _, x := range p.runs[r.Container] {
			if x.number == r.Instance {
				x.exited, x.ended, x.code = r.T, true, r.ExitCode
			}
		}
	case trace.StatusPatched:
		p.patch(r)
	case trace.Event:
		s.event(r, p)
	}
}

func (p *pod) patch(r *trace.Record) {
	p.status = r.Status
	for _, c := range []struct {
		name v1.PodConditionType
		on   bool
	}{{v1.PodInitialized, r.Status.Initialized}, {v1.ContainersReady, r.Status.ContainersReady}, {v1.PodReady, r.Status.Ready}} {
		if old, has := p.values[c.name]; !has || old != c.on {
			p.values[c.name], p.changed[c.name] = c.on, r.T
		}
	}
}

func (s *state) event(r *trace.Record, p *pod) {
	now := Zero.Add(r.T.Offset())
	for now.UnixNano() <= s.last { // the name of an event ends in its time, and no two calls of a real clock are in one nanosecond
		now = now.Add(time.Nanosecond)
	}
	s.last = now.UnixNano()
	e := event{typ: r.Type, reason: r.Reason, message: r.Message, count: 1, first: now, last: now, name: fmt.Sprintf("%s.%x", p.object.Name, now.UnixNano()),
		object: reference{Kind: "Pod", Namespace: p.object.Namespace, Name: p.object.Name, UID: string(p.object.UID), APIVersion: "v1", FieldPath: p.fieldPath(r.Container)}}
	sent, accepted := s.correlator.observe(e)
	if !accepted {
		return
	}
	if s.events[sent.name] == nil {
		s.order = append(s.order, sent.name)
	}
	s.events[sent.name] = &sent
}

func (p *pod) fieldPath(name string) string {
	if name == "" {
		return ""
	}
	for _, c := range p.object.Spec.InitContainers {
		if c.Name == name {
			return "spec.initContainers{" + name + "}"
		}
	}
	return "spec.containers{" + name + "}"
}

// items returns the objects of the recording.
func (s *state) items() []any {
	items := []any{}
	for _, name := range s.order {
		e := s.events[name]
		items = append(items, map[string]any{
			"apiVersion": "v1", "kind": "Event",
			"metadata":       map[string]any{"name": e.name, "namespace": e.object.Namespace},
			"involvedObject": e.object, "type": e.typ, "reason": e.reason, "message": e.message, "count": e.count,
			"firstTimestamp": e.first.UTC().Format(time.RFC3339), "lastTimestamp": e.last.UTC().Format(time.RFC3339),
			"source": map[string]any{"component": "kubelet", "host": "node"},
		})
	}
	for _, key := range s.keys {
		if p := s.pods[key]; p.added && !p.removed {
			p.fill()
			items = append(items, p.object)
		}
	}
	return items
}

// fill sets the status of the pod.
func (p *pod) fill() {
	if p.status == nil {
		return
	}
	status := &p.object.Status
	status.Phase, status.Reason = v1.PodPhase(p.status.Phase), p.status.Reason
	status.StartTime = &p.object.CreationTimestamp // the kubelet sees a pod at once
	for _, c := range []v1.PodConditionType{v1.PodInitialized, v1.PodReady, v1.ContainersReady} {
		value := v1.ConditionFalse
		if p.values[c] {
			value = v1.ConditionTrue
		}
		status.Conditions = append(status.Conditions, v1.PodCondition{Type: c, Status: value, LastTransitionTime: wall(p.changed[c])})
	}
	init := map[string]bool{}
	for _, c := range p.object.Spec.InitContainers {
		init[c.Name] = true
	}
	for i := range p.status.Containers {
		c := p.container(&p.status.Containers[i])
		if init[c.Name] {
			status.InitContainerStatuses = append(status.InitContainerStatuses, c)
		} else {
			status.ContainerStatuses = append(status.ContainerStatuses, c)
		}
	}
}

// statusUnknown is the reason of a terminated container whose end the kubelet did not see. Its status has no times, and the kubelet adds one
// to its restartCount. If such a container must have ended, for example an init container of a pod that is initialized, its status has no
// times and the exit code 0 (convertToAPIContainerStatuses in pkg/kubelet/kubelet_pods.go and TerminatePod in
// pkg/kubelet/status/status_manager.go at v1.37.0).
const statusUnknown = "ContainerStatusUnknown"

func (p *pod) container(from *trace.ContainerStatus) v1.ContainerStatus {
	c := v1.ContainerStatus{Name: from.Name, Ready: from.Ready, Started: &from.Started, RestartCount: from.RestartCount}
	// The status may be older than the last records.
	var current, previous *run
	for _, x := range p.runs[from.Name] {
		if x.number > int(from.RestartCount) {
			break
		}
		previous, current = current, x
	}
	ended := func(x *run) *v1.ContainerStateTerminated {
		t := &v1.ContainerStateTerminated{ExitCode: x.code, Reason: "Error", StartedAt: wall(x.started), FinishedAt: wall(x.exited)}
		switch x.code {
		case 0:
			t.Reason = "Completed"
		case 255:
			t.Reason = "Unknown"
		}
		return t
	}
	switch {
	case from.State == "running" && current != nil:
		c.State.Running = &v1.ContainerStateRunning{StartedAt: wall(current.started)}
	case from.State == "terminated" && (from.Reason == statusUnknown || current != nil && current.ended && current.code != from.ExitCode):
		c.State.Terminated = &v1.ContainerStateTerminated{Reason: from.Reason, ExitCode: from.ExitCode}
	case from.State == "terminated" && current != nil && current.ended:
		c.State.Terminated = ended(current)
		c.State.Terminated.Reason = from.Reason
	case from.State == "waiting":
		c.State.Waiting = &v1.ContainerStateWaiting{Reason: from.Reason}
		previous = current
	}
	if previous != nil && previous.ended {
		c.LastTerminationState.Terminated = ended(previous)
	}
	return c
}
