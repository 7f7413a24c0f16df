package kubelet

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The deadline of a pod counts from the start in the stored status, otherwise from the start in the
// API. A pod without a deadline is never past it (pastActiveDeadline in
// pkg/kubelet/active_deadline.go at v1.37.0).
func TestPastActiveDeadline(t *testing.T) {
	w := newBackOffWorld(t)
	for _, c := range []struct {
		name     string
		deadline *int64
		ago      time.Duration // since the start in the API; negative: not started
		past     bool
	}{
		{"no deadline", nil, time.Hour, false},
		{"not started", seconds(5), -1, false},
		{"before the deadline", seconds(5), 5*time.Second - 1, false},
		{"at the deadline", seconds(5), 5 * time.Second, true},
		{"after the deadline", seconds(5), time.Hour, true},
	} {
		pod := &v1.Pod{Spec: v1.PodSpec{ActiveDeadlineSeconds: c.deadline}}
		if c.ago >= 0 {
			start := metav1.NewTime(w.now().Add(-c.ago))
			pod.Status.StartTime = &start
		}
		if got := w.pastActiveDeadline(pod, w.now()); got != c.past {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
