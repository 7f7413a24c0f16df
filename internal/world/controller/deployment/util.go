package deployment

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/lists"
)

// The annotations of ReplicaSets and Deployments. The rules in this file are those of
// util/deployment_util.go.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	historyAnnotation  = "deployment.kubernetes.io/revision-history"
	desiredAnnotation  = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation      = "deployment.kubernetes.io/max-replicas"
)

// historyLength is the longest history of revisions, in characters (maxRevHistoryLengthInChars in
// sync.go).
const historyLength = 2000

// notCopied are the annotations of a Deployment that its ReplicaSets do not get.
var notCopied = []string{
	v1.LastAppliedConfigAnnotation, revisionAnnotation, historyAnnotation, desiredAnnotation, maxAnnotation,
	appsv1.DeprecatedRollbackTo,
}

// ResolveFenceposts returns maxSurge, rounded up, and maxUnavailable, rounded down, as numbers for
// a number of replicas. If both are 0, maxUnavailable is 1: a rollout needs one of them.
func ResolveFenceposts(update *appsv1.RollingUpdateDeployment, replicas int32) (surge, unavailable int32) {
	if update == nil {
		update = &appsv1.RollingUpdateDeployment{}
	}
	scaled := func(value *intstr.IntOrString, up bool) int32 {
		// admission checks it
		n, _ := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(value, intstr.FromInt32(0)), int(replicas),
			up)
		return int32(n)
	}
	surge, unavailable = scaled(update.MaxSurge, true), scaled(update.MaxUnavailable, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}

// maxUnavailable returns how many replicas may be missing in a rolling update.
func maxUnavailable(d *appsv1.Deployment) int32 {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || *d.Spec.Replicas == 0 {
		return 0
	}
	_, unavailable := ResolveFenceposts(d.Spec.Strategy.RollingUpdate, *d.Spec.Replicas)
	return min(unavailable, *d.Spec.Replicas)
}

// maxSurge returns how many replicas there may be more in a rolling update.
func maxSurge(d *appsv1.Deployment) int32 {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0
	}
	surge, _ := ResolveFenceposts(d.Spec.Strategy.RollingUpdate, *d.Spec.Replicas)
	return surge
}

// newReplicas returns how many replicas the new ReplicaSet may have: with those of all others at
// most replicas plus maxSurge. Pods that terminate do not count (NewRSNewReplicas).
func newReplicas(d *appsv1.Deployment, all []*appsv1.ReplicaSet, newRS *appsv1.ReplicaSet) int32 {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return *d.Spec.Replicas
	}
	room := *d.Spec.Replicas + maxSurge(d) - sum(all, wantedOf)
	if room <= 0 {
		return *newRS.Spec.Replicas
	}
	return *newRS.Spec.Replicas + min(room, *d.Spec.Replicas-*newRS.Spec.Replicas)
}

// equalTemplates compares templates without the label for their hash (EqualIgnoreHash).
func equalTemplates(a, b *v1.PodTemplateSpec) bool {
	x, y := a.ObjectMeta, b.ObjectMeta
	for _, m := range []*metav1.ObjectMeta{&x, &y} {
		m.Labels = maps.Clone(m.Labels)
		delete(m.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	}
	return equality.Semantic.DeepEqual(&x, &y) && equality.Semantic.DeepEqual(&a.Spec, &b.Spec)
}

// byCreation puts older ReplicaSets first, and of those created in one second the one whose name
// comes first.
func byCreation(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// byRevision puts ReplicaSets with a lower revision first.
func byRevision(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(cmp.Compare(revision(a), revision(b)), byCreation(a, b))
}

// revision returns the revision of a ReplicaSet, 0 if it has none.
func revision(rs *appsv1.ReplicaSet) int64 {
	n, _ := strconv.ParseInt(rs.Annotations[revisionAnnotation], 10, 64)
	return n
}

func maxRevision(sets []*appsv1.ReplicaSet) int64 {
	most := int64(0)
	for _, rs := range sets {
		most = max(most, revision(rs))
	}
	return most
}

// active returns the ReplicaSets that want replicas.
func active(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	var list []*appsv1.ReplicaSet
	for _, rs := range sets {
		if *rs.Spec.Replicas > 0 {
			list = append(list, rs)
		}
	}
	return list
}

// sum adds up a number of ReplicaSets.
func sum(sets []*appsv1.ReplicaSet, of func(*appsv1.ReplicaSet) int32) int32 {
	total := int32(0)
	for _, rs := range sets {
		total += of(rs)
	}
	return total
}

func wantedOf(rs *appsv1.ReplicaSet) int32    { return ptr.Deref(rs.Spec.Replicas, 0) }
func actualOf(rs *appsv1.ReplicaSet) int32    { return rs.Status.Replicas }
func readyOf(rs *appsv1.ReplicaSet) int32     { return rs.Status.ReadyReplicas }
func availableOf(rs *appsv1.ReplicaSet) int32 { return rs.Status.AvailableReplicas }

func hasProgressDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != math.MaxInt32
}

func hasRevisionHistoryLimit(d *appsv1.Deployment) bool {
	return d.Spec.RevisionHistoryLimit != nil && *d.Spec.RevisionHistoryLimit != math.MaxInt32
}

// annotationNumber returns the number in an annotation of a ReplicaSet, and false if there is none.
func annotationNumber(rs *appsv1.ReplicaSet, name string) (int32, bool) {
	n, err := strconv.ParseInt(rs.Annotations[name], 10, 32)
	return int32(n), err == nil && n >= 0
}

// setRevision sets the revision of a Deployment, and reports whether it has changed.
func setRevision(d *appsv1.Deployment, revision string) bool {
	return annotate(&d.Annotations, revisionAnnotation, revision)
}

// annotate sets an annotation in a copy of the map, and reports whether it has changed.
func annotate(annotations *map[string]string, name, value string) bool {
	if old, ok := (*annotations)[name]; ok && old == value {
		return false
	}
	own := maps.Clone(*annotations)
	if own == nil {
		own = map[string]string{}
	}
	own[name] = value
	*annotations = own
	return true
}

// annotationsOf returns the annotations of a new ReplicaSet with those of its Deployment, and with
// the given revision if that is higher. A ReplicaSet that gets another revision was in use before,
// and keeps the old one in its history. It reports whether an annotation changes
// (SetNewReplicaSetAnnotations).
func annotationsOf(d *appsv1.Deployment, rs *appsv1.ReplicaSet, next int64) (annotations map[string]string,
	changed bool) {
	annotations = rs.Annotations
	for name, value := range d.Annotations {
		if !slices.Contains(notCopied, name) && annotate(&annotations, name, value) {
			changed = true
		}
	}
	before, had := rs.Annotations[revisionAnnotation]
	if revision(rs) >= next {
		return annotations, changed
	}
	annotate(&annotations, revisionAnnotation, strconv.FormatInt(next, 10))
	if had {
		annotate(&annotations, historyAnnotation, history(rs.Annotations[historyAnnotation], before))
	}
	return annotations, true
}

// history returns a history of revisions with another one at its end, without the oldest ones if it
// becomes too long.
func history(revisions, another string) string {
	if revisions == "" {
		return another
	}
	list := append(strings.Split(revisions, ","), another)
	for len(list) > 1 && len(strings.Join(list, ",")) > historyLength {
		list = list[1:]
	}
	return strings.Join(list, ",")
}

// setReplicasAnnotations notes in a ReplicaSet the number of replicas of its Deployment, without
// and with maxSurge. It reports whether one of them has changed.
func setReplicasAnnotations(rs *appsv1.ReplicaSet, d *appsv1.Deployment) bool {
	desired := annotate(&rs.Annotations, desiredAnnotation, strconv.Itoa(int(*d.Spec.Replicas)))
	most := annotate(&rs.Annotations, maxAnnotation, strconv.Itoa(int(*d.Spec.Replicas+maxSurge(d))))
	return desired || most
}

// The reasons of conditions (util/deployment_util.go).
const (
	replicaSetUpdated  = "ReplicaSetUpdated"
	failedCreate       = "ReplicaSetCreateError"
	newReplicaSet      = "NewReplicaSetCreated"
	foundNewRS         = "FoundNewReplicaSet"
	newRSAvailable     = "NewReplicaSetAvailable"
	timedOut           = "ProgressDeadlineExceeded"
	paused             = "DeploymentPaused"
	resumed            = "DeploymentResumed"
	minimumAvailable   = "MinimumReplicasAvailable"
	minimumUnavailable = "MinimumReplicasUnavailable"
)

// condition returns a condition that changes now.
func (c *Controller) condition(t appsv1.DeploymentConditionType, status v1.ConditionStatus, reason,
	message string) appsv1.DeploymentCondition {
	now := metav1.NewTime(c.env.Now())
	return appsv1.DeploymentCondition{Type: t, Status: status, LastUpdateTime: now, LastTransitionTime: now,
		Reason: reason, Message: message}
}

// conditionOf returns the condition of a type, or nil. Do not change it.
func conditionOf(status *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	return lists.Find(status.Conditions, func(x *appsv1.DeploymentCondition) bool { return x.Type == t })
}

// setCondition puts a condition at the end, unless one with its type, status and reason exists. It
// keeps the transition time of one with its type and status (SetDeploymentCondition in
// util/deployment_util.go).
func setCondition(status *appsv1.DeploymentStatus, condition appsv1.DeploymentCondition) {
	if current := conditionOf(status, condition.Type); current != nil && current.Status == condition.Status {
		if current.Reason == condition.Reason {
			return
		}
		condition.LastTransitionTime = current.LastTransitionTime
	}
	removeCondition(status, condition.Type)
	status.Conditions = append(status.Conditions, condition)
}

// removeCondition removes the condition of a type.
func removeCondition(status *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) {
	var others []appsv1.DeploymentCondition
	for _, c := range status.Conditions {
		if c.Type != t {
			others = append(others, c)
		}
	}
	status.Conditions = others
}
