package play

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// pod is a played pod, as far as it was observed.
type pod struct {
	key        string // namespace/name in the trace; empty: it sends requests
	name       string // on the cluster
	gone       chan struct{}
	last       *v1.Pod
	status     *trace.PodStatus
	deleted    bool // a deletion was requested
	containers map[string]*container
	events     map[string]int32 // counts, by the name of the event
	scheduled  virtual.Time
}

// container is what was observed of a container of a pod.
type container struct {
	created int             // number of instances that were created
	ended   map[int]bool    // instances whose exit is in the trace
	lines   map[int]int     // number of lines that were read of the logs of an instance
	logs    map[string]bool // IDs of the containers whose logs are read
	pulled  virtual.Time
	made    virtual.Time
}

func newPod(key, name string) *pod {
	return &pod{key: key, name: name, gone: make(chan struct{}), containers: map[string]*container{},
		events: map[string]int32{}}
}

func (p *pod) container(name string) *container {
	c := p.containers[name]
	if c == nil {
		c = &container{ended: map[int]bool{}, lines: map[int]int{}, logs: map[string]bool{}}
		p.containers[name] = c
	}
	return c
}

// observe watches the objects of all runs, and passes each to its run. It returns when all watches
// have begun.
func (p *Play) observe(ctx context.Context, fail context.CancelCauseFunc, worlds map[string]*world) {
	kinds := []string{"Pod", "Event"}
	if slices.ContainsFunc(p.Runs, func(r *Run) bool { return r.Plan.Scenario.Spec.ControlPlane != nil }) {
		kinds = append(kinds, "Deployment", "ReplicaSet", "EndpointSlice")
	}
	var begun sync.WaitGroup
	defer begun.Wait()
	for _, kind := range kinds {
		labels := labelPlay + "=" + p.ID
		if kind == "Event" || kind == "EndpointSlice" { // which the cluster makes
			labels = ""
		}
		begun.Add(1)
		go func() {
			err := p.cluster.watch(ctx, kind, p.Namespace, labels, begun.Done, func(t watch.EventType, o object) {
				if w, at := worlds[prefixOf(o)], time.Now(); w != nil {
					w.turn(func() { w.see(virtual.At(at.Sub(w.zero)), t, o) })
				}
			})
			if err != nil {
				fail(Unexpected{fmt.Sprintf("cannot watch %ss in namespace %s: %s", kind, p.Namespace, reason(err))})
			}
		}()
	}
}

// prefixOf returns the prefix of the names of a run to which an object belongs.
func prefixOf(o object) string {
	name := o.GetName()
	switch o := o.(type) {
	case *v1.Event:
		name = o.InvolvedObject.Name
	case *discoveryv1.EndpointSlice:
		name = o.Labels[discoveryv1.LabelServiceName]
	}
	parts := strings.SplitAfterN(name, "-", 3)
	return strings.Join(parts[:min(2, len(parts))], "")
}

// see adds what a change shows to the trace.
func (w *world) see(at virtual.Time, t watch.EventType, o object) {
	switch o := o.(type) {
	case *v1.Pod:
		w.seePod(at, t, o)
	case *v1.Event:
		w.seeEvent(at, o)
	default:
		w.seeObject(at, t, o)
	}
}

// seePod adds what a new state of a pod shows.
func (w *world) seePod(at virtual.Time, t watch.EventType, o *v1.Pod) {
	p := w.pods[o.Name]
	if p == nil {
		if p = w.ofReplicaSet(o); p == nil {
			return
		}
		w.pods[o.Name] = p
	}
	if p.key == "" {
		p.last = o
		w.refuses(p)
		for i := range o.Status.ContainerStatuses {
			w.readNewLogs(p, &o.Status.ContainerStatuses[i])
		}
		return
	}
	if p.last == nil {
		added := trace.Record{Kind: trace.PodAdded, Pod: p.key}
		if owner := metav1.GetControllerOf(o); owner != nil {
			set := p.key[:strings.LastIndexByte(p.key, '-')]
			added.Object = &trace.Object{Name: "ReplicaSet " + set}
		}
		w.recordAt(at, added)
	}
	p.last = o
	if o.Spec.NodeName != "" && p.scheduled == 0 {
		p.scheduled = at
	}
	if (o.DeletionTimestamp != nil || t == watch.Deleted) && !p.deleted {
		p.deleted = true
		w.recordAt(at, trace.Record{Kind: trace.PodDeleteRequested, Pod: p.key})
	}
	if s := apiserver.ObservedInDetail(o, w.zero); o.Status.StartTime != nil && !reflect.DeepEqual(s, p.status) {
		p.status = s
		w.recordAt(at, trace.Record{Kind: trace.StatusPatched, Pod: p.key, Status: s})
	}
	for _, list := range [][]v1.ContainerStatus{o.Status.InitContainerStatuses, o.Status.ContainerStatuses} {
		for i := range list {
			w.seeContainer(at, p, &list[i])
		}
	}
	w.refuses(p)
	if t == watch.Deleted {
		w.recordAt(at, trace.Record{Kind: trace.PodRemoved, Pod: p.key})
		delete(w.pods, o.Name)
		close(p.gone)
	}
}

// seeContainer reads the logs of new instances, and notes the exits of those that a signal ended
// before they could log it.
func (w *world) seeContainer(at virtual.Time, p *pod, s *v1.ContainerStatus) {
	c := p.container(s.Name)
	w.readNewLogs(p, s)
	for _, ended := range []struct {
		*v1.ContainerStateTerminated
		instance int
		previous bool
	}{{s.State.Terminated, int(s.RestartCount), false},
		{s.LastTerminationState.Terminated, int(s.RestartCount) - 1, true}} {
		if ended.ContainerStateTerminated == nil || ended.instance < 0 || c.ended[ended.instance] {
			continue
		}
		if ended.previous && !c.logs[ended.ContainerID] {
			c.logs[ended.ContainerID] = true
			go w.readLogs(p, s.Name, true)
		}
		exit := trace.Record{Kind: trace.ContainerExited, Pod: p.key, Container: s.Name, Instance: ended.instance,
			ExitCode: ended.ExitCode}
		latest := virtual.At(ended.FinishedAt.Add(time.Second).Sub(w.zero)) // the API has whole seconds
		w.at(w.now().Add(logLag), func() {
			if !c.ended[ended.instance] {
				c.ended[ended.instance] = true
				w.recordAt(min(at, latest), exit)
			}
		})
	}
}

// readNewLogs reads the logs of an instance that is there for the first time. A request before that
// can get the end of the logs at once.
func (w *world) readNewLogs(p *pod, s *v1.ContainerStatus) {
	if c := p.container(s.Name); s.ContainerID != "" && !c.logs[s.ContainerID] {
		c.logs[s.ContainerID] = true
		go w.readLogs(p, s.Name, false)
	}
}

// logLag is how long the line of an exit can be on its way after the status of the container.
const logLag = time.Second

// hopeless are reasons why a container waits that say nothing about the scenario: its image cannot
// be used.
var hopeless = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName",
	"CreateContainerError", "CreateContainerConfigError", "RunContainerError"}

// refuses ends the run if the cluster cannot run the pod.
func (w *world) refuses(p *pod) {
	for _, s := range slices.Concat(p.last.Status.InitContainerStatuses, p.last.Status.ContainerStatuses) {
		if wait := s.State.Waiting; wait != nil && slices.Contains(hopeless, wait.Reason) {
			w.fail(Unexpected{fmt.Sprintf("the image %s cannot be used: %s: %s", w.stage.Image, wait.Reason,
				wait.Message)})
		}
	}
	if p.scheduled > 0 {
		return
	}
	for _, c := range p.last.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Reason == v1.PodReasonUnschedulable {
			p.scheduled = w.now()
			w.at(w.now().Add(unschedulable), func() {
				if p.last.Spec.NodeName == "" {
					w.fail(Unexpected{fmt.Sprintf("no node takes pod %s: %s", p.last.Name, c.Message)})
				}
			})
		}
	}
}

// unschedulable is how long a pod may wait for a node.
const unschedulable = 20 * time.Second

// seeEvent adds an event of the kubelet about a pod. An event that repeats has a count.
func (w *world) seeEvent(at virtual.Time, e *v1.Event) {
	p := w.pods[e.InvolvedObject.Name]
	if p == nil || e.InvolvedObject.Kind != "Pod" || e.Source.Component != "kubelet" &&
		e.ReportingController != "kubelet" {
		return
	}
	count := max(e.Count, 1)
	if e.Series != nil {
		count = max(count, e.Series.Count)
	}
	for ; p.events[e.Name] < count; p.events[e.Name]++ {
		r := trace.Record{Kind: trace.Event, Pod: p.key, Type: e.Type, Reason: e.Reason, Message: e.Message}
		if _, name, about := strings.Cut(e.InvolvedObject.FieldPath, "{"); about {
			r.Container = strings.TrimSuffix(name, "}")
			r.Instance = w.timeStart(at, p, p.container(r.Container), e.Reason)
		}
		w.recordAt(at, r)
	}
}

// timeStart notes what an event says about the start of an instance, and returns the instance that
// the event is about, as fakeruntime.EventInstance does.
func (w *world) timeStart(at virtual.Time, p *pod, c *container, reason string) int {
	switch reason {
	case "Pulling":
		return c.created
	case "Pulled":
		c.pulled = at
		if c.created == 0 && p.scheduled > 0 && len(p.containers) == 1 {
			w.node.add("runPodSandbox", at.Sub(p.scheduled))
		}
		return c.created
	case "Created":
		c.created++
		c.made = at
		if c.pulled > 0 {
			w.node.add("createContainer", at.Sub(c.pulled))
		}
	case "Started":
		if c.made > 0 {
			w.node.add("startContainer", at.Sub(c.made))
		}
	}
	return max(c.created-1, 0)
}

// readLogs reads what the player of a container writes.
func (w *world) readLogs(p *pod, container string, previous bool) {
	for {
		stream, err := w.cluster.logs(w.ctx, w.namespace, p.name, container, previous)
		if err == nil {
			w.readLines(stream, p, container)
			stream.Close()
			return
		}
		select {
		case <-w.ctx.Done():
			return
		case <-p.gone:
			return
		case <-time.After(pause):
		}
	}
}

// maxLine limits a line of a log.
const maxLine = 1 << 20

func (w *world) readLines(stream io.Reader, p *pod, container string) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxLine)
	numbers := map[int]int{} // of the lines of each instance
	for lines.Scan() {
		text := lines.Text()
		if message, isError := strings.CutPrefix(text, "probesim player: "); isError {
			w.fail(Unexpected{fmt.Sprintf("the player of container %s in pod %s: %s", container, p.key, message)})
			return
		}
		r, err := trace.NewReader(strings.NewReader(text)).Read()
		if err != nil {
			continue
		}
		numbers[r.Instance]++
		number := numbers[r.Instance]
		w.turn(func() { w.fromPlayer(p, container, number, r) })
	}
}

// fromPlayer adds a line of a player, unless it was read before.
func (w *world) fromPlayer(p *pod, name string, number int, r trace.Record) {
	c := p.container(name)
	if number <= c.lines[r.Instance] {
		return
	}
	c.lines[r.Instance] = number
	if p.key == "" {
		w.fromClient(r)
		return
	}
	r.Pod, r.Container, r.Cause = p.key, name, 0
	switch r.Kind {
	case trace.ContainerExited:
		if c.ended[r.Instance] {
			return
		}
		c.ended[r.Instance] = true
	case trace.ContainerStopping:
		r.GraceSeconds = p.grace()
	}
	w.recordAt(r.T, r)
}

// fromClient adds what a client tells of its requests. It knows the pod that answered by its name
// on the cluster.
func (w *world) fromClient(r trace.Record) {
	if r.Object == nil {
		return // no client writes this
	}
	for i := range r.Object.Endpoints {
		if p := w.pods[r.Object.Endpoints[i].Pod]; p != nil {
			r.Object.Endpoints[i].Pod = p.key
		}
	}
	r.Container = ""
	w.recordAt(r.T, r)
}

// grace returns the grace period that a stop of the pod begins with.
func (p *pod) grace() int64 {
	if g := p.last.DeletionGracePeriodSeconds; g != nil {
		return *g
	}
	if g := p.last.Spec.TerminationGracePeriodSeconds; g != nil {
		return *g
	}
	return int64(v1.DefaultTerminationGracePeriodSeconds)
}

// ofReplicaSet returns a new pod of a Deployment, or nil if it is none.
func (w *world) ofReplicaSet(o *v1.Pod) *pod {
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return nil
	}
	for _, of := range w.workloads {
		if set := of.set(owner.Name); set > 0 {
			pod := of.Workload.Pod.DeepCopy()
			pod.Name = fmt.Sprintf("%s-%d-%d", of.Manifest.Name, set, of.pods[set])
			pod.UID = o.UID
			of.pods[set]++
			of.program(pod)
			return newPod(pod.Namespace+"/"+pod.Name, o.Name)
		}
	}
	return nil
}

// set returns the number of a ReplicaSet of a Deployment, in the order in which they appear, or 0.
func (of *workload) set(name string) int {
	if end := strings.LastIndexByte(name, '-'); end < 0 || name[:end] != of.name {
		return 0
	}
	if of.sets[name] == 0 {
		of.sets[name] = len(of.sets) + 1
	}
	return of.sets[name]
}

// seeObject adds a change of a Deployment, a ReplicaSet or an EndpointSlice, with the names of the
// scenario.
func (w *world) seeObject(at virtual.Time, t watch.EventType, o object) {
	o = o.DeepCopyObject().(object)
	if !w.rename(o) {
		return
	}
	change := store.Change{Type: store.Modified, New: o}
	key := fmt.Sprintf("%T %s", o, o.GetName())
	if old, known := w.seen[key]; known {
		change.Old = old
	}
	if w.seen[key] = o; t == watch.Deleted {
		change.Type = store.Deleted
		delete(w.seen, key)
	}
	for _, r := range apiserver.RecordsOf(change) {
		w.recordAt(at, r)
	}
}

// rename gives an object the names that the scenario has for it, and reports whether it is one of
// the run.
func (w *world) rename(o object) bool {
	namespace := w.plan.Scenario.Workloads[0].Pod.Namespace
	o.SetNamespace(namespace)
	switch o := o.(type) {
	case *appsv1.Deployment:
		of := w.workload(o.Name)
		if of == nil {
			return false
		}
		o.Name, o.Namespace = of.Manifest.Name, of.Pod.Namespace
		return true
	case *appsv1.ReplicaSet:
		for _, of := range w.workloads {
			if set := of.set(o.Name); set > 0 {
				o.Name, o.Namespace = fmt.Sprintf("%s-%d", of.Manifest.Name, set), of.Pod.Namespace
				return true
			}
		}
	case *discoveryv1.EndpointSlice:
		service, ours := strings.CutPrefix(o.Labels[discoveryv1.LabelServiceName], w.stage.Prefix)
		if !ours {
			return false
		}
		o.Labels[discoveryv1.LabelServiceName] = service
		for i := range o.Endpoints {
			if ref := o.Endpoints[i].TargetRef; ref != nil && w.pods[ref.Name] != nil {
				ref.Namespace, ref.Name, _ = strings.Cut(w.pods[ref.Name].key, "/")
			}
		}
		return true
	}
	return false
}
