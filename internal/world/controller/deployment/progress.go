package deployment

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim"
)

// syncRolloutStatus writes the status of a Deployment in a rollout if it has changed: the numbers
// of replicas, and whether the rollout is complete, makes progress or has passed its deadline.
func (c *Controller) syncRolloutStatus(p *sim.Proc, all []*appsv1.ReplicaSet, newRS *appsv1.ReplicaSet,
	d *appsv1.Deployment) error {
	status := c.calculateStatus(all, newRS, d)
	if !hasProgressDeadline(d) {
		removeCondition(&status, appsv1.DeploymentProgressing)
	}
	current := conditionOf(&d.Status, appsv1.DeploymentProgressing)
	complete := status.Replicas == status.UpdatedReplicas && current != nil && current.Reason == newRSAvailable
	if hasProgressDeadline(d) && !complete {
		c.setProgress(&status, current, newRS, d)
	}
	if failure := failureOf(all, newRS); failure != nil {
		setCondition(&status, *failure)
	} else {
		removeCondition(&status, appsv1.DeploymentReplicaFailure)
	}
	if reflect.DeepEqual(d.Status, status) {
		c.requeueStuckDeployment(d, &status)
		return nil
	}
	d.Status = status
	return c.putStatus(p, d)
}

// syncRolloutStatusAfter writes the status of a Deployment after a step of its rollout, and returns
// the error of the step. Up to 1.37 it does not write the status after an error (rolling.go and
// recreate.go in pkg/controller/deployment at v1.37.0 and v1.38.0-beta.0).
func (c *Controller) syncRolloutStatusAfter(p *sim.Proc, err error, all []*appsv1.ReplicaSet,
	newRS *appsv1.ReplicaSet, d *appsv1.Deployment) error {
	if err != nil && !c.env.Profile.ScaleDownErrorsAreRetried {
		return err
	}
	return errors.Join(err, c.syncRolloutStatus(p, all, newRS, d))
}

// setProgress sets the condition Progressing. Its LastUpdateTime moves with each progress, also if
// nothing else of the condition changes.
func (c *Controller) setProgress(status *appsv1.DeploymentStatus, current *appsv1.DeploymentCondition,
	newRS *appsv1.ReplicaSet, d *appsv1.Deployment) {
	what := fmt.Sprintf("Deployment %q", d.Name)
	if newRS != nil {
		what = fmt.Sprintf("ReplicaSet %q", newRS.Name)
	}
	switch {
	case isComplete(d, status):
		setCondition(status, c.condition(appsv1.DeploymentProgressing, v1.ConditionTrue, newRSAvailable,
			what+" has successfully progressed."))
	case madeProgress(&d.Status, status):
		condition := c.condition(appsv1.DeploymentProgressing, v1.ConditionTrue, replicaSetUpdated,
			what+" is progressing.")
		if current != nil {
			if current.Status == v1.ConditionTrue {
				condition.LastTransitionTime = current.LastTransitionTime
			}
			removeCondition(status, appsv1.DeploymentProgressing)
		}
		setCondition(status, condition)
	case c.hasTimedOut(d, status):
		setCondition(status, c.condition(appsv1.DeploymentProgressing, v1.ConditionFalse, timedOut,
			what+" has timed out progressing."))
	}
}

// isComplete reports whether all replicas are new and available, and no old ones are left
// (DeploymentComplete in util/deployment_util.go).
func isComplete(d *appsv1.Deployment, status *appsv1.DeploymentStatus) bool {
	all := *d.Spec.Replicas
	return status.UpdatedReplicas == all && status.Replicas == all && status.AvailableReplicas == all &&
		status.ObservedGeneration >= d.Generation
}

// madeProgress reports whether there are more new, Ready or available replicas than before, or
// fewer old ones (DeploymentProgressing in util/deployment_util.go).
func madeProgress(before, status *appsv1.DeploymentStatus) bool {
	return status.UpdatedReplicas > before.UpdatedReplicas ||
		status.Replicas-status.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		status.ReadyReplicas > before.ReadyReplicas || status.AvailableReplicas > before.AvailableReplicas
}

// hasTimedOut reports whether the last progress is longer ago than progressDeadlineSeconds
// (DeploymentTimedOut in util/deployment_util.go).
func (c *Controller) hasTimedOut(d *appsv1.Deployment, status *appsv1.DeploymentStatus) bool {
	condition := conditionOf(status, appsv1.DeploymentProgressing)
	switch {
	case condition == nil, condition.Reason == newRSAvailable:
		return false
	case condition.Reason == timedOut:
		return true
	}
	return condition.LastUpdateTime.Add(deadlineOf(d)).Before(c.env.Now())
}

// requeueStuckDeployment queues a Deployment that shows no progress again for its deadline, and one
// second later.
func (c *Controller) requeueStuckDeployment(d *appsv1.Deployment, status *appsv1.DeploymentStatus) {
	current := conditionOf(&d.Status, appsv1.DeploymentProgressing)
	if !hasProgressDeadline(d) || current == nil || isComplete(d, status) || current.Reason == timedOut {
		return
	}
	after := current.LastUpdateTime.Add(deadlineOf(d)).Sub(c.env.Now())
	if after < time.Second {
		c.queue.AddRateLimited(store.Key(d))
		return
	}
	c.queue.AddAfter(store.Key(d), after+time.Second)
}

func deadlineOf(d *appsv1.Deployment) time.Duration {
	return time.Duration(*d.Spec.ProgressDeadlineSeconds) * time.Second
}

// failureOf returns the failure of a ReplicaSet as a condition of its Deployment, the one of the
// new ReplicaSet first, or nil (getReplicaFailures).
func failureOf(all []*appsv1.ReplicaSet, newRS *appsv1.ReplicaSet) *appsv1.DeploymentCondition {
	for _, rs := range append(with(nil, newRS), all...) {
		for _, c := range rs.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				return &appsv1.DeploymentCondition{
					Type: appsv1.DeploymentConditionType(c.Type), Status: c.Status,
					LastTransitionTime: c.LastTransitionTime, LastUpdateTime: c.LastTransitionTime,
					Reason: c.Reason, Message: c.Message,
				}
			}
		}
	}
	return nil
}
