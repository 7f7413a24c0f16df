package deployment

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
)

// sync scales a Deployment whose number of replicas has changed, or that is paused.
func (c *Controller) sync(p *sim.Proc, d *appsv1.Deployment, sets []*appsv1.ReplicaSet) error {
	newRS, old, err := c.getAllReplicaSets(p, d, sets, false)
	if err != nil {
		return err
	}
	if err := c.scale(p, d, newRS, old); err != nil {
		return err
	}
	if d.Spec.Paused {
		if err := c.cleanupDeployment(p, old, d); err != nil {
			return err
		}
	}
	status := c.calculateStatus(with(old, newRS), newRS, d)
	if reflect.DeepEqual(d.Status, status) {
		return nil
	}
	d.Status = status
	return c.putStatus(p, d)
}

// with returns the old ReplicaSets and the new one, if there is one.
func with(old []*appsv1.ReplicaSet, newRS *appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	if newRS == nil {
		return old
	}
	return append(slices.Clip(old), newRS)
}

// checkPausedConditions notes in the status that a Deployment is paused or resumed, so that the
// time meanwhile does not count toward its deadline.
func (c *Controller) checkPausedConditions(p *sim.Proc, d *appsv1.Deployment) error {
	if !hasProgressDeadline(d) {
		return nil
	}
	cond := conditionOf(&d.Status, appsv1.DeploymentProgressing)
	if cond != nil && cond.Reason == timedOut {
		return nil
	}
	isPaused := cond != nil && cond.Reason == paused
	switch {
	case d.Spec.Paused && !isPaused:
		setCondition(&d.Status, c.condition(appsv1.DeploymentProgressing, v1.ConditionUnknown, paused,
			"Deployment is paused"))
	case !d.Spec.Paused && isPaused:
		setCondition(&d.Status, c.condition(appsv1.DeploymentProgressing, v1.ConditionUnknown, resumed,
			"Deployment is resumed"))
	default:
		return nil
	}
	return c.putStatus(p, d)
}

// getAllReplicaSets returns the ReplicaSet with the template of a Deployment, nil if there is none,
// and all others, oldest first (getAllReplicaSetsAndSyncRevision).
func (c *Controller) getAllReplicaSets(p *sim.Proc, d *appsv1.Deployment, sets []*appsv1.ReplicaSet,
	create bool) (*appsv1.ReplicaSet, []*appsv1.ReplicaSet, error) {
	existing, old := c.findReplicaSets(d, sets)
	newRS, err := c.getNewReplicaSet(p, d, existing, old, create)
	return newRS, old, err
}

// findReplicaSets returns the oldest ReplicaSet with the template of a Deployment, or nil, and all
// others, oldest first (FindNewReplicaSet, FindOldReplicaSets).
func (c *Controller) findReplicaSets(d *appsv1.Deployment, sets []*appsv1.ReplicaSet) (newRS *appsv1.ReplicaSet,
	old []*appsv1.ReplicaSet) {
	old = slices.Clone(sets)
	slices.SortStableFunc(old, byCreation)
	i := slices.IndexFunc(old, func(rs *appsv1.ReplicaSet) bool { return c.hasTemplate(rs, d) })
	if i < 0 {
		return nil, old
	}
	newRS = old[i]
	return newRS, slices.Delete(old, i, i+1)
}

// templates are those of a ReplicaSet and a Deployment. A template changes only with the generation
// of its object.
type templates struct {
	set, deployment           types.UID
	setGeneration, generation int64
}

// hasTemplate reports whether a ReplicaSet has the template of a Deployment. It remembers what it
// has compared, because syncs ask often.
func (c *Controller) hasTemplate(rs *appsv1.ReplicaSet, d *appsv1.Deployment) bool {
	pair := templates{rs.UID, d.UID, rs.Generation, d.Generation}
	equal, known := c.equal[pair]
	if !known {
		equal = equalTemplates(&rs.Spec.Template, &d.Spec.Template)
		c.equal[pair] = equal
	}
	return equal
}

// getNewReplicaSet brings the annotations of the new ReplicaSet and the revision of its Deployment
// up to date, and creates the ReplicaSet if it is missing and wanted.
func (c *Controller) getNewReplicaSet(p *sim.Proc, d *appsv1.Deployment, existing *appsv1.ReplicaSet,
	old []*appsv1.ReplicaSet, create bool) (*appsv1.ReplicaSet, error) {
	next := maxRevision(old) + 1
	if existing == nil {
		if !create {
			return nil, nil
		}
		return c.createReplicaSet(p, d, old, next)
	}
	if annotations, changed := annotationsOf(d, existing, next); changed ||
		existing.Spec.MinReadySeconds != d.Spec.MinReadySeconds {
		own := copyOf(existing)
		own.Annotations, own.Spec.MinReadySeconds = annotations, d.Spec.MinReadySeconds
		return controller.Update(c.client, p, store.ReplicaSets, own)
	}
	changed := setRevision(d, existing.Annotations[revisionAnnotation])
	if hasProgressDeadline(d) && conditionOf(&d.Status, appsv1.DeploymentProgressing) == nil {
		setCondition(&d.Status, c.condition(appsv1.DeploymentProgressing, v1.ConditionTrue, foundNewRS,
			fmt.Sprintf("Found new replica set %q", existing.Name)))
		changed = true
	}
	if changed {
		if err := c.putStatus(p, d); err != nil {
			return nil, err
		}
	}
	return existing, nil
}

// copyOf returns a copy of a ReplicaSet that shares its parts: replace them, and do not change
// them.
func copyOf(rs *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	own := *rs
	return &own
}

// createReplicaSet creates the ReplicaSet of the template of a Deployment.
func (c *Controller) createReplicaSet(p *sim.Proc, d *appsv1.Deployment, old []*appsv1.ReplicaSet,
	revision int64) (*appsv1.ReplicaSet, error) {
	hash := TemplateHash(&d.Spec.Template)
	template, selector := d.Spec.Template, *d.Spec.Selector
	template.Labels = labeled(template.Labels, hash)
	selector.MatchLabels = labeled(selector.MatchLabels, hash)
	newRS := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name + "-" + hash, Namespace: d.Namespace, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, kind)},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32), MinReadySeconds: d.Spec.MinReadySeconds, Selector: &selector,
			Template: template},
	}
	replicas := newReplicas(d, with(old, newRS), newRS)
	newRS.Spec.Replicas = &replicas
	newRS.Annotations, _ = annotationsOf(d, newRS, revision)
	setReplicasAnnotations(newRS, d)
	created, err := controller.Create(c.client, p, store.ReplicaSets, newRS)
	if err != nil {
		return nil, c.createFailed(p, d, newRS.Name, err)
	}
	if replicas > 0 {
		c.event(d, v1.EventTypeNormal, "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", created.Name,
			replicas)
	}
	changed := setRevision(d, strconv.FormatInt(revision, 10))
	if hasProgressDeadline(d) {
		setCondition(&d.Status, c.condition(appsv1.DeploymentProgressing, v1.ConditionTrue, newReplicaSet,
			fmt.Sprintf("Created new replica set %q", created.Name)))
		changed = true
	}
	if changed {
		err = c.putStatus(p, d)
	}
	return created, err
}

// createFailed returns the error of a failed creation of a ReplicaSet. If the ReplicaSet exists,
// the cache does not show it yet, and the next try finds it. Other errors go to the status.
func (c *Controller) createFailed(p *sim.Proc, d *appsv1.Deployment, name string, err error) error {
	if apierrors.IsAlreadyExists(err) {
		return err
	}
	message := fmt.Sprintf("Failed to create new replica set %q: %v", name, err)
	if hasProgressDeadline(d) {
		setCondition(&d.Status, c.condition(appsv1.DeploymentProgressing, v1.ConditionFalse, failedCreate, message))
		_ = c.putStatus(p, d) // the error of the creation is returned
	}
	c.event(d, v1.EventTypeWarning, failedCreate, "%s", message)
	return err
}

// TemplateHash returns a hash of a template. It differs from the hash of Kubernetes, which changes
// with the release.
func TemplateHash(template *v1.PodTemplateSpec) string {
	text, err := json.Marshal(template)
	if err != nil {
		panic(err) // API types can always be marshaled
	}
	hash := fnv.New32a()
	hash.Write(text)
	return strconv.FormatUint(uint64(hash.Sum32()), 36)
}

// labeled returns labels with the hash of a template.
func labeled(labels map[string]string, hash string) map[string]string {
	labels = maps.Clone(labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return labels
}

// scaleReplicaSet sets the number of replicas of a ReplicaSet, and the annotations that tell for
// which size of the Deployment it holds. If only the annotations are out of date, it writes them
// only if they must be. It returns the ReplicaSet as it is stored, and whether its number of
// replicas has changed.
func (c *Controller) scaleReplicaSet(p *sim.Proc, rs *appsv1.ReplicaSet, replicas int32, d *appsv1.Deployment,
	annotate bool) (bool, *appsv1.ReplicaSet, error) {
	from := *rs.Spec.Replicas
	if from == replicas && !annotate {
		return false, rs, nil
	}
	own := copyOf(rs)
	own.Spec.Replicas = &replicas
	if !setReplicasAnnotations(own, d) && from == replicas {
		return false, rs, nil
	}
	updated, err := controller.Update(c.client, p, store.ReplicaSets, own)
	if err != nil || from == replicas {
		return false, updated, err
	}
	direction := "up"
	if from > replicas {
		direction = "down"
	}
	c.event(d, v1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", direction, rs.Name,
		from, replicas)
	return true, updated, nil
}

// cleanupDeployment deletes the oldest ReplicaSets beyond the history limit that have no pods.
func (c *Controller) cleanupDeployment(p *sim.Proc, old []*appsv1.ReplicaSet, d *appsv1.Deployment) error {
	if !hasRevisionHistoryLimit(d) {
		return nil
	}
	old = slices.Clone(old)
	slices.SortStableFunc(old, byRevision)
	for _, rs := range old[:max(0, len(old)-int(*d.Spec.RevisionHistoryLimit))] {
		if rs.Status.Replicas != 0 || *rs.Spec.Replicas != 0 || rs.Generation > rs.Status.ObservedGeneration {
			continue
		}
		if err := c.client.Delete(p, store.ReplicaSets, rs.Namespace, rs.Name); err != nil &&
			!apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// calculateStatus sums the statuses of the ReplicaSets of a Deployment. The condition Progressing
// stays as it is.
func (c *Controller) calculateStatus(all []*appsv1.ReplicaSet, newRS *appsv1.ReplicaSet,
	d *appsv1.Deployment) appsv1.DeploymentStatus {
	available := sum(all, availableOf)
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: sum(all, actualOf),
		UpdatedReplicas: sum(with(nil, newRS), actualOf), ReadyReplicas: sum(all, readyOf),
		AvailableReplicas: available, UnavailableReplicas: max(0, sum(all, wantedOf)-available),
		CollisionCount: d.Status.CollisionCount,
		Conditions:     slices.Clone(d.Status.Conditions),
	}
	if c.env.Profile.DeploymentReplicaSetTerminatingReplicas {
		status.TerminatingReplicas = terminating(all)
	}
	if available >= *d.Spec.Replicas-maxUnavailable(d) {
		setCondition(&status, c.condition(appsv1.DeploymentAvailable, v1.ConditionTrue, minimumAvailable,
			"Deployment has minimum availability."))
	} else {
		setCondition(&status, c.condition(appsv1.DeploymentAvailable, v1.ConditionFalse, minimumUnavailable,
			"Deployment does not have minimum availability."))
	}
	return status
}

// terminating sums the terminating pods, or returns nil if a ReplicaSet that its controller has
// seen does not report them (GetTerminatingReplicaCountForReplicaSets).
func terminating(all []*appsv1.ReplicaSet) *int32 {
	var n int32
	for _, rs := range all {
		if rs.Status.TerminatingReplicas == nil && rs.Status.ObservedGeneration != 0 {
			return nil
		}
		n += ptr.Deref(rs.Status.TerminatingReplicas, 0)
	}
	return &n
}

// isScalingEvent reports whether somebody has changed the number of replicas: an active ReplicaSet
// was sized for another one.
func (c *Controller) isScalingEvent(p *sim.Proc, d *appsv1.Deployment, sets []*appsv1.ReplicaSet) (bool, error) {
	newRS, old, err := c.getAllReplicaSets(p, d, sets, false)
	if err != nil {
		return false, err
	}
	for _, rs := range active(with(old, newRS)) {
		if desired, ok := annotationNumber(rs, desiredAnnotation); ok && desired != *d.Spec.Replicas {
			return true, nil
		}
	}
	return false, nil
}

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
