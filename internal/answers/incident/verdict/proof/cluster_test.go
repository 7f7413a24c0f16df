package proof

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// zero is the time of t=0 in recordings. It is no whole second.
var zero = time.Date(2024, 5, 18, 21, 0, 0, 137_000_001, time.UTC)

// eventTTL is how long an API server keeps events (--event-ttl).
const eventTTL = time.Hour

// cluster is what the API server has at a time, and what it sent to people who watch.
type cluster struct {
	now     time.Time
	pods    []*v1.Pod  // that exist
	added   []*v1.Pod  // and those that have existed
	events  []v1.Event // in the order of their first occurrences
	changes []*v1.Pod  // of pods, in the order of time; ResourceVersion is the time, in the form of time.RFC3339Nano
	updates []v1.Event // of events, likewise
}

// record returns what a cluster has of a run at a time. The pods are as the API server stored them
// first, and the messages are those of a release.
func record(pods []*v1.Pod, records []trace.Record, at virtual.Time, r release) *cluster {
	s := &state{release: r, correlator: newCorrelator(), events: map[string]*v1.Event{}, pods: map[string]*pod{},
		cluster: &cluster{now: zero.Add(at.Offset())}}
	for i, object := range pods {
		s.addPod(i, object)
	}
	for i := range records {
		if r := &records[i]; r.T <= at {
			s.add(r)
		}
	}
	c := s.cluster
	for _, name := range s.order {
		if e := s.events[name]; c.now.Sub(e.LastTimestamp.Time) < eventTTL {
			c.events = append(c.events, *e)
		}
	}
	for _, key := range s.keys {
		p := s.pods[key]
		if !p.added {
			continue
		}
		c.added = append(c.added, p.stored())
		if !p.removed {
			c.pods = append(c.pods, c.added[len(c.added)-1])
		}
	}
	return c
}

// state is what the API server has.
type state struct {
	release    release
	correlator *correlator
	events     map[string]*v1.Event // by name
	order      []string             // names of events
	pods       map[string]*pod
	keys       []string     // of the pods
	last       int64        // the time of the latest event
	rebooted   virtual.Time // the last time
	cluster    *cluster
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
	reason          string // of a kill from outside
}

func (s *state) addPod(i int, object *v1.Pod) {
	object = object.DeepCopy()
	object.Kind, object.APIVersion = "Pod", "v1"
	object.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1))
	object.Spec.NodeName = nodeName
	object.Status = v1.PodStatus{Phase: v1.PodPending}
	key := object.Namespace + "/" + object.Name
	s.keys = append(s.keys, key)
	s.pods[key] = &pod{object: object, changed: map[v1.PodConditionType]virtual.Time{},
		values: map[v1.PodConditionType]bool{}, runs: map[string][]*run{}}
}

// nodeName is the name of the node.
const nodeName = "node-1"

// wall returns the time of the API: seconds, truncated.
func wall(t virtual.Time) metav1.Time {
	return metav1.Time{Time: zero.Add(t.Offset()).Truncate(time.Second)}
}

func (s *state) add(r *trace.Record) {
	if r.Kind == trace.KubeletStarted {
		s.correlator = newCorrelator() // its memory is that of the process
		return
	}
	if r.Kind == trace.Step && r.Reason == "rebootNode" {
		s.rebooted = r.T
	}
	p := s.pods[r.Pod]
	if p == nil {
		return
	}
	switch r.Kind {
	case trace.PodAdded:
		p.added, p.object.CreationTimestamp = true, wall(r.T)
		s.scheduled(r, p)
		s.change(r.T, p)
	case trace.PodDeleteRequested:
		grace := int64(30)
		if g := p.object.Spec.TerminationGracePeriodSeconds; g != nil {
			grace = *g
		}
		at := metav1.Time{Time: wall(r.T).Add(time.Duration(grace) * time.Second)}
		p.object.DeletionTimestamp, p.object.DeletionGracePeriodSeconds = &at, &grace
		s.change(r.T, p)
	case trace.PodRemoved:
		p.removed = true
	case trace.ContainerStarted:
		p.runs[r.Container] = append(p.runs[r.Container], &run{number: r.Instance, started: r.T})
	case trace.ContainerExited:
		if x := p.run(r.Container, r.Instance); x != nil {
			x.exited, x.ended, x.code = r.T, true, r.ExitCode
			if r.ExitCode == 255 && r.T == s.rebooted {
				x.reason = "Unknown"
			}
		}
	case trace.Step:
		if x := p.run(r.Container, r.Instance); x != nil && r.Reason == "kill" {
			x.reason, _, _ = strings.Cut(r.Message, " ")
		}
	case trace.StatusPatched:
		p.patch(r)
		s.change(r.T, p)
	case trace.Event:
		s.event(r, p)
	}
}

// run returns an instance of a container, or nil.
func (p *pod) run(container string, instance int) *run {
	i := slices.IndexFunc(p.runs[container], func(x *run) bool { return x.number == instance })
	if i < 0 {
		return nil
	}
	return p.runs[container][i]
}

func (s *state) change(t virtual.Time, p *pod) {
	object := p.stored()
	object.ResourceVersion = zero.Add(t.Offset()).Format(time.RFC3339Nano)
	s.cluster.changes = append(s.cluster.changes, object)
}

func (p *pod) patch(r *trace.Record) {
	p.status = r.Status
	for _, c := range []struct {
		name v1.PodConditionType
		on   bool
	}{{v1.PodReadyToStartContainers, true}, {v1.PodInitialized, r.Status.Initialized}, {v1.PodReady, r.Status.Ready},
		{v1.ContainersReady, r.Status.ContainersReady}, {v1.PodScheduled, true}} {
		if old, has := p.values[c.name]; !has || old != c.on {
			p.values[c.name], p.changed[c.name] = c.on, r.T
		}
	}
}

// scheduled adds the event of the scheduler, which the events API writes.
func (s *state) scheduled(r *trace.Record, p *pod) {
	now := metav1.MicroTime{Time: zero.Add(r.T.Offset()).Truncate(time.Microsecond)}
	e := &v1.Event{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", p.object.Name, now.UnixNano()),
		Namespace: p.object.Namespace}, InvolvedObject: p.reference(""),
		Type: v1.EventTypeNormal, Reason: "Scheduled",
		Message:   fmt.Sprintf("Successfully assigned %s/%s to %s", p.object.Namespace, p.object.Name, nodeName),
		EventTime: now, Action: "Binding", ReportingController: "default-scheduler",
		ReportingInstance: "default-scheduler-control-plane"}
	e.LastTimestamp.Time = now.Time // for the order and the age; the writers leave it out
	s.order, s.events[e.Name] = append(s.order, e.Name), e
	s.cluster.updates = append(s.cluster.updates, *e)
}

func (p *pod) reference(container string) v1.ObjectReference {
	return v1.ObjectReference{Kind: "Pod", Namespace: p.object.Namespace, Name: p.object.Name, UID: p.object.UID,
		APIVersion: "v1", FieldPath: p.fieldPath(container)}
}

func (s *state) event(r *trace.Record, p *pod) {
	now := zero.Add(r.T.Offset())
	// the name of an event ends in its time, and no two calls of a real clock are in one nanosecond
	for now.UnixNano() <= s.last {
		now = now.Add(time.Nanosecond)
	}
	s.last = now.UnixNano()
	sent, accepted := s.correlator.observe(event{typ: r.Type, reason: r.Reason, message: s.release.message(r, p.object),
		count: 1, first: now, last: now,
		name: fmt.Sprintf("%s.%x", p.object.Name, now.UnixNano()), object: p.reference(r.Container)})
	if !accepted {
		return
	}
	if s.events[sent.name] == nil {
		s.order = append(s.order, sent.name)
	}
	e := &v1.Event{ObjectMeta: metav1.ObjectMeta{Name: sent.name, Namespace: p.object.Namespace},
		InvolvedObject: sent.object, Type: sent.typ, Reason: sent.reason,
		Message: sent.message, Count: int32(sent.count),
		FirstTimestamp: metav1.Time{Time: sent.first.Truncate(time.Second)},
		LastTimestamp:  metav1.Time{Time: sent.last.Truncate(time.Second)},
		Source:         v1.EventSource{Component: "kubelet", Host: nodeName}, ReportingController: "kubelet",
		ReportingInstance: nodeName}
	s.events[sent.name] = e
	s.cluster.updates = append(s.cluster.updates, *e)
	if r.Reason == "BackOff" && r.Type == v1.EventTypeWarning && s.release.minor <= 9 {
		s.failedSync(r, p)
	}
}

// failedSync adds the event that kubelets up to v1.9 write beside a back-off.
func (s *state) failedSync(r *trace.Record, p *pod) {
	sync := *r
	sync.Container, sync.Reason = "", "FailedSync"
	sync.Message = fmt.Sprintf(`Error syncing pod, skipping: failed to "StartContainer" for %q with `+
		`CrashLoopBackOff: "Back-off 40s restarting failed container=%s pod=%s_%s(%s)"`,
		r.Container, r.Container, p.object.Name, p.object.Namespace, p.object.UID)
	if strings.Contains(r.Message, "pulling image") {
		sync.Message = fmt.Sprintf(
			`Error syncing pod, skipping: failed to "StartContainer" for %q with ImagePullBackOff: %q`, r.Container,
			r.Message)
	}
	s.event(&sync, p)
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

// stored returns the pod as the API server has it.
func (p *pod) stored() *v1.Pod {
	object := p.object.DeepCopy()
	if p.status == nil {
		return object
	}
	status := &object.Status
	status.Phase, status.Reason = v1.PodPhase(p.status.Phase), p.status.Reason
	status.HostIP, status.PodIP, status.PodIPs = "192.0.2.10", "10.64.0.1", []v1.PodIP{{IP: "10.64.0.1"}}
	status.StartTime = &object.CreationTimestamp // the kubelet sees a pod at once
	for _, c := range []v1.PodConditionType{v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady,
		v1.ContainersReady, v1.PodScheduled} {
		value := v1.ConditionFalse
		if p.values[c] {
			value = v1.ConditionTrue
		}
		status.Conditions = append(status.Conditions,
			v1.PodCondition{Type: c, Status: value, LastTransitionTime: wall(p.changed[c])})
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
	return object
}

// statusUnknown is the reason of a terminated container whose end the kubelet did not see. Its
// status has no times, and the kubelet adds one to its restartCount. If such a container must have
// ended, for example an init container of a pod that is initialized, its status has no times and
// the exit code 0 (convertToAPIContainerStatuses in pkg/kubelet/kubelet_pods.go and TerminatePod in
// pkg/kubelet/status/status_manager.go at v1.37.0).
const statusUnknown = "ContainerStatusUnknown"

func (p *pod) container(from *trace.ContainerStatus) v1.ContainerStatus {
	c := v1.ContainerStatus{Name: from.Name, Ready: from.Ready, Started: &from.Started, RestartCount: from.RestartCount}
	if c.Image = p.image(from.Name); from.State != "waiting" || from.RestartCount > 0 {
		c.ImageID = "docker.io/library/" + c.Image + "@sha256:5f0c"
		c.ContainerID = "containerd://" + dockerID(from.Name, int(from.RestartCount))
	}
	// The status may be older than the last records.
	var current, previous *run
	for _, x := range p.runs[from.Name] {
		if x.number > int(from.RestartCount) {
			break
		}
		previous, current = current, x
	}
	switch {
	case from.State == "running" && current != nil:
		c.State.Running = &v1.ContainerStateRunning{StartedAt: wall(current.started)}
	case from.State == "terminated" && (from.Reason == statusUnknown ||
		current != nil && current.ended && current.code != from.ExitCode):
		c.State.Terminated = &v1.ContainerStateTerminated{Reason: from.Reason, ExitCode: from.ExitCode}
	case from.State == "terminated" && current != nil && current.ended:
		c.State.Terminated = current.termination()
		c.State.Terminated.Reason = from.Reason
	case from.State == "waiting":
		c.State.Waiting = &v1.ContainerStateWaiting{Reason: from.Reason}
		previous = current
	}
	if previous != nil && previous.ended {
		c.LastTerminationState.Terminated = previous.termination()
	}
	return c
}

// termination returns the end of an instance as a container runtime reports it.
func (x *run) termination() *v1.ContainerStateTerminated {
	t := &v1.ContainerStateTerminated{ExitCode: x.code, Reason: x.reason, StartedAt: wall(x.started),
		FinishedAt: wall(x.exited)}
	switch {
	case t.Reason != "":
	case x.code == 0:
		t.Reason = "Completed"
	default:
		t.Reason = "Error"
	}
	return t
}

func (p *pod) image(name string) string {
	for _, list := range [][]v1.Container{p.object.Spec.InitContainers, p.object.Spec.Containers} {
		for _, c := range list {
			if c.Name == name {
				return c.Image
			}
		}
	}
	return ""
}

// dockerID returns an invented ID of an instance of a container.
func dockerID(name string, instance int) string {
	id := uint64(14695981039346656037)
	for _, b := range fmt.Appendf(nil, "%s/%d", name, instance) {
		id = (id ^ uint64(b)) * 1099511628211
	}
	return fmt.Sprintf("%016x%016x", id, id*31)
}
