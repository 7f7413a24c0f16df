// Package apiserver simulates a Kubernetes API server: it gives each call of the kubelet a latency,
// writes records of what changes, and sends changes to the kubelet's watch and to those of
// controllers. Package store keeps the objects, and package admission has the rules for new pods
// and patches.
//
// The server replaces a stored pod and never changes it in place. You can keep a pod that a method
// returns; do not change it.
package apiserver

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/kube/profile"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Refused is the error text of the kubelet's calls while the server is down.
const Refused = "connection refused"

// watchCapacity is the number of changes that can wait for the kubelet. No run makes so many at one
// instant.
const watchCapacity = 1 << 16

// EventType is the kind of a watch event.
type EventType string

const (
	Added    = EventType(store.Added)
	Modified = EventType(store.Modified)
	Deleted  = EventType(store.Deleted)
	// Listed starts a watch, and follows an outage. The event has all stored pods.
	Listed EventType = "LISTED"
)

// WatchEvent is a change of one pod, or the list of all pods.
type WatchEvent struct {
	Type  EventType
	Pod   *v1.Pod   // the pod after the change; a deleted pod in its last state
	Cause int64     // step of the trace record of the change
	Pods  []*v1.Pod // of Listed: all pods, by name
}

// Delays are the latencies of the calls that a kubelet makes about a pod, and their faults; see
// fakeruntime.Runtime.
type Delays interface {
	APIGet(pod *v1.Pod) time.Duration
	APIPatch(pod *v1.Pod) time.Duration
	APIDelete(pod *v1.Pod) time.Duration
	Fault(m fakeruntime.Method, pod, container string) *fakeruntime.Fault
	RecordFault(now virtual.Time, f *fakeruntime.Fault, subject trace.Record) int64
}

// Options configure a Server.
type Options struct {
	Sim     *sim.Sim
	Trace   *trace.Recorder
	Profile profile.Profile
	Now     func() time.Time // wall clock
	Delays  Delays
	// PodCreated, if set, is called with each pod that a controller has created, before anybody
	// sees it.
	PodCreated func(*v1.Pod)
}

// Server serves the objects of a store.
type Server struct {
	o     Options
	store *store.Store
	steps map[types.UID]int64   // of the last record that changed the desired state of the pod
	watch *sim.Chan[WatchEvent] // of the kubelet; nil without a watch
	down  bool
	calls []*call // in progress

	watchers []*watcher         // of controllers
	unbound  map[types.UID]bool // the pods of controllers that are not bound to a node
}

// call is a call of the kubelet in progress.
type call struct {
	proc   *sim.Proc
	broken bool
}

// New returns a server without pods.
func New(o Options) *Server {
	return &Server{o: o, store: store.New(), steps: map[types.UID]int64{}, unbound: map[types.UID]bool{}}
}

// Watch starts a watch: the channel receives the list of all pods, then every change. It replaces
// the previous watch.
func (s *Server) Watch() *sim.Chan[WatchEvent] {
	s.watch = sim.NewChan[WatchEvent](s.o.Sim, "watch", watchCapacity)
	s.list()
	return s.watch
}

// Disconnect ends the watch and the calls of a kubelet that has stopped.
func (s *Server) Disconnect() { s.watch, s.calls = nil, nil }

// SetDown starts or ends an outage for the kubelet: calls in progress are interrupted, new calls
// fail immediately, and the watch is silent. When the outage ends, the watch receives the list of
// all pods. Methods for users, such as Create, still work.
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

// list sends all pods to the watch.
func (s *Server) list() {
	s.send(WatchEvent{Type: Listed, Pods: s.bound()})
}

// WantedSince returns the step of the last record that changed the desired state of the pod: its
// creation, its deletion or a patch of its spec.
func (s *Server) WantedSince(uid types.UID) int64 { return s.steps[uid] }

// Pod returns the stored pod, or nil.
func (s *Server) Pod(namespace, name string) *v1.Pod { return s.store.Pod(namespace + "/" + name) }

// Create stores a new pod, bound to the node, and returns it. It works on a copy, sets the defaults
// and generates the UID if the pod has none. It returns an Invalid error that lists all invalid
// fields, or an AlreadyExists error (see k8s.io/apimachinery/pkg/api/errors).
func (s *Server) Create(pod *v1.Pod) (*v1.Pod, error) {
	generated := pod.UID == ""
	pod, err := admission.Admit(s.o.Profile, pod)
	if err != nil {
		return nil, err
	}
	return s.create(pod, generated)
}

// CreateAdmitted is Create for a pod that [admission.Admit] has returned for the profile of the
// server. It does not check the pod again.
func (s *Server) CreateAdmitted(pod *v1.Pod) (*v1.Pod, error) {
	own := *pod
	return s.create(&own, false)
}

// create stores an admitted pod. If its UID was generated, a later pod of the same name gets
// another one.
func (s *Server) create(pod *v1.Pod, generated bool) (*v1.Pod, error) {
	c, err := s.store.AddPod(pod, generated, s.o.Now())
	if err != nil {
		return nil, err
	}
	s.steps[pod.UID] = s.record(trace.PodAdded, pod, 0)
	s.publish(c, s.steps[pod.UID])
	return pod, nil
}

// CreateMirror is the kubelet's call that creates the mirror pod of a static pod. It takes the
// latency of a patch, because both write to the storage of the server. It reports false if there is
// a pod of that name or the server is down.
func (s *Server) CreateMirror(p *sim.Proc, static *v1.Pod) bool {
	key := static.Namespace + "/" + static.Name
	mirror := admission.Mirror(static, s.store.Mirrors(key))
	latency := func(*v1.Pod) time.Duration { return s.o.Delays.APIPatch(mirror) }
	created := false
	return s.call(p, fakeruntime.APICreate, mirror.Namespace, mirror.Name, latency, func() {
		if created = s.store.Pod(key) == nil; !created {
			return
		}
		admission.DropDisabled(s.o.Profile, &mirror.Spec)
		c := s.store.AddMirror(mirror, s.o.Now())
		s.steps[mirror.UID] = s.record(trace.PodAdded, mirror, p.Cause())
		s.publish(c, s.steps[mirror.UID])
	}) && created
}

// DeleteMirror is the kubelet's call that deletes a mirror pod without a grace period. It takes the
// latency of the call. If uid is not empty, it deletes only the pod with this UID. It reports false
// if it has deleted nothing or the server is down.
func (s *Server) DeleteMirror(p *sim.Proc, namespace, name string, uid types.UID) bool {
	deleted := false
	return s.call(p, fakeruntime.APIDelete, namespace, name, s.o.Delays.APIDelete, func() {
		pod := s.Pod(namespace, name)
		if deleted = pod != nil && (uid == "" || pod.UID == uid); deleted {
			s.delete(pod, new(int64), p.Cause())
		}
	}) && deleted
}

// Delete deletes a pod as a user does, with a grace period in seconds; nil means the grace period
// of the pod. With 0, and if the pod has terminated, the pod is removed immediately. A further
// Delete can only shorten the grace period (pkg/registry/core/pod/strategy.go and apiserver's
// pkg/registry/rest/delete.go at v1.37.0). Delete returns a NotFound error if the pod does not
// exist.
func (s *Server) Delete(namespace, name string, gracePeriodSeconds *int64) error {
	old, err := s.store.FindPod(namespace, name)
	if err != nil {
		return err
	}
	s.steps[old.UID] = s.record(trace.PodDeleteRequested, old, 0)
	s.delete(old, gracePeriodSeconds, s.steps[old.UID])
	return nil
}

func (s *Server) delete(old *v1.Pod, gracePeriodSeconds *int64, cause int64) {
	if c := s.store.DeletePod(old, gracePeriodSeconds, s.o.Now()); c != (store.Change{}) {
		s.changed(c, cause)
	}
}

// Change stores what admission makes of a pod for a user. It calls cause for the step of the record
// that caused the change, unless it returns an error. A deleted pod that loses its last finalizer
// is removed. Change returns a NotFound error if the pod does not exist, and the errors of admit.
func (s *Server) Change(namespace, name string, cause func() int64, admit func(*v1.Pod) (*v1.Pod, error)) error {
	old, err := s.store.FindPod(namespace, name)
	if err != nil {
		return err
	}
	after, err := admit(old)
	if err != nil {
		return err
	}
	step := cause()
	c := s.store.PutPod(old, after)
	if c.Type == store.Modified && after.Generation != old.Generation {
		s.steps[old.UID] = step
	}
	s.changed(c, step)
	return nil
}

// GetPod is the kubelet's call that reads a pod. It takes the latency of the call, and reports
// false if the pod does not exist or the server is down.
func (s *Server) GetPod(p *sim.Proc, namespace, name string) (pod *v1.Pod, found bool) {
	found = s.call(p, fakeruntime.APIGet, namespace, name, s.o.Delays.APIGet, func() { pod = s.Pod(namespace, name) })
	return pod, found && pod != nil
}

// PatchStatus is the kubelet's call that replaces the status it has read. It takes the latency of
// the call. Conditions that others have written since the read stay. It reports false if the pod
// does not exist or the server is down.
func (s *Server) PatchStatus(p *sim.Proc, namespace, name string, read, status *v1.PodStatus) (*v1.Pod, bool) {
	var pod *v1.Pod
	patched := s.call(p, fakeruntime.APIPatch, namespace, name, s.o.Delays.APIPatch, func() {
		old := s.Pod(namespace, name)
		if old == nil {
			return
		}
		pod = new(*old)
		pod.Status = *status
		pod.Status.Conditions = admission.MergeConditions(old.Status.Conditions, read.Conditions, status.Conditions)
		step := s.o.Trace.Add(trace.Record{
			T: s.o.Sim.Now(), Kind: trace.StatusPatched, Cause: p.Cause(), Pod: namespace + "/" + name,
			Status: s.observed(pod),
		})
		s.publish(s.store.PutPod(old, pod), step)
	})
	return pod, patched && pod != nil
}

// observed returns the status of a pod for the trace.
func (s *Server) observed(pod *v1.Pod) *trace.PodStatus {
	if !s.o.Trace.Details {
		return Observed(pod)
	}
	return ObservedInDetail(pod, s.o.Now().Add(-s.o.Sim.Now().Offset()))
}

// DeletePod is the kubelet's call that removes a terminated pod: it deletes the pod with a grace
// period of 0, after the latency of the call. Finalizers keep the pod. It reports false if the
// server is down.
func (s *Server) DeletePod(p *sim.Proc, namespace, name string) bool {
	return s.call(p, fakeruntime.APIDelete, namespace, name, s.o.Delays.APIDelete, func() {
		if pod := s.Pod(namespace, name); pod != nil {
			s.delete(pod, new(int64), p.Cause())
		}
	})
}

// call waits for the latency of a call and records the call. If the call reaches the server, it
// calls do, unless a fault prevents that. It reports whether the caller gets an answer. The record
// of a fault becomes the cause of the process.
func (s *Server) call(p *sim.Proc, method fakeruntime.Method, namespace, name string,
	latency func(*v1.Pod) time.Duration, do func()) bool {
	s.o.Sim.Turn(p.Name(), string(method))
	start, pod := p.Now(), namespace+"/"+name
	var fault *fakeruntime.Fault
	if !s.down {
		fault = s.o.Delays.Fault(method, pod, "")
	}
	reached := !s.down && s.sleep(p, latency(s.Pod(namespace, name)))
	s.o.Sim.Turn("call to the API server", "end")
	if s.o.Trace.Wants(trace.CRICall) {
		rec := trace.Record{T: p.Now(), Kind: trace.CRICall, Pod: pod, Reason: string(method), Took: p.Now().Sub(start)}
		switch {
		case !reached:
			rec.Message = Refused
		case fault != nil:
			rec.Message = fault.Err().Error()
		}
		s.o.Trace.Add(rec)
	}
	if reached && (fault == nil || fault.Done) {
		do()
	}
	if reached && fault != nil {
		p.SetCause(s.o.Delays.RecordFault(p.Now(), fault, trace.Record{Pod: pod}))
	}
	return reached && fault == nil
}

// sleep waits for the latency of a call. It reports false if an outage interrupts the call.
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

// changed sends a change to the watches, and records the removal of a pod.
func (s *Server) changed(c store.Change, cause int64) {
	if pod, ok := c.New.(*v1.Pod); ok && c.Type == store.Deleted {
		cause = s.record(trace.PodRemoved, pod, cause)
	}
	s.publish(c, cause)
}

func (s *Server) send(e WatchEvent) {
	if s.watch != nil && !s.down {
		s.watch.TrySend(e)
	}
}

func (s *Server) record(kind trace.Kind, pod *v1.Pod, cause int64) int64 {
	return s.o.Trace.Add(trace.Record{T: s.o.Sim.Now(), Kind: kind, Cause: cause, Pod: pod.Namespace + "/" + pod.Name})
}
