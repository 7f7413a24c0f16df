package deployment

import (
	"cmp"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"probesim.dev/sim"
)

// scale spreads a changed number of replicas over the ReplicaSets of a Deployment: in a rollout in
// proportion to their sizes, so that a change of the number does not move the rollout on (scale in
// sync.go).
func (c *Controller) scale(p *sim.Proc, d *appsv1.Deployment, newRS *appsv1.ReplicaSet,
	old []*appsv1.ReplicaSet) error {
	if only := activeOrLatest(newRS, old); only != nil {
		_, _, err := c.scaleReplicaSet(p, only, *d.Spec.Replicas, d, false)
		return err
	}
	old = slices.Clone(old)
	// FindActiveOrLatest leaves them in this order
	slices.SortFunc(old, func(a, b *appsv1.ReplicaSet) int { return byCreation(b, a) })
	if isSaturated(d, newRS) {
		for _, rs := range active(old) {
			if _, _, err := c.scaleReplicaSet(p, rs, 0, d, false); err != nil {
				return err
			}
		}
		return nil
	}
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return nil
	}
	all, sizes := proportions(d, active(with(old, newRS)))
	for i, rs := range all {
		if _, _, err := c.scaleReplicaSet(p, rs, sizes[i], d, true); err != nil {
			return err
		}
	}
	return nil
}

// activeOrLatest returns the only ReplicaSet with replicas, or the newest if none has any. It
// returns nil if several have (FindActiveOrLatest in util/deployment_util.go).
func activeOrLatest(newRS *appsv1.ReplicaSet, old []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	switch all := active(with(old, newRS)); {
	case len(all) == 1:
		return all[0]
	case len(all) > 1:
		return nil
	case newRS != nil:
		return newRS
	case len(old) > 0:
		return slices.MaxFunc(old, byCreation)
	}
	return nil
}

// isSaturated reports whether the new ReplicaSet has all replicas, and all are available
// (IsSaturated in util/deployment_util.go).
func isSaturated(d *appsv1.Deployment, rs *appsv1.ReplicaSet) bool {
	if rs == nil {
		return false
	}
	desired, ok := annotationNumber(rs, desiredAnnotation)
	return ok && *rs.Spec.Replicas == *d.Spec.Replicas && desired == *d.Spec.Replicas &&
		rs.Status.AvailableReplicas == *d.Spec.Replicas
}

// proportions returns ReplicaSets, the largest first, and the sizes that they get. Of equal ones
// the newer comes first if there are replicas to add, and the older otherwise. The first one also
// gets what is left over.
func proportions(d *appsv1.Deployment, all []*appsv1.ReplicaSet) ([]*appsv1.ReplicaSet, []int32) {
	allowed := int32(0)
	if *d.Spec.Replicas > 0 {
		allowed = *d.Spec.Replicas + maxSurge(d)
	}
	toAdd := allowed - sum(all, wantedOf)
	all = slices.Clone(all)
	if toAdd != 0 {
		slices.SortStableFunc(all, func(a, b *appsv1.ReplicaSet) int {
			age := byCreation(a, b)
			if toAdd > 0 {
				age = -age
			}
			return cmp.Or(cmp.Compare(*b.Spec.Replicas, *a.Spec.Replicas), age)
		})
	}
	sizes, added := make([]int32, len(all)), int32(0)
	for i, rs := range all {
		share := proportion(d, rs, toAdd, added)
		sizes[i] = *rs.Spec.Replicas + share
		added += share
	}
	if toAdd != 0 && len(all) > 0 {
		sizes[0] = max(0, sizes[0]+toAdd-added)
	}
	return all, sizes
}

// proportion returns the part of the replicas to add, or to remove, that a ReplicaSet gets
// (GetReplicaSetProportion and getReplicaSetFraction in util/deployment_util.go).
func proportion(d *appsv1.Deployment, rs *appsv1.ReplicaSet, toAdd, added int32) int32 {
	size := *rs.Spec.Replicas
	if size == 0 || toAdd == added {
		return 0
	}
	fraction := -size
	if *d.Spec.Replicas != 0 {
		before, ok := annotationNumber(rs, maxAnnotation)
		if !ok || before == 0 {
			before = d.Status.Replicas
		}
		if before == 0 {
			return 0
		}
		fraction = int32(math.Round(float64(size*(*d.Spec.Replicas+maxSurge(d)))/float64(before))) - size
	}
	if toAdd > 0 {
		return min(fraction, toAdd-added)
	}
	return max(fraction, toAdd-added)
}
