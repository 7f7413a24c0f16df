package deployment

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
)

// Undone returns a Deployment with the template of its ReplicaSet with a revision, as kubectl
// rollout undo sends it. Revision 0 is the one before the present one. It returns an error if there
// is no such ReplicaSet, or if the Deployment is paused (DeploymentRollbacker in
// pkg/polymorphichelpers/rollback.go of kubectl v0.37.0).
func Undone(d *appsv1.Deployment, sets []store.Object, revisionWanted int64) (*appsv1.Deployment, error) {
	if d.Spec.Paused {
		return nil, fmt.Errorf("you cannot roll back the paused Deployment %s; resume it first", d.Name)
	}
	var newest, before, found *appsv1.ReplicaSet
	for _, o := range sets {
		rs, ok := o.(*appsv1.ReplicaSet)
		if !ok || !controller.OwnedBy(rs, d.UID) {
			continue
		}
		switch {
		case newest == nil || revision(rs) >= revision(newest):
			newest, before = rs, newest
		case before == nil || revision(rs) > revision(before):
			before = rs
		}
		if revision(rs) == revisionWanted {
			found = rs
		}
	}
	if revisionWanted == 0 {
		found = before
	}
	if found == nil {
		return nil, fmt.Errorf("the Deployment %s has no ReplicaSet of the revision to go back to", d.Name)
	}
	undone := d.DeepCopy()
	undone.Spec.Template = *found.Spec.Template.DeepCopy()
	delete(undone.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return undone, nil
}
