// Package apiserver is the part of a Kubernetes API server that a kubelet and its user meet: the pods of
// one node in memory, with the latency of each call, and a watch that tells of every change.
//
// Pods are never changed in place: who holds one may keep it, and must not change it.
package apiserver

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/kube/profile"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// Refused is why a call fails while the server is down.
const Refused = "connection refused"

// watchCapacity is how many changes wait for the kubelet; more than any run makes at one instant.
const watchCapacity = 1 << 16

// EventType says what happened to a pod.
type EventType string

const (
	Added    EventType = "ADDED"
	Modified EventType = "MODIFIED"
	Deleted  EventType = "DELETED"
	// Listed comes at the beginning of a watch and after an outage, with all pods that there are.
	Listed EventType = "LISTED"
)

// WatchEvent is a change of a pod, or a list of all.
type WatchEvent struct {
	Type  EventType
	Pod   *v1.Pod   // what was deleted is as it was last
	Cause int64     // step of the trace record of the change
	Pods  []*v1.Pod // by name, if they are listed
}

// Delays are the latencies of the calls that a kubelet makes about a pod.
type Delays interface {
	APIGet(pod *v1.Pod) time.Duration
	APIPatch(pod *v1.Pod) time.Duration
	APIDelete(pod *v1.Pod) time.Duration
}

// Options say what a Server works with.
type Options struct {
	Sim     *sim.Sim
	Trace   *trace.Recorder
	Profile profile.Profile
	Now     func() time.Time // wall clock
	Delays  Delays
}

// Server has the pods.
type Server struct {
	o     Options
	pods  map[string]*v1.Pod    // by namespace/name
	steps map[types.UID]int64   // of the records that tell why a pod is wanted as it is
	watch *sim.Chan[WatchEvent] // nil while nobody watches
	down  bool
	calls []*call // under way
}

// call is a call of the kubelet.
type call struct {
	proc   *sim.Proc
	broken bool
}

// New returns a server without pods.
func New(o Options) *Server {
	return &Server{o: o, pods: map[string]*v1.Pod{}, steps: map[types.UID]int64{}}
}

// Watch returns where the pods that there are now, and the changes from now on, are sent to. A watch from before has none
// any more.
func (s *Server) Watch() *sim.Chan[WatchEvent] {
	s.watch = sim.NewChan[WatchEvent](s.o.Sim, "watch", watchCapacity)
	s.list()
	return s.watch
}

// Disconnect ends the watch and forgets the calls under way, of a kubelet that has ended.
func (s *Server) Disconnect() { s.watch, s.calls = nil, nil }

// SetDown has the kubelet reach the server no longer, or again: calls under way break off, others fail at once, and
// of what changes meanwhile it sees at the end what has come of it. Users still reach the server.
func (s *Server) SetDown(down bool) {
	s.down = down
	if !down {
		s.list()
		return
	}
	for _, c := range s.calls {
		c.broken = true
		c.proc.Interrupt()
	}
	s.calls = nil
}

// list sends all pods to whoever watches.
func (s *Server) list() {
	e := WatchEvent{Type: Listed}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		e.Pods = append(e.Pods, s.pods[name])
	}
	s.notify(e)
}

// WantedSince returns the step of the record that tells why a pod is wanted as it is: it was added, deleted, or its spec
// patched.
func (s *Server) WantedSince(uid types.UID) int64 { return s.steps[uid] }

// Pod returns the pod as it is now, or nil.
func (s *Server) Pod(namespace, name string) *v1.Pod { return s.pods[namespace+"/"+name] }

// Create adds a pod that is bound to the node. A pod of that name must not exist.
func (s *Server) Create(pod *v1.Pod) {
	pod = pod.DeepCopy()
	DropDisabled(s.o.Profile, &pod.Spec)
	pod.CreationTimestamp = metav1.NewTime(s.o.Now().Truncate(time.Second))
	pod.Generation = 1
	pod.Status = v1.PodStatus{Phase: v1.PodPending}
	s.steps[pod.UID] = s.record(trace.PodAdded, pod, 0)
	s.store(Added, pod, s.steps[pod.UID])
}

// Delete deletes a pod as a user does: gracefully, with the given grace period in seconds or the
// pod's own; 0 removes it at once, and so does any for a pod that has come to its end. A second
// delete can only shorten the first (pkg/registry/core/pod/strategy.go and apiserver's
// pkg/registry/rest/delete.go at v1.37.0). It does nothing if there is no such pod.
func (s *Server) Delete(namespace, name string, gracePeriodSeconds *int64) {
	old := s.Pod(namespace, name)
	if old == nil {
		return
	}
	s.steps[old.UID] = s.record(trace.PodDeleteRequested, old, 0)
	s.delete(old, gracePeriodSeconds, s.steps[old.UID])
}

func (s *Server) delete(old *v1.Pod, gracePeriodSeconds *int64, cause int64) {
	switch after, gone := AfterDelete(old, gracePeriodSeconds, s.o.Now()); {
	case gone:
		s.remove(old, cause)
	case after != old:
		s.store(Modified, after, cause)
	}
}

// GetPod returns a pod, after its latency; false if there is none or the server is down.
func (s *Server) GetPod(p *sim.Proc, namespace, name string) (*v1.Pod, bool) {
	if !s.wait(p, "APIGet", namespace, name, s.o.Delays.APIGet) {
		return nil, false
	}
	pod := s.Pod(namespace, name)
	return pod, pod != nil
}

// PatchStatus has the kubelet put a status in the place of the one that it has read, after its latency. Conditions of
// others that have changed meanwhile stay. It reports false if there is no such pod or the server is down.
func (s *Server) PatchStatus(p *sim.Proc, namespace, name string, read, status *v1.PodStatus) (*v1.Pod, bool) {
	reached := s.wait(p, "APIPatch", namespace, name, s.o.Delays.APIPatch)
	old := s.Pod(namespace, name)
	if !reached || old == nil {
		return nil, false
	}
	pod := *old
	pod.Status = *status
	pod.Status.Conditions = mergeConditions(old.Status.Conditions, read.Conditions, status.Conditions)
	step := s.o.Trace.Add(trace.Record{
		T: s.o.Sim.Now(), Kind: trace.StatusPatched, Cause: p.Cause(), Pod: namespace + "/" + name, Status: Observed(&pod),
	})
	s.store(Modified, &pod, step)
	return &pod, true
}

// DeletePod deletes a pod without a grace period, after its latency: it is gone unless finalizers keep it. It reports
// false if the server is down.
func (s *Server) DeletePod(p *sim.Proc, namespace, name string) bool {
	if !s.wait(p, "APIDelete", namespace, name, s.o.Delays.APIDelete) {
		return false
	}
	if pod := s.Pod(namespace, name); pod != nil {
		s.delete(pod, new(int64), p.Cause())
	}
	return true
}

// wait lets the latency of a call pass, notes the call, and reports whether it reaches the server.
func (s *Server) wait(p *sim.Proc, method, namespace, name string, latency func(*v1.Pod) time.Duration) bool {
	start := p.Now()
	reached := !s.down && s.sleep(p, latency(s.Pod(namespace, name)))
	if s.o.Trace.Wants(trace.CRICall) {
		rec := trace.Record{T: p.Now(), Kind: trace.CRICall, Pod: namespace + "/" + name, Reason: method, Took: p.Now() - start}
		if !reached {
			rec.Message = Refused
		}
		s.o.Trace.Add(rec)
	}
	return reached
}

// sleep lets the latency of a call pass, and reports false if an outage comes first.
func (s *Server) sleep(p *sim.Proc, latency time.Duration) bool {
	if latency <= 0 {
		return true
	}
	c := &call{proc: p}
	s.calls = append(s.calls, c)
	p.Sleep(latency)
	s.calls = slices.DeleteFunc(s.calls, func(o *call) bool { return o == c })
	return !c.broken
}

func (s *Server) store(t EventType, pod *v1.Pod, cause int64) {
	s.pods[pod.Namespace+"/"+pod.Name] = pod
	s.notify(WatchEvent{Type: t, Pod: pod, Cause: cause})
}

func (s *Server) remove(pod *v1.Pod, cause int64) {
	delete(s.pods, pod.Namespace+"/"+pod.Name)
	step := s.record(trace.PodRemoved, pod, cause)
	s.notify(WatchEvent{Type: Deleted, Pod: pod, Cause: step})
}

func (s *Server) notify(e WatchEvent) {
	if s.watch != nil && !s.down {
		s.watch.TrySend(e)
	}
}

func (s *Server) record(kind trace.Kind, pod *v1.Pod, cause int64) int64 {
	return s.o.Trace.Add(trace.Record{T: s.o.Sim.Now(), Kind: kind, Cause: cause, Pod: pod.Namespace + "/" + pod.Name})
}
