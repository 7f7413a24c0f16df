package deployment

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/lists"
)

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
