package kubelet

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// The grace period of a terminating pod can only become shorter. It is the shortest of the known
// grace period, the grace period in the API and the one that the kubelet asks for; without these,
// the pod's own. It is at least a second (calculateEffectiveGracePeriod in
// pkg/kubelet/pod_workers.go at v1.37.0).
func TestCalculateEffectiveGracePeriod(t *testing.T) {
	for _, c := range []struct {
		name                  string
		known                 int64
		deletion, asked, spec *int64
		want                  int64
	}{
		{"the pod's own", 0, nil, nil, seconds(30), 30},
		{"no grace period anywhere", 0, nil, nil, nil, 1},
		{"the API server's", 0, seconds(45), nil, seconds(30), 45},
		{"the kubelet's", 0, nil, seconds(5), seconds(30), 5},
		{"the shorter of the two", 0, seconds(10), seconds(5), seconds(30), 5},
		{"the shorter of the two", 0, seconds(5), seconds(10), seconds(30), 5},
		{"shorter than known", 20, seconds(10), nil, seconds(30), 10},
		{"longer than known", 20, seconds(25), nil, seconds(30), 20},
		{"known one stays", 20, nil, nil, seconds(5), 20},
		{"zero means one second", 20, seconds(0), nil, seconds(30), 1},
		{"the pod's own zero is a second", 0, nil, nil, seconds(0), 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := &v1.Pod{}
			pod.DeletionGracePeriodSeconds, pod.Spec.TerminationGracePeriodSeconds = c.deletion, c.spec
			if got := calculateEffectiveGracePeriod(c.known, pod, c.asked); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
