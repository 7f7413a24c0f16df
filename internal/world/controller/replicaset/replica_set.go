// Package replicaset simulates the ReplicaSet controller: it creates and deletes pods until a
// ReplicaSet has as many as it wants. The rules are those of pkg/controller/replicaset at v1.37.0.
// Adoption and release of pods are not simulated: a pod belongs to its owner.
package replicaset

import (
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
)

// burst is how many pods one sync creates or deletes at most (BurstReplicas in replica_set.go).
const burst = 500

// kind is the owner in the references of pods.
var kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// Controller is the ReplicaSet controller.
type Controller struct {
	env          *controller.Env
	client       *controller.Client
	events       *controller.Events
	sets         *controller.Informer
	pods         *controller.Informer
	queue        *controller.Queue
	expectations *controller.Expectations
	own          *controller.OwnWrites // nil before v1.36
}

// Start starts the controller in a component.
func Start(env *controller.Env, f *controller.Informers) {
	c := &Controller{
		env: env, client: controller.NewClient(env), events: controller.NewEvents(env, "replicaset-controller"),
		sets: f.Of(store.ReplicaSets), pods: f.Of(store.Pods), expectations: controller.NewExpectations(env.Sim),
	}
	if env.Profile.StaleControllerConsistencyReplicaSet {
		c.own = controller.NewOwnWrites(f, store.Pods, store.ReplicaSets)
	}
	const queue = "replicaset"
	c.queue = controller.NewQueue(env, queue, c.syncReplicaSet)
	c.sets.HandleFor(queue, nil, c.setChanged)
	c.pods.HandleFor(queue, nil, c.podChanged)
}

// setChanged queues a ReplicaSet, and forgets what is known of one that is gone (addRS, updateRS,
// deleteRS).
func (c *Controller) setChanged(old, o store.Object) {
	if o == nil {
		c.forget(store.Key(old))
	}
	c.queue.Add(store.Key(controller.Either(old, o)))
}

func (c *Controller) forget(key string) {
	c.expectations.Forget(key)
	if c.own != nil {
		c.own.Forget(key)
	}
}

// podChanged queues the owner of a pod, and notes what the owner expects (addPod, updatePod,
// deletePod).
func (c *Controller) podChanged(old, o store.Object) {
	before, _ := old.(*v1.Pod)
	pod, exists := o.(*v1.Pod)
	if !exists {
		pod = before
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != kind.Kind {
		return
	}
	key := pod.Namespace + "/" + owner.Name
	rs, known := controller.Get[*appsv1.ReplicaSet](c.sets, key)
	if !known || rs.UID != owner.UID {
		return
	}
	switch {
	case !exists || pod.DeletionTimestamp != nil:
		c.expectations.DeletionObserved(key, store.Key(pod))
	case before == nil:
		c.expectations.CreationObserved(key)
	}
	c.queue.Add(key)
	if exists && before != nil && pod.DeletionTimestamp == nil && rs.Spec.MinReadySeconds > 0 &&
		!controller.IsPodReady(before) && controller.IsPodReady(pod) {
		c.queue.AddAfter(key, c.firstLook(rs))
	}
}

// firstLook returns how long after a pod has become Ready the controller looks whether it is
// available. Before v1.34 it is a second more.
func (c *Controller) firstLook(rs *appsv1.ReplicaSet) time.Duration {
	wait := time.Duration(rs.Spec.MinReadySeconds) * time.Second
	if !c.env.Profile.AvailabilityChecksOnTime {
		wait += time.Second
	}
	return wait
}

// syncReplicaSet creates or deletes pods if all is known of what it did before, and writes the
// status.
func (c *Controller) syncReplicaSet(p *sim.Proc, key string) error {
	if c.own != nil {
		if err := c.own.Seen(key); err != nil {
			return err
		}
	}
	rs, ok := controller.Get[*appsv1.ReplicaSet](c.sets, key)
	if !ok {
		c.forget(key)
		return nil
	}
	satisfied := c.expectations.Satisfied(key)
	active, terminating := c.podsOf(rs)
	var manageErr error
	if satisfied && rs.DeletionTimestamp == nil {
		manageErr = c.manageReplicas(p, key, active, rs)
	}
	now := c.env.Now()
	updated, err := c.updateStatus(p, rs, c.calculateStatus(rs, active, terminating, manageErr, now))
	if err != nil {
		return err
	}
	if c.own != nil {
		c.own.WroteAt(key, store.ReplicaSets, controller.VersionOf(updated))
	}
	if manageErr != nil {
		return manageErr
	}
	c.planNextLook(key, updated, active, now)
	return nil
}

// podsOf returns the pods of a ReplicaSet that run or will run, and those that terminate.
func (c *Controller) podsOf(rs *appsv1.ReplicaSet) (active, terminating []*v1.Pod) {
	for _, pod := range controller.List(c.pods, func(pod *v1.Pod) bool { return controller.OwnedBy(pod, rs.UID) }) {
		switch {
		case controller.IsPodActive(pod):
			active = append(active, pod)
		case !controller.IsPodTerminal(pod):
			terminating = append(terminating, pod)
		}
	}
	return active, terminating
}

// planNextLook queues a ReplicaSet again for the time when its next pod becomes available. Before
// v1.34 the controller looks again after minReadySeconds, if all pods are Ready and not all are
// available.
func (c *Controller) planNextLook(key string, rs *appsv1.ReplicaSet, active []*v1.Pod, status time.Time) {
	if rs.Spec.MinReadySeconds == 0 {
		return
	}
	wait := time.Duration(rs.Spec.MinReadySeconds) * time.Second
	if !c.env.Profile.AvailabilityChecksOnTime {
		if rs.Status.ReadyReplicas == *rs.Spec.Replicas && rs.Status.AvailableReplicas != *rs.Spec.Replicas {
			c.queue.AddAfter(key, wait)
		}
		return
	}
	if rs.Status.ReadyReplicas == rs.Status.AvailableReplicas {
		return
	}
	if next, ok := controller.NextAvailability(active, rs.Spec.MinReadySeconds, status, c.env.Now()); ok {
		wait = next
	}
	c.queue.AddAfter(key, wait)
}

// manageReplicas creates or deletes as many pods as are missing or too many.
func (c *Controller) manageReplicas(p *sim.Proc, key string, active []*v1.Pod, rs *appsv1.ReplicaSet) error {
	switch diff := len(active) - int(ptr.Deref(rs.Spec.Replicas, 1)); {
	case diff < 0:
		number := min(-diff, burst)
		c.expectations.ExpectCreations(key, number)
		created, err := c.slowStartBatch(p, number, key, rs)
		for range number - created {
			c.expectations.CreationObserved(key)
		}
		return err
	case diff > 0:
		victims := c.podsToDelete(rs, active, min(diff, burst))
		names := make([]string, len(victims))
		for i, pod := range victims {
			names[i] = store.Key(pod)
		}
		c.expectations.ExpectDeletions(key, names)
		return c.deletePods(p, key, rs, victims)
	}
	return nil
}

// slowStartBatch creates pods in batches of 1, 2, 4 and so on, the pods of a batch at once. It
// stops after a batch with an error, and returns how many it has created (slowStartBatch in
// replica_set.go).
func (c *Controller) slowStartBatch(p *sim.Proc, number int, key string, rs *appsv1.ReplicaSet) (int, error) {
	created := 0
	for size := min(1, number); size > 0; size = min(2*size, number-created) {
		name := func(i int) string { return fmt.Sprintf("create %s %d", key, i) }
		err := c.together(p, size, name, func(p *sim.Proc, _ int) error { return c.createPod(p, key, rs) })
		if err.first != nil {
			return created + size - err.number, err.first
		}
		created += size
	}
	return created, nil
}

// failures are the errors of calls that were made at once.
type failures struct {
	number int
	first  error
}

// together makes calls at once, each in a process with a name, and waits until all have returned.
func (c *Controller) together(p *sim.Proc, number int, name func(i int) string,
	call func(p *sim.Proc, i int) error) failures {
	var f failures
	done := 0
	for i := range number {
		c.env.Sim.Go(name(i), func(q *sim.Proc) {
			if err := call(q, i); err != nil {
				f.number++
				if f.first == nil {
					f.first = err
				}
			}
			if done++; done == number {
				p.Wake()
			}
		})
	}
	p.Park()
	return f
}

// createPod creates a pod from the template of a ReplicaSet (GetPodFromTemplate and createPods in
// pkg/controller/controller_utils.go).
func (c *Controller) createPod(p *sim.Proc, key string, rs *appsv1.ReplicaSet) error {
	template := &rs.Spec.Template
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: rs.Namespace, GenerateName: rs.Name + "-", Labels: maps.Clone(template.Labels),
			Annotations:     maps.Clone(template.Annotations),
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, kind)},
		},
		Spec: template.Spec, // the API server works on a copy
	}
	created, err := c.client.CreatePod(p, pod)
	object := apiserver.ObjectName(kind.Kind, rs)
	if err != nil {
		c.events.Add(object, v1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
		return err
	}
	if c.own != nil {
		c.own.WroteAt(key, store.Pods, controller.VersionOf(created))
	}
	c.events.Add(object, v1.EventTypeNormal, "SuccessfulCreate", "Created pod: %v", created.Name)
	return nil
}

// deletePods deletes pods at once. A pod that is gone already is no error, and a pod whose deletion
// fails is no longer expected to go.
func (c *Controller) deletePods(p *sim.Proc, key string, rs *appsv1.ReplicaSet, victims []*v1.Pod) error {
	object := apiserver.ObjectName(kind.Kind, rs)
	name := func(i int) string { return "delete " + store.Key(victims[i]) }
	return c.together(p, len(victims), name, func(p *sim.Proc, i int) error {
		pod := victims[i]
		err := c.client.DeletePod(p, pod.Namespace, pod.Name)
		switch {
		case err == nil:
			c.events.Add(object, v1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %v", pod.Name)
			return nil
		case !apierrors.IsNotFound(err):
			c.events.Add(object, v1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
			err = fmt.Errorf("unable to delete pods: %w", err)
		default:
			err = nil
		}
		c.expectations.DeletionObserved(key, store.Key(pod))
		return err
	}).first
}
