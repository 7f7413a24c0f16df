package replicaset

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/world/apiserver"
	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
)

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
