package deployment

import (
	appsv1 "k8s.io/api/apps/v1"

	"probesim.dev/sim"
)

// rolloutRecreate takes all old replicas away, waits until none of their pods runs any more, and
// then creates the new ones.
func (c *Controller) rolloutRecreate(p *sim.Proc, d *appsv1.Deployment, sets []*appsv1.ReplicaSet) error {
	newRS, old, err := c.getAllReplicaSets(p, d, sets, false)
	if err != nil {
		return err
	}
	scaled := false
	for _, rs := range active(old) {
		changed, _, err := c.scaleReplicaSet(p, rs, 0, d, false)
		if err != nil {
			return c.syncRolloutStatusAfter(p, err, with(old, newRS), newRS, d)
		}
		scaled = scaled || changed
	}
	if scaled || sum(old, actualOf) > 0 || c.oldPodsExist(newRS, sets) {
		return c.syncRolloutStatus(p, with(old, newRS), newRS, d)
	}
	if newRS == nil {
		if newRS, old, err = c.getAllReplicaSets(p, d, sets, true); err != nil {
			return err
		}
	}
	_, _, err = c.scaleReplicaSet(p, newRS, *d.Spec.Replicas, d, false)
	if err == nil && isComplete(d, &d.Status) {
		if err := c.cleanupDeployment(p, old, d); err != nil {
			return err
		}
	}
	return c.syncRolloutStatusAfter(p, err, with(old, newRS), newRS, d)
}
