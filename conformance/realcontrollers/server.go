package realcontrollers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/internal/world/controller/deployment"
	"probesim.dev/internal/world/controller/endpointslice"
	"probesim.dev/internal/world/controller/replicaset"
	"probesim.dev/internal/world/router"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Cluster is what the control plane of a run works on.
type Cluster struct {
	Profile profile.Profile
	Lock    sync.Locker // of the store; held during the calls of Pods
	Store   *store.Store
	Pods    Pods
	Delays  controller.Delays
	Wall    func() time.Time // wall clock of the control plane
	Now     func() virtual.Time
	// At calls do at a time. It may be called with the lock.
	At func(t virtual.Time, do func())
	// Ended is closed when the run ends: no call of At counts any more.
	Ended <-chan struct{}
	// Record adds a record of now, and Turn a turn of a process of the simulator. They may be
	// called with the lock.
	Record func(trace.Record)
	Turn   func(process, point string)
	// LoadBalancers are routers besides kube-proxy.
	LoadBalancers []router.LoadBalancer
	Size          kubeletconfig.Allocatable // of the node; 0: enough for every pod
}

// Pods makes the calls about pods. Each publishes what it changes.
type Pods interface {
	// CreatePod stores a pod that is not bound to a node; admission has accepted it.
	CreatePod(*v1.Pod) error
	// BindPod replaces a pod by one that is bound to the node.
	BindPod(old, pod *v1.Pod)
	// DeletePod deletes a pod with a grace period; nil means that of the pod.
	DeletePod(pod *v1.Pod, gracePeriodSeconds *int64)
}

// Server is an API server over a store for clients that are goroutines, with a scheduler. Changes
// take no time; callers wait for latencies before.
type Server struct {
	Cluster
	turns    *Turns
	watchers []*watcher
	creating map[string]int          // calls in progress that create a pod, by the key of its ReplicaSet
	found    map[string]store.Object // the last state of each object that a call is about: later calls may find none
}

// NewServer returns a server without clients.
func NewServer(c Cluster) *Server {
	return &Server{Cluster: c, turns: newTurns(c.Turn), creating: map[string]int{}, found: map[string]store.Object{}}
}

// changed records and sends the change of an object other than a pod, and returns the object.
func (s *Server) changed(c store.Change, err error) (store.Object, error) {
	if err != nil || c.Type == "" {
		return c.New, err
	}
	for _, r := range apiserver.RecordsOf(c) {
		s.Record(r)
	}
	s.Publish(c)
	return c.New, nil
}

// Publish sends a change to the watches. The caller holds the lock.
func (s *Server) Publish(c store.Change) {
	for _, w := range s.watchers {
		if w.kind == c.Kind {
			w.send(c)
		}
	}
}

// Create stores a new object. The caller holds the lock.
func (s *Server) Create(kind store.Kind, o store.Object) (store.Object, error) {
	pod, ok := o.(*v1.Pod)
	if !ok {
		return s.changed(s.Store.Create(kind, o, s.Wall()))
	}
	s.Store.NamePod(pod)
	admitted, err := admission.Admit(s.Profile, pod)
	if err != nil {
		return nil, err
	}
	if err := s.Pods.CreatePod(admitted); err != nil {
		return nil, err
	}
	return s.Store.Pod(store.Key(admitted)), nil
}

// Update replaces an object other than a pod, except its status. The caller holds the lock.
func (s *Server) Update(kind store.Kind, o store.Object) error {
	_, err := s.changed(s.Store.Update(kind, o))
	return err
}

// PodAdded returns the record of a new pod of a controller.
func PodAdded(pod *v1.Pod) trace.Record {
	r := trace.Record{Kind: trace.PodAdded, Pod: store.Key(pod)}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		r.Object = &trace.Object{Name: owner.Kind + " " + pod.Namespace + "/" + owner.Name}
	}
	return r
}

// locked calls f with the lock.
func (s *Server) locked(f func()) {
	s.Lock.Lock()
	defer s.Lock.Unlock()
	f()
}

// later calls f with the lock after a delay.
func (s *Server) later(delay time.Duration, f func()) {
	s.At(s.Now().Add(delay), func() { s.locked(f) })
}

// wait waits for a delay, and then calls f with the lock. It reports false if the run ends before.
// The caller does not hold the lock.
func (s *Server) wait(delay time.Duration, f func()) bool {
	done := make(chan struct{})
	s.later(delay, func() {
		f()
		close(done)
	})
	select {
	case <-done:
		return true
	case <-s.Ended:
		return false
	}
}

// delete deletes an object. A pod that is not bound to a node is removed at once.
func (s *Server) delete(kind store.Kind, namespace, name string) error {
	if kind != store.Pods {
		_, err := s.changed(s.Store.Delete(kind, namespace, name))
		return err
	}
	pod, err := s.Store.FindPod(namespace, name)
	if err != nil {
		return err
	}
	s.Record(trace.Record{Kind: trace.PodDeleteRequested, Pod: store.Key(pod)})
	var grace *int64
	if pod.Spec.NodeName == "" {
		grace = new(int64)
	}
	s.Pods.DeletePod(pod, grace)
	return nil
}

// call is a call of a controller in progress.
type call struct {
	// of the simulator, as package search has it, which makes the same call; empty if the request
	// does not say which it is
	process string
	method  string // as in controller.Delays
	of      string // the key of the ReplicaSet whose pod it creates; otherwise empty
	walk    string // the walk of which the call is a part, if its order is that of a Go map; otherwise empty
	latency time.Duration
}

// putStatus is the method of a call that writes a status.
const putStatus = http.MethodPut + " status"

// podHandler is the handler of the Deployment controller before v1.37 that lists ReplicaSets when a
// pod is gone.
const podHandler = "deployment pods"

// begin notes a call, and draws its latency.
func (s *Server) begin(method string, p path, body []byte) (c call) {
	c.method = method
	if p.subresource == "status" {
		c.method += " status"
	}
	key, caller := p.namespace+"/"+p.name, ""
	s.locked(func() {
		var o store.Object
		switch {
		case p.kind == events:
			e := eventOf(body)
			caller, key = e.ReportingController, e.InvolvedObject.Kind+" "+e.InvolvedObject.Namespace+"/"+
				e.InvolvedObject.Name
			return
		case p.name == "" && method == http.MethodGet:
			if p.kind == store.ReplicaSets && p.namespace != "" {
				c.process, caller = podHandler, podHandler
			}
			return
		case method == http.MethodPost:
			o, _ = decode(p, body) // serve returns the error
			key = keyOfNew(o)
		default:
			o = s.lastState(p.kind, key)
		}
		caller = s.processOf(&c, p, o)
	})
	c.latency = s.Delays.Call(caller, c.method, p.kind, key)
	return c
}

// lastState returns an object, or the last one that a call found if it is deleted.
func (s *Server) lastState(kind store.Kind, key string) store.Object {
	name := string(kind) + " " + key
	if o := s.Store.Get(kind, key); o != nil {
		s.found[name] = o
	}
	return s.found[name]
}

// keyOfNew returns the key of an object that has no name yet, as the simulator's controllers have
// it: the real hash of a template changes with the release.
func keyOfNew(o store.Object) string {
	switch o := o.(type) {
	case *v1.Pod:
		return o.Namespace + "/" + o.GenerateName
	case *appsv1.ReplicaSet:
		template := o.Spec.Template.DeepCopy()
		delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		return o.Namespace + "/" + ownerOf(o) + "-" + deployment.TemplateHash(template)
	}
	return store.Key(o)
}

// processOf notes and returns the process of the simulator that makes a call about an object. Of
// the processes that create the pods of a ReplicaSet, the request does not say which it is: they
// count in the order in which they begin.
func (s *Server) processOf(c *call, p path, o store.Object) string {
	if o == nil {
		return ""
	}
	owner := p.namespace + "/" + ownerOf(o)
	switch {
	case p.kind == store.Pods && c.method == http.MethodPost:
		c.process, c.of = "create "+owner, owner
		s.creating[owner]++
		return fmt.Sprintf("%s %d", c.process, s.creating[owner]-1)
	case p.kind == store.Pods:
		c.process, c.walk = strings.ToLower(c.method)+" "+store.Key(o), replicaset.VictimsOf+owner
	case p.kind == store.EndpointSlices:
		service := p.namespace + "/" + o.GetLabels()[discoveryv1.LabelServiceName]
		c.process, c.walk = "endpointslice "+service, endpointslice.SlicesOf+service
	case p.kind == store.ReplicaSets && c.method != putStatus && c.method != http.MethodGet:
		c.process = "deployment " + owner
	default:
		c.process = strings.TrimSuffix(string(p.kind), "s") + " " + store.Key(o)
	}
	return c.process
}

// ownerOf returns the name of the controller of an object.
func ownerOf(o store.Object) string {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		return owner.Name
	}
	return ""
}

// eventOf returns the event in the body of a request.
func eventOf(body []byte) (e v1.Event) {
	_ = json.Unmarshal(body, &e) // an event without a reason has no record
	return e
}

// event records an event of a controller. An event that repeats an earlier one comes as a patch of
// that, and has no record.
func (s *Server) event(body []byte) error {
	if e := eventOf(body); e.Reason != "" {
		s.Record(trace.Record{
			Kind: trace.Event, Type: e.Type, Reason: e.Reason, Message: e.Message,
			Object: &trace.Object{Name: e.InvolvedObject.Kind + " " + e.InvolvedObject.Namespace + "/" +
				e.InvolvedObject.Name},
		})
	}
	return nil
}
