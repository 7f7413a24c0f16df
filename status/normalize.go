package status

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// normalize cuts all times to whole seconds, as the API server keeps them, and sorts the regular containers
// by name; init containers stay in the order of the spec. The cut is seen by the probe workers: an initial
// delay can end up to a second early.
func normalize(status *v1.PodStatus) {
	if status.StartTime != nil {
		t := cut(*status.StartTime)
		status.StartTime = &t
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		c.LastTransitionTime = cut(c.LastTransitionTime)
	}
	for _, statuses := range [][]v1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range statuses {
			normalizeState(&statuses[i].State)
			normalizeState(&statuses[i].LastTerminationState)
		}
	}
	byName := func(a, b v1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(status.ContainerStatuses, byName) {
		slices.SortFunc(status.ContainerStatuses, byName)
	}
}

func normalizeState(s *v1.ContainerState) {
	if s.Running != nil {
		r := *s.Running
		r.StartedAt = cut(r.StartedAt)
		s.Running = &r
	}
	if s.Terminated != nil {
		t := *s.Terminated
		t.StartedAt, t.FinishedAt = cut(t.StartedAt), cut(t.FinishedAt)
		s.Terminated = &t
	}
}

func cut(t metav1.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }
