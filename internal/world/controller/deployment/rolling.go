package deployment

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"probesim.dev/sim"
)

// rolloutRolling scales the new ReplicaSet up if it can, else the old ones down if it can, else it
// cleans up. Each time it writes the status.
func (c *Controller) rolloutRolling(p *sim.Proc, d *appsv1.Deployment, sets []*appsv1.ReplicaSet) error {
	newRS, old, err := c.getAllReplicaSets(p, d, sets, true)
	if err != nil {
		return err
	}
	all := with(old, newRS)
	scaled, err := c.reconcileNewReplicaSet(p, all, newRS, d)
	if err == nil && !scaled {
		scaled, err = c.reconcileOldReplicaSets(p, all, active(old), newRS, d)
	}
	if err == nil && !scaled && isComplete(d, &d.Status) {
		err = c.cleanupDeployment(p, old, d)
	}
	return c.syncRolloutStatusAfter(p, err, all, newRS, d)
}

// reconcileNewReplicaSet gives the new ReplicaSet as many replicas as it may have now, and reports
// whether it has changed their number.
func (c *Controller) reconcileNewReplicaSet(p *sim.Proc, all []*appsv1.ReplicaSet, newRS *appsv1.ReplicaSet,
	d *appsv1.Deployment) (bool, error) {
	replicas := *d.Spec.Replicas
	if *newRS.Spec.Replicas < replicas {
		replicas = newReplicas(d, all, newRS)
	}
	scaled, _, err := c.scaleReplicaSet(p, newRS, replicas, d, false)
	return scaled, err
}

// reconcileOldReplicaSets takes away as many old replicas as may be missing now, those that are not
// available first. It reports whether it has taken any away. The new replicas that are not
// available count as missing. Up to 1.37 an error only ends the step: the next sync goes on.
func (c *Controller) reconcileOldReplicaSets(p *sim.Proc, all, old []*appsv1.ReplicaSet, newRS *appsv1.ReplicaSet,
	d *appsv1.Deployment) (bool, error) {
	if sum(old, wantedOf) == 0 {
		return false, nil
	}
	minAvailable := *d.Spec.Replicas - maxUnavailable(d)
	budget := sum(all, wantedOf) - minAvailable - (*newRS.Spec.Replicas - newRS.Status.AvailableReplicas)
	if budget <= 0 {
		return false, nil
	}
	old = slices.Clone(old)
	slices.SortStableFunc(old, byCreation)
	healthy := int32(0)
	unhealthy, err := c.cleanupUnhealthyReplicas(p, old, d, budget)
	if err == nil {
		healthy, err = c.scaleDownOldReplicaSets(p, old, sum(with(old, newRS), availableOf)-minAvailable, d)
	}
	if err != nil && !c.env.Profile.ScaleDownErrorsAreRetried {
		return false, nil
	}
	return err == nil && unhealthy+healthy > 0, err
}

// cleanupUnhealthyReplicas takes away old replicas that are not available, up to a number, and
// returns how many. It replaces the ReplicaSets in the list by what is stored.
func (c *Controller) cleanupUnhealthyReplicas(p *sim.Proc, old []*appsv1.ReplicaSet, d *appsv1.Deployment,
	most int32) (int32, error) {
	total := int32(0)
	for i, rs := range old {
		if total >= most {
			break
		}
		number := min(most-total, *rs.Spec.Replicas-rs.Status.AvailableReplicas)
		if *rs.Spec.Replicas == 0 || number == 0 {
			continue
		}
		if number < 0 { // its pods are going, and its status still counts them
			return total, fmt.Errorf("the status of %s counts %d available replicas of %d", rs.Name,
				rs.Status.AvailableReplicas, *rs.Spec.Replicas)
		}
		_, updated, err := c.scaleReplicaSet(p, rs, *rs.Spec.Replicas-number, d, false)
		if err != nil {
			return total, err
		}
		total += number
		old[i] = updated
	}
	return total, nil
}

// scaleDownOldReplicaSets takes away old replicas up to a number, those of the oldest ReplicaSet
// first, and returns how many (scaleDownOldReplicaSetsForRollingUpdate).
func (c *Controller) scaleDownOldReplicaSets(p *sim.Proc, old []*appsv1.ReplicaSet, most int32,
	d *appsv1.Deployment) (int32, error) {
	total := int32(0)
	for _, rs := range old {
		if total >= most {
			break
		}
		number := min(*rs.Spec.Replicas, most-total)
		if number == 0 {
			continue
		}
		if _, _, err := c.scaleReplicaSet(p, rs, *rs.Spec.Replicas-number, d, false); err != nil {
			return total, err
		}
		total += number
	}
	return total, nil
}
