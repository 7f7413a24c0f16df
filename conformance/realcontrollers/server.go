package realcontrollers

import (
	"errors"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/apiserver"
	"probesim.dev/apiserver/admission"
	"probesim.dev/apiserver/store"
	"probesim.dev/controller"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// server is an API server over a store for clients that are goroutines, with a scheduler and a stand-in for the kubelet. Changes take no
// time; callers wait for latencies before.
type server struct {
	profile profile.Profile
	zero    time.Time // t=0
	delays  controller.Delays

	mu        sync.Mutex
	store     *store.Store
	trace     *trace.Recorder
	watchers  []*watcher
	scheduler time.Time       // when the last change reaches the watch of the scheduler
	unbound   map[string]bool // pods that are not bound to a node
	turns     *Turns
}

func newServer(scenario *Scenario, p profile.Profile, zero time.Time) *server {
	return &server{
		delays:  scenario.delays(func() time.Duration { return time.Since(zero) }),
		profile: p, zero: zero, store: store.New(), trace: &trace.Recorder{Also: trace.SyncFailed}, unbound: map[string]bool{}, turns: NewTurns(zero),
	}
}

// record adds a record of now.
func (s *server) record(r trace.Record) {
	r.T = virtual.At(time.Since(s.zero))
	s.trace.Add(r)
}

// changed records and sends the change of an object other than a pod, and returns the object.
func (s *server) changed(c store.Change, err error) (store.Object, error) {
	if err != nil || c.Type == "" {
		return c.New, err
	}
	for _, r := range apiserver.RecordsOf(c) {
		s.record(r)
	}
	s.publish(c)
	return c.New, nil
}

// publish sends a change to the watches.
func (s *server) publish(c store.Change) {
	if c.Kind == store.Pods {
		if at := time.Now().Add(s.delays.Watch(watchName("kube-scheduler", store.Pods), c)); at.After(s.scheduler) {
			s.scheduler = at
		}
	}
	for _, w := range s.watchers {
		if w.kind == c.Kind {
			w.send(string(c.Type), c.New, s.delays.Watch(w.name, c))
		}
	}
}

// create stores a new object.
func (s *server) create(kind store.Kind, o store.Object) (store.Object, error) {
	pod, ok := o.(*v1.Pod)
	if !ok {
		return s.changed(s.store.Create(kind, o, time.Now()))
	}
	s.store.NamePod(pod)
	admitted, err := admission.Admit(s.profile, pod)
	if err != nil {
		return nil, err
	}
	c, err := s.store.AddPod(admitted, true, time.Now())
	if err != nil {
		return nil, err
	}
	key := store.Key(admitted)
	s.unbound[key] = true
	r := trace.Record{Kind: trace.PodAdded, Pod: key}
	if owner := metav1.GetControllerOfNoCopy(admitted); owner != nil {
		r.Object = &trace.Object{Name: owner.Kind + " " + admitted.Namespace + "/" + owner.Name}
	}
	s.record(r)
	s.publish(c)
	time.AfterFunc(time.Until(s.scheduler), func() {
		time.AfterFunc(s.delays.Schedule(key), func() { s.locked(func() { s.bind(key) }) })
	})
	return admitted, nil
}

func (s *server) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// bind binds a pod to the node, where the stand-in starts it.
func (s *server) bind(key string) {
	s.turns.Add("schedule "+key, "bind")
	old := s.store.Pod(key)
	if old == nil || !s.unbound[key] {
		return
	}
	pod := *old
	pod.Spec.NodeName = admission.NodeName
	delete(s.unbound, key)
	s.record(trace.Record{Kind: trace.PodScheduled, Pod: key, Message: admission.NodeName})
	s.publish(s.store.PutPod(old, &pod))
	s.become(key, 0)
}

// become writes the nth condition of a pod when it is due, unless the pod is deleted by then.
func (s *server) become(key string, n int) {
	c, ok := programOf(s.store.Pod(key)).condition(n)
	if !ok {
		return
	}
	time.AfterFunc(c.after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.turns.Add("start "+strings.TrimPrefix(key, "default/"), "start")
		old := s.store.Pod(key)
		if old == nil || old.DeletionTimestamp != nil {
			return
		}
		pod := *old
		pod.Status = c.status(old, time.Now())
		s.record(trace.Record{Kind: trace.StatusPatched, Pod: key, Status: apiserver.Observed(&pod)})
		s.publish(s.store.PutPod(old, &pod))
		s.become(key, n+1)
	})
}

// delete deletes an object. The stand-in stops a pod that is bound to the node; another one is removed at once.
func (s *server) delete(kind store.Kind, namespace, name string) error {
	if kind != store.Pods {
		_, err := s.changed(s.store.Delete(kind, namespace, name))
		return err
	}
	old, err := s.store.FindPod(namespace, name)
	if err != nil {
		return err
	}
	key := store.Key(old)
	s.record(trace.Record{Kind: trace.PodDeleteRequested, Pod: key})
	if s.unbound[key] {
		s.remove(old)
		return nil
	}
	c := s.store.DeletePod(old, nil, time.Now())
	if c.Type == "" {
		return nil
	}
	s.publish(c)
	time.AfterFunc(programOf(old).stop, func() {
		s.locked(func() {
			s.turns.Add("stop "+old.Name, "stop")
			if pod := s.store.Pod(key); pod != nil {
				s.remove(pod)
			}
		})
	})
	return nil
}

func (s *server) remove(pod *v1.Pod) {
	c := s.store.DeletePod(pod, new(int64), time.Now())
	if c.Type != store.Deleted {
		panic(errors.New("a pod without a grace period stays"))
	}
	s.record(trace.Record{Kind: trace.PodRemoved, Pod: store.Key(pod)})
	s.publish(c)
}
