package play

import (
	"context"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// created are the kinds of objects that play creates in a namespace. A Deployment goes before its
// pods.
var created = []struct {
	kind string
	list func() runtime.Object
}{
	{"Deployment", func() runtime.Object { return &appsv1.DeploymentList{} }},
	{"Service", func() runtime.Object { return &v1.ServiceList{} }},
	{"Pod", func() runtime.Object { return &v1.PodList{} }},
}

// list returns the objects of a kind with labels.
func (c *Cluster) list(ctx context.Context, kind, namespace, labels string, into runtime.Object) ([]object, error) {
	err := c.call("GET", kind, namespace, "").VersionedParams(&metav1.ListOptions{LabelSelector: labels}, parameter).
		Do(ctx).Into(into)
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(into)
	var list []object
	for _, item := range items {
		list = append(list, item.(object))
	}
	return list, err
}

// remove removes one object, unless it is another one of that name by now.
func (c *Cluster) remove(ctx context.Context, kind, namespace string, o object) error {
	uid, grace, policy := o.GetUID(), int64(1), metav1.DeletePropagationBackground
	err := c.delete(ctx, kind, namespace, o.GetName(), &metav1.DeleteOptions{GracePeriodSeconds: &grace,
		PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// patience is how long to wait for objects to be gone.
const patience = 60 * time.Second

// removeObjects removes the objects with labels from a namespace that have not been asked to go
// yet, and returns how many are still there.
func (c *Cluster) removeObjects(ctx context.Context, namespace, labels string, asked map[types.UID]bool) (left int,
	err error) {
	for _, of := range created {
		objects, err := c.list(ctx, of.kind, namespace, labels, of.list())
		if err != nil {
			return 0, err
		}
		left += len(objects)
		for _, o := range objects {
			if !asked[o.GetUID()] {
				asked[o.GetUID()] = true
				if err := c.remove(ctx, of.kind, namespace, o); err != nil {
					return 0, err
				}
			}
		}
	}
	return left, nil
}

// removeNamespace removes a namespace of a play, unless it has been asked to go, and returns how
// many are still there: 1 or 0.
func (c *Cluster) removeNamespace(ctx context.Context, l Leftover, asked map[types.UID]bool) (left int, err error) {
	namespace := &v1.Namespace{}
	err = c.call("GET", "Namespace", "", l.Namespace).Do(ctx).Into(namespace)
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, err
	case namespace.Labels[labelPlay] != l.ID:
		return 0, fmt.Errorf("namespace %s is none of play %s", l.Namespace, l.ID)
	case !asked[namespace.UID]:
		asked[namespace.UID] = true
		err = c.remove(ctx, "Namespace", "", namespace)
	}
	return 1, err
}

// Leftover is a play whose objects are still there.
type Leftover struct {
	ID, Namespace string
	Deadline      time.Time
	own           bool
}

// Leftovers returns the plays with objects in the cluster: in namespaces of their own, and in a
// namespace.
func (c *Cluster) Leftovers(ctx context.Context, namespace string) ([]Leftover, error) {
	var all []Leftover
	seen := map[string]bool{}
	add := func(o object, in string, own bool) {
		id := o.GetLabels()[labelPlay]
		if seen[id] {
			return
		}
		seen[id] = true
		seconds, _ := strconv.ParseInt(o.GetLabels()[labelDeadline], 10, 64)
		all = append(all, Leftover{id, in, time.Unix(seconds, 0), own})
	}
	namespaces, err := c.list(ctx, "Namespace", "", labelPlay, &v1.NamespaceList{})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for _, o := range namespaces {
		add(o, o.GetName(), true)
	}
	for _, of := range created {
		objects, err := c.list(ctx, of.kind, namespace, labelPlay, of.list())
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			add(o, namespace, false)
		}
	}
	return all, nil
}

// RemoveLeftover removes what is left of a play, and waits until it is gone. The pods go first,
// without their grace periods.
func (c *Cluster) RemoveLeftover(ctx context.Context, l Leftover) error {
	asked := map[types.UID]bool{}
	for began := time.Now(); time.Since(began) < patience; time.Sleep(pause) {
		left, err := c.removeObjects(ctx, l.Namespace, labelPlay+"="+l.ID, asked)
		if err == nil && l.own {
			namespaces, failed := c.removeNamespace(ctx, l, asked)
			left, err = left+namespaces, failed
		}
		if err != nil || left == 0 {
			return err
		}
	}
	return errLeft
}
