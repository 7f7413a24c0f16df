package replicaset

import (
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
)

// updateStatus writes the status of a ReplicaSet if it has changed, and returns the ReplicaSet as
// it is stored. After an error it reads the ReplicaSet and tries once more
// (updateReplicaSetStatus).
func (c *Controller) updateStatus(p *sim.Proc, rs *appsv1.ReplicaSet,
	status appsv1.ReplicaSetStatus) (*appsv1.ReplicaSet, error) {
	status.ObservedGeneration = rs.Status.ObservedGeneration
	if rs.Generation == rs.Status.ObservedGeneration && reflect.DeepEqual(normal(rs.Status), normal(status)) {
		return rs, nil
	}
	status.ObservedGeneration = rs.Generation
	updated, err := c.putStatus(p, rs, status)
	if err == nil {
		return updated, nil
	}
	fresh, readErr := controller.Read[*appsv1.ReplicaSet](c.client, p, store.ReplicaSets, rs.Namespace, rs.Name)
	if readErr != nil {
		return nil, readErr
	}
	return c.putStatus(p, fresh, status)
}

// normal returns a status that differs from another one only if the controller sees a difference.
func normal(s appsv1.ReplicaSetStatus) appsv1.ReplicaSetStatus {
	if len(s.Conditions) == 0 {
		s.Conditions = nil
	}
	return s
}

func (c *Controller) putStatus(p *sim.Proc, rs *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) (*appsv1.ReplicaSet,
	error) {
	own := *rs
	own.Status = status
	return controller.UpdateStatus(c.client, p, store.ReplicaSets, &own)
}

// calculateStatus counts the pods of a ReplicaSet, and says whether their creation or deletion has
// failed (calculateStatus).
func (c *Controller) calculateStatus(rs *appsv1.ReplicaSet, active, terminating []*v1.Pod, manageErr error,
	now time.Time) appsv1.ReplicaSetStatus {
	status := rs.Status
	status.Replicas, status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = int32(len(active)),
		0, 0, 0
	for _, pod := range active {
		if controller.HasLabels(pod, rs.Spec.Template.Labels) {
			status.FullyLabeledReplicas++
		}
		if controller.IsPodReady(pod) {
			status.ReadyReplicas++
		}
		if controller.IsPodAvailable(pod, rs.Spec.MinReadySeconds, now) {
			status.AvailableReplicas++
		}
	}
	status.TerminatingReplicas = nil
	if c.env.Profile.DeploymentReplicaSetTerminatingReplicas {
		status.TerminatingReplicas = ptr.To(int32(len(terminating)))
	}
	failed := slices.IndexFunc(rs.Status.Conditions,
		func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure })
	switch {
	case manageErr != nil && failed < 0:
		reason := "FailedCreate"
		if len(active) > int(ptr.Deref(rs.Spec.Replicas, 1)) {
			reason = "FailedDelete"
		}
		status.Conditions = append(slices.Clone(status.Conditions), appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetReplicaFailure, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(now),
			Reason: reason, Message: manageErr.Error(),
		})
	case manageErr == nil && failed >= 0:
		status.Conditions = slices.Delete(slices.Clone(status.Conditions), failed, failed+1)
	}
	return status
}
