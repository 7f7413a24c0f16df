package explore

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
)

// periods returns the shortest period of the probes of each pod.
func periods(pods []*v1.Pod) map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, pod := range pods {
		key := pod.Namespace + "/" + pod.Name
		for c := range podutil.Containers(&pod.Spec) {
			for _, probe := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
				if probe == nil {
					continue
				}
				if period := time.Duration(probe.PeriodSeconds) * time.Second; all[key] == 0 || period < all[key] {
					all[key] = period
				}
			}
		}
	}
	return all
}
